// From the bytes of a PDF to its text: of fonts with a ToUnicode map, or with one byte per character. Texts stay in the
// order of the file.

import {Bytes, bytesOfText, PdfObjects, Reader, textOfBytes, Word} from "./pdf_objects.js";

const LIGATURES = {
  ff: "ff", fi: "fi", fl: "fl", ffi: "ffi", ffl: "ffl", quoteright: "\u2019", quoteleft: "\u2018", bullet: "\u2022",
  quotedblleft: "\u201c", quotedblright: "\u201d", endash: "\u2013", emdash: "\u2014",
};

const LATIN = new TextDecoder("windows-1252");
const MOST_TEXTS = 65536;  // of a font

const wide = (bytes) => new TextDecoder("utf-16be").decode(bytesOfText(bytes.text));
const number = (text) => [...text].reduce((sum, one) => sum * 256 + one.charCodeAt(0), 0);

// The text k codes behind the first of a range.
function later(bytes, k) {
  const last = bytes.text.length - 1;
  return wide(new Bytes(bytes.text.slice(0, last) + String.fromCharCode((bytes.text.charCodeAt(last) + k) & 255)));
}

// Texts by code, of a ToUnicode map.
function readMap(map) {
  const texts = new Map();
  let values = [], left = MOST_TEXTS;
  for (let reader = new Reader(map), value; left > 0 && (value = reader.next()) !== undefined;) {
    if (!(value instanceof Word)) { values.push(value); continue; }
    const isRange = value.text === "endbfrange", step = isRange ? 3 : 2;
    for (let i = 0; (isRange || value.text === "endbfchar") && i + step <= values.length; i += step) {
      const first = number(values[i].text), to = values[i + step - 1];
      const n = Math.min(left, isRange ? number(values[i + 1].text) - first + 1 : 1);
      for (let k = 0; k < n; ++k) texts.set(first + k, Array.isArray(to) ? wide(to[k]) : later(to, k));
      left -= Math.max(1, n);
    }
    values = [];
  }
  return texts;
}

// Widths by code, in thousandths of the font's size.
function readWidths(file, font) {
  const widths = new Map(), below = file.of(file.member(font, "DescendantFonts")?.[0]);
  const first = file.member(font, "FirstChar") ?? 0;
  (file.member(font, "Widths") ?? []).forEach((width, i) => widths.set(first + i, file.of(width)));
  const list = file.member(below, "W") ?? [];
  let left = MOST_TEXTS;
  for (let i = 0; i + 1 < list.length && left > 0; i += 2) {
    const next = file.of(list[i + 1]);
    if (Array.isArray(next)) next.forEach((width, k) => widths.set(list[i] + k, width));
    else for (let code = list[i]; code <= next && left > 0; ++code, --left) widths.set(code, list[i + 2]);
    if (!Array.isArray(next)) ++i;
  }
  return {widths, width: below ? file.member(below, "DW") ?? 1000 : 500};
}

// The texts of a font's codes, and how many bytes a code has.
async function readFont(file, font) {
  const texts = readMap(await file.stream(font?.get("ToUnicode")));
  let code = 0;
  for (const one of file.member(file.member(font, "Encoding"), "Differences") ?? []) {
    if (typeof one === "number") code = one;
    else if (!texts.has(code++) && LIGATURES[one]) texts.set(code - 1, LIGATURES[one]);
  }
  return {texts, ...readWidths(file, font), nBytes: file.member(font, "Subtype") === "Type0" ? 2 : 1};
}

const NO_FONT = {texts: new Map(), widths: new Map(), width: 500, nBytes: 1};

// Joins what is shown at places along lines. Lengths are those of the page, as if no text were turned.
class Pen {
  text = "";
  font = NO_FONT;
  size = 1;
  scale = 1;
  x = 0;  // of the beginning of a line, y beside it
  y = 0;
  at = 0;  // along the line
  end = 0;  // of what was shown last, on the line at that height
  line = 0;

  move(x, y) { this.x += x * this.scale; this.y += y * this.scale; this.at = this.x; }
  place([a, b, , , x, y]) { this.scale = Math.hypot(a, b) || 1; this.x = this.at = x; this.y = y; }
  newLine() { this.line = NaN; }

  show(bytes) {
    const {texts, widths, width, nBytes} = this.font, em = Math.abs(this.size) * this.scale;
    if (!(Math.abs(this.y - this.line) <= 0.4 * em)) this.text += this.text ? "\n" : "";
    else if ((this.at - this.end > 0.15 * em || this.at - this.end < -em) && !/\s$/.test(this.text)) this.text += " ";
    for (let i = 0; i < bytes.length; i += nBytes) {
      const code = number(bytes.slice(i, i + nBytes));
      this.text += texts.get(code) ?? (nBytes === 1 ? LATIN.decode(Uint8Array.of(code)) : "");
      this.at += (widths.get(code) ?? width) / 1000 * em;
    }
    this.end = this.at;
    this.line = this.y;
  }
}

// The text of a page's content.
async function pageText(file, content, resources) {
  const fonts = new Map(), pen = new Pen();
  for (const [name, reference] of file.member(resources, "Font") ?? []) {
    const font = file.of(reference);
    if (!file.fonts.has(font)) file.fonts.set(font, await readFont(file, font));
    fonts.set(name, file.fonts.get(font));
  }
  const show = (value) => { if (value instanceof Bytes) pen.show(value.text); };
  const kern = (n) => { pen.at -= n / 1000 * pen.size * pen.scale; };
  const operators = {
    BT: () => pen.place([1, 0, 0, 1, 0, 0]),
    Tf: ([name, size]) => { pen.font = fonts.get(name) ?? NO_FONT; pen.size = size; },
    Td: ([x, y]) => pen.move(x, y),
    TD: ([x, y]) => pen.move(x, y),
    Tm: (matrix) => pen.place(matrix),
    "T*": () => pen.newLine(),
    Tj: ([value]) => show(value),
    "'": ([value]) => { pen.newLine(); show(value); },
    '"': ([, , value]) => { pen.newLine(); show(value); },
    TJ: ([list]) => { for (const one of list ?? []) typeof one === "number" ? kern(one) : show(one); },
  };
  let values = [];
  for (let reader = new Reader(content), value; (value = reader.next()) !== undefined;) {
    if (!(value instanceof Word)) { values.push(value); continue; }
    if (Object.hasOwn(operators, value.text)) operators[value.text](values);
    values = [];
  }
  return pen.text.replace(/[\ufb00-\ufb06]/g, (ligature) => ligature.normalize("NFKC"));
}

async function textOfPdf(bytes) {
  const file = new PdfObjects(textOfBytes(bytes));
  file.fonts = new Map();
  await file.read();
  const catalog = [...file.objects.values()].findLast((one) => file.member(one.value, "Type") === "Catalog")?.value;
  const texts = [];
  for (const [page, resources] of file.pages(catalog?.get("Pages"))) {
    const contents = file.member(page, "Contents");
    let content = "";
    for (const one of Array.isArray(contents) ? contents : [page.get("Contents")])
      content += await file.stream(one) + "\n";
    texts.push(await pageText(file, content, resources));
  }
  return texts.join("\n\n").trim();
}

// Throws an Error with words for people.
export async function readPdf(bytes) {
  const text = await textOfPdf(bytes).catch((error) => {
    throw error.constructor === Error ? error : new Error(`the PDF is damaged: ${error.message}`);
  });
  if (!text) throw new Error("the PDF has no text that can be read (hint: pdftotext, or OCR for pictures of pages)");
  return text;
}
