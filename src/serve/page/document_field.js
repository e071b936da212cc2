// The field of the document: typed, pasted, dropped or from a file.

import {readDocument, whole} from "./documents.js";
import {find, oneLine, say, some} from "./dom.js";
import {readPdf} from "./pdf.js";

const MOST_SHOWN = 200_000, BEGINNING = 5000;  // UTF-16 units; a browser takes long to lay out more
let name = "";     // of its file
let unseen = null;  // a long text, of which the field shows the beginning

// As it is sent.
export const currentDocument = () => whole(unseen ?? find("document").value);
export const documentName = () => name || "Document";

// Counts code points of Unicode.
function countCharacters(text) {
  let n = 0;
  for (const _ of text) ++n;
  return n;
}

function show(text, from = "", encoding = "") {
  const field = find("document");
  unseen = text.length > MOST_SHOWN ? text : null;
  name = from;
  field.value = unseen ? text.slice(0, BEGINNING) : text;
  field.readOnly = unseen !== null;
  const place = from ? `${oneLine(from)} (${encoding}): ` : "";
  const more = unseen ? "; the field shows the beginning" : "";
  say(find("document-note"), place + some(countCharacters(text), "character") + more);
}

async function take(files) {
  if (files.length === 0) return;
  try {
    const {text, encoding} = await readDocument(files[0], readPdf);
    show(text, files[0].name, encoding);
    if (files.length > 1)
      find("document-note").append(`; ${some(files.length - 1, "more file")} not taken: one document at a time`);
  } catch (error) {
    say(find("document-note"), `${oneLine(files[0].name)}: ${error.message}`, true);
  }
}

export function startDocument() {
  const place = find("drop"), field = find("document");
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  for (const kind of ["dragover", "drop"])  // a file beside the place must not replace the page
    window.addEventListener(kind, (event) => { if (hasFiles(event)) event.preventDefault(); });
  place.addEventListener("dragover", (event) => { if (hasFiles(event)) place.classList.add("over"); });
  place.addEventListener("dragleave", () => place.classList.remove("over"));
  place.addEventListener("drop", (event) => {
    place.classList.remove("over");
    if (hasFiles(event)) take(event.dataTransfer.files);
  });
  find("file").addEventListener("change", (event) => take(event.target.files));
  find("remove").addEventListener("click", () => {
    show("");
    find("file").value = "";
    field.focus();
  });
  field.addEventListener("change", () => show(field.value));
  field.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text/plain");
    if (text.length <= MOST_SHOWN || unseen) return;
    event.preventDefault();
    show(text);
  });
}
