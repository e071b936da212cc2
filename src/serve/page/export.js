// The table as a file.

import {memberOf} from "./table.js";

const COMPUTED = /^(\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/;  // also as wide as East Asian letters
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

// A cell of RFC 4180. One that a spreadsheet would compute gets an apostrophe before it, which makes it a text.
function cell(value) {
  let text = value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  if (COMPUTED.test(text) && !NUMBER.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// fields: names of the members of a schema's object, or none.
export function csvOf(rows, fields) {
  const head = ["question_id", "question", "answer", ...fields, "finish_reason", "prompt_tokens", "completion_tokens"];
  const lines = rows.map((row) => [
    row.question_id, row.question, row.text, ...fields.map((name) => memberOf(row, name)), row.finish_reason,
    row.prompt_tokens, row.completion_tokens,
  ]);
  return [head, ...lines].map((line) => line.map(cell).join(",") + "\r\n").join("");
}

export function linesOf(rows) {
  return rows.map(({value, ...row}) => JSON.stringify(row) + "\n").join("");
}

export function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], {type}));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
