// The view with a document and many questions.

import {currentDocument, documentName, startDocument} from "./document_field.js";
import {whole} from "./documents.js";
import {counted, find, say, some} from "./dom.js";
import {csvOf, linesOf, save} from "./export.js";
import {events, inWords} from "./stream.js";
import {addAnswer, answeredRows, endTable, startTable, tableFields} from "./table.js";
import {addBranch, drawTree, endTree, startTree} from "./tree.js";

const OF_SCHEMA = "Give the facts of the text as JSON.";  // asked where there is a schema alone
let running = null;

// A mistake in a field, which gets the focus.
class FieldError extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

function readSchema() {
  const text = find("schema").value.trim();
  if (!text) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FieldError("schema", `JSON Schema: ${error.message}`);
  }
}

function readRequest() {
  const context = currentDocument();
  const schema = readSchema();
  const questions = whole(find("questions").value).split("\n").map((line) => line.trim()).filter((line) => line);
  if (!context.trim()) throw new FieldError("document", "There is no document.");
  if (questions.length === 0 && !schema) throw new FieldError("questions", "There are no questions.");
  if (questions.length === 0) questions.push(OF_SCHEMA);
  const instruction = whole(find("instruction").value.trim());
  const body = {context, questions, max_tokens: find("max-tokens").valueAsNumber};
  if (instruction) body.instruction = instruction;
  if (find("chat-template").checked) body.chat = true;
  if (schema !== undefined) body.schema = schema;
  return body;
}

function markField(id) {
  for (const field of ["document", "questions", "schema"])
    find(field).setAttribute("aria-invalid", field === id);
  if (id) find(id).focus();
}

function setRunning(controller) {
  running = controller;
  find("stop").disabled = !controller;
  find("ask").setAttribute("aria-busy", Boolean(controller));
}

// Asks, and shows answers as they come.
async function run(body) {
  const n = body.questions.length;
  const status = find("ask-status");
  const own = new AbortController();
  setRunning(own);
  startTable(body.questions, body.schema);
  startTree(documentName(), body.questions);
  say(status, `Asked ${some(n, "question")}.`);
  let n_here = 0, end = null, warnings = [];
  try {
    for await (const event of events("v1/answers", body, own.signal)) {
      if (event.object === "answer") {
        addBranch(event.index, addAnswer(event));
        say(status, `${counted(++n_here)} of ${some(n, "answer")}.`);
      } else {
        end = event;
        warnings = event.warnings ?? [];
      }
    }
    say(status, [`${some(n_here, "answer")}: complete.`, ...warnings].join(" "));
  } catch (error) {
    say(status, `${counted(n_here)} of ${some(n, "answer")}: ${inWords(error)}`, error.name !== "AbortError");
  }
  endTree(end);
  endTable();
  setRunning(null);
}

export function startQuestions() {
  startDocument();
  find("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    if (running) return;
    try {
      const body = readRequest();
      markField(null);
      run(body);
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      markField(error.field);
      say(find("ask-status"), error.message, true);
    }
  });
  find("stop").addEventListener("click", () => running?.abort());
  find("save-csv").addEventListener("click", () => save(
      "answers.csv", "text/csv;charset=utf-8", csvOf(answeredRows(), tableFields())));
  find("save-lines").addEventListener("click", () => save(
      "answers.jsonl", "application/jsonl;charset=utf-8", linesOf(answeredRows())));
  new ResizeObserver(drawTree).observe(find("tree-scroll"));
}
