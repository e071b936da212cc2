// From a file to the text of a document.

const MOST_BYTES = 24 * 1024 * 1024;  // a request may have 32 MiB, and JSON takes more than the text
const MARKS = [
  [[0xef, 0xbb, 0xbf], "utf-8"],
  [[0xff, 0xfe], "utf-16le"],
  [[0xfe, 0xff], "utf-16be"],
];

// Places of zeros among the first bytes: texts in UTF-16 have them at every other place.
function withoutMark(bytes) {
  const first = bytes.subarray(0, 4096);
  const zeros = [0, 0];
  first.forEach((byte, i) => { if (byte === 0) ++zeros[i % 2]; });
  const half = first.length / 2;
  if (zeros[1] > half / 2 && zeros[0] < half / 10) return "utf-16le";
  if (zeros[0] > half / 2 && zeros[1] < half / 10) return "utf-16be";
  return null;
}

// The text of bytes, and the name of its encoding. What is no UTF-8 is read as Windows-1252, which Latin-1 is part of.
export function decode(bytes) {
  const mark = MARKS.find(([mark]) => mark.every((byte, i) => bytes[i] === byte));
  const wide = mark ? mark[1] : withoutMark(bytes);
  if (wide) return {text: new TextDecoder(wide).decode(bytes), encoding: wide};
  try {
    return {text: new TextDecoder("utf-8", {fatal: true}).decode(bytes), encoding: "utf-8"};
  } catch {
    return {text: new TextDecoder("windows-1252").decode(bytes), encoding: "windows-1252"};
  }
}

// Pictures and programs are full of characters that no text has.
function isText(text) {
  const first = text.slice(0, 65536);
  const strange = first.match(/[\u0000-\u0008\u000e-\u001f\ufffd]/g)?.length ?? 0;
  return strange <= first.length / 10;
}

// Pairs that are broken would not reach the server as they are.
export const whole = (text) => (text.toWellFormed ? text.toWellFormed() : text);

// The text and the encoding of a file. Throws an Error with words for people.
export async function readDocument(file, readPdf) {
  if (file.size > MOST_BYTES)
    throw new Error(`the file has ${(file.size / 2 ** 20).toFixed(1)} MiB, expected at most 24 MiB`);
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (String.fromCharCode(...bytes.subarray(0, 5)) === "%PDF-")
    return {text: whole(await readPdf(bytes)), encoding: "PDF"};
  const {text, encoding} = decode(bytes);
  if (!isText(text)) throw new Error("the file is no text, Markdown, CSV, JSON Lines or PDF");
  return {text: whole(text), encoding};
}
