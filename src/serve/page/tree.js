// The tree of a request: the document, and below it a branch for each question.

import {counted, draw, find, make, oneLine, some} from "./dom.js";

const ROW = 26, TOP = 62, MOST = 200;  // heights in CSS pixels; branches that are drawn
let tree = null;
let frame = null;  // in which the tree is drawn next

// name: of the document.
export function startTree(name, questions) {
  tree = {name, questions, answers: new Map(), end: null};
  find("tree-part").hidden = false;
  drawTree();
}

export function addBranch(index, answer) {
  tree.answers.set(index, answer);
  frame ??= requestAnimationFrame(drawTree);
}

export function endTree(end) {
  tree.end = end ?? null;
  drawTree();
}

// One bar: of all tokens of prompts, the part that was computed; the rest was reused.
function bar(width, sharing) {
  const computed = Math.max(2, (width - 20) * sharing.computed / Math.max(1, sharing.prompt_tokens));
  return [
    draw("rect", {class: "reused", x: 10, y: 34, width: width - 20, height: 10, rx: 3}),
    draw("rect", {class: "computed", x: 10, y: 34, width: computed, height: 10, rx: 3}),
  ];
}

function branch(index, width) {
  const answer = tree.answers.get(index);
  const y = TOP + ROW * index + ROW / 2;
  const told = answer ? `${counted(answer.prompt_tokens)} + ${counted(answer.completion_tokens)}` : "";
  return draw(
      "g", {class: answer ? "branch here" : "branch"},
      draw("path", {d: `M20 ${y - ROW - 8} V${y - 8} Q20 ${y} 28 ${y} H40`}),
      draw("circle", {cx: 45, cy: y, r: 5}),
      draw("svg", {x: 58, y: y - 12, width: Math.max(10, width - 150), height: 24},
           draw("text", {x: 0, y: 16}, oneLine(tree.questions[index]))),
      draw("text", {x: width - 2, y: y + 4, "text-anchor": "end", class: "figure"}, told));
}

// In words, also for those who do not see the picture.
function summary() {
  const n = tree.answers.size, sharing = tree.end?.sharing;
  const begin = `${counted(n)} of ${some(tree.questions.length, "answer")}.`;
  if (!sharing) {
    const asked = [...tree.answers.values()].reduce((sum, answer) => sum + answer.prompt_tokens, 0);
    return n ? `${begin} Their prompts: ${counted(asked)} tokens.` : begin;
  }
  const share = Math.round(100 * sharing.reused / Math.max(1, sharing.prompt_tokens));
  return `${begin} Prompts: ${counted(sharing.prompt_tokens)} tokens, ${counted(sharing.computed)} computed, ` +
      `${counted(sharing.reused)} reused (${share}%). Answers: ${counted(tree.end.usage.completion_tokens)} tokens.`;
}

export function drawTree() {
  if (frame !== null) cancelAnimationFrame(frame);
  frame = null;
  if (!tree) return;
  const place = find("tree");
  const width = Math.max(260, place.clientWidth);
  const n = Math.min(MOST, tree.questions.length);
  const height = TOP + ROW * n + 8;
  const words = summary();
  const svg = draw("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label":
                           `Tree: one document, ${some(tree.questions.length, "question")}. ${words}`});
  for (let i = 0; i < n; ++i) svg.append(branch(i, width));
  svg.append(
      draw("rect", {class: "root", x: 0.5, y: 4.5, width: width - 1, height: TOP - 14, rx: 8}),
      draw("svg", {x: 10, y: 8, width: width - 20, height: 24},
           draw("text", {x: 0, y: 17, class: "name"}, oneLine(tree.name))));
  if (tree.end?.sharing) svg.append(...bar(width, tree.end.sharing));
  const more = tree.questions.length - n;
  place.replaceChildren(svg);
  if (more > 0) place.append(make("p", {class: "note"}, `${some(more, "more question")} not drawn`));
  find("tree-words").textContent = words;
}
