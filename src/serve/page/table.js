// The table of questions and answers.

import {counted, find, make} from "./dom.js";

const ENDINGS = {length: "cut: the answer has as many tokens as allowed", context: "cut: the context is full"};
let rows = [];
let fields = [];

// The members of an object that a schema describes; none for another schema.
export function fieldsOf(schema) {
  return schema?.type === "object" && schema.properties ? Object.keys(schema.properties) : [];
}

// An empty row for each question.
export function startTable(questions, schema) {
  fields = fieldsOf(schema);
  rows = questions.map((question) => ({question}));
  const heads = ["No.", "Question", ...(fields.length ? fields : ["Answer"]), "Tokens"];
  const isNumber = (i) => i === 0 || i === heads.length - 1;
  find("heads").replaceChildren(...heads.map((head, i) => make(
      "th", {scope: "col", class: isNumber(i) ? "number" : ""}, make("bdi", {}, head))));
  find("rows").replaceChildren(...rows.map((row, i) => make(
      "tr", {}, make("td", {class: "number"}, counted(i + 1)),
      make("th", {scope: "row", dir: "auto"}, make("bdi", {}, row.question)),
      ...(fields.length ? fields : [""]).map(() => make("td", {class: "waiting", dir: "auto"}, "\u2026")),
      make("td", {class: "number"}, ""))));
  find("answers").hidden = false;
}

function valueOf(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" ? value : undefined;
  } catch {
    return undefined;  // an answer that was cut
  }
}

// The member of an answer's object; undefined: it has none.
export const memberOf = (row, name) => row.value && Object.hasOwn(row.value, name) ? row.value[name] : undefined;

function shown(value) {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

// Fills the row of an answer, and returns it.
export function addAnswer(event) {
  const {id, object, index, ...answer} = event;
  const row = Object.assign(rows[index], answer);
  const cells = [...find("rows").children[index].children];
  const texts = cells.slice(2, -1);
  if (fields.length) row.value = valueOf(answer.text);
  const contents = row.value ? fields.map((name) => shown(memberOf(row, name))) : [answer.text];
  texts.forEach((cell, i) => {
    cell.classList.remove("waiting");
    cell.replaceChildren(make("bdi", {class: "text"}, contents[i] ?? ""));
  });
  if (answer.reasoning)
    texts[0].append(make("details", {}, make("summary", {}, "Reasoning"),
                         make("p", {class: "text", dir: "auto"}, answer.reasoning)));
  if (ENDINGS[answer.finish_reason])
    texts[0].append(make("span", {class: "note"}, ENDINGS[answer.finish_reason]));
  cells.at(-1).textContent = counted(answer.completion_tokens);
  return row;
}

// Rows without an answer say so, once no more come.
export function endTable() {
  for (const cell of find("rows").querySelectorAll(".waiting")) {
    cell.classList.remove("waiting");
    cell.textContent = "no answer";
  }
}

export const answeredRows = () => rows.filter((row) => row.text !== undefined);
export const tableFields = () => fields;
