// Elements are made by calls, and texts are set as text: nothing is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

export const find = (id) => document.getElementById(id);

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== false && value !== null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.map((child) => (typeof child === "number" ? String(child) : child)));
  return node;
}

// An element of HTML. A function among the attributes listens to the event of that name.
export function make(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

// Does the same for SVG.
export function draw(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

// A name or a label on one line. Characters that are not seen, or that turn the text around them, show their number.
export function oneLine(text) {
  const hidden = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  return text.replace(/\s+/g, " ").replace(
      hidden, (one) => `\u27e8${one.charCodeAt(0).toString(16).padStart(4, "0")}\u27e9`);
}

export const counted = (n) => n.toLocaleString("en");

// "1 answer", "2 answers".
export const some = (n, noun) => `${counted(n)} ${noun}${n === 1 ? "" : "s"}`;

// Says it in a status line; an error is announced at once.
export function say(line, text, isError = false) {
  line.classList.toggle("error", isError);
  line.setAttribute("role", isError ? "alert" : "status");
  line.textContent = text;
}
