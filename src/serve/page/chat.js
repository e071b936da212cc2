// The view with a conversation.

import {currentDocument} from "./document_field.js";
import {whole} from "./documents.js";
import {counted, find, make, oneLine, say} from "./dom.js";
import {events, inWords} from "./stream.js";

let messages = [];  // as the API has them
let running = null;

function show(who, ...children) {
  const article = make("article", {class: who === "You" ? "mine" : "theirs"}, make("h2", {}, who), ...children);
  find("log").append(article);
  article.scrollIntoView({block: "nearest"});
  return article;
}

const textOf = (text) => make("p", {class: "text", dir: "auto"}, text);

// The answer of the model while it comes.
class Shown {
  constructor() {
    this.reasoning = textOf("");
    this.details = make("details", {hidden: true, open: true}, make("summary", {}, "Reasoning"), this.reasoning);
    this.content = textOf("");
    this.calls = [];
    this.article = show("Model", this.details, this.content);
    this.article.setAttribute("aria-busy", "true");  // read out once it is complete
  }

  add(delta) {
    const reasoning = delta.reasoning_content ?? "";
    if (reasoning) {
      this.details.hidden = false;
      this.reasoning.append(reasoning);
    }
    if (delta.content) {
      this.details.open = false;
      this.content.append(delta.content);
    }
    for (const part of delta.tool_calls ?? []) {
      const call = this.calls[part.index] ??= {id: "", type: "function", function: {name: "", arguments: ""}};
      call.id = part.id ?? call.id;
      call.function.name += part.function?.name ?? "";
      call.function.arguments += part.function?.arguments ?? "";
    }
  }

  isEmpty() {
    return !this.content.textContent && !this.reasoning.textContent && this.calls.length === 0;
  }

  message() {
    const message = {role: "assistant", content: this.content.textContent};
    if (this.calls.length) message.tool_calls = this.calls;
    return message;
  }

  end(usage, sharing, ending) {
    this.article.setAttribute("aria-busy", "false");
    this.content.hidden = !this.content.textContent;
    if (ending === "length") this.article.append(make("p", {class: "note"}, "cut: no room for more tokens"));
    if (usage)
      this.article.append(make("p", {class: "note"},
          `Prompt ${counted(usage.prompt_tokens)} tokens, ${counted(sharing?.reused ?? 0)} of them reused; ` +
          `answer ${counted(usage.completion_tokens)}.`));
    if (this.calls.length) this.article.append(resultForm(this.calls));
  }
}

// The calls of a message, and fields for their results.
function resultForm(calls) {
  const fields = calls.map((call) => make("textarea", {rows: 2, class: "code", spellcheck: "false"}));
  const parts = calls.flatMap((call, i) => [
    make("h3", {}, `Call: ${oneLine(call.function.name)}`),
    make("pre", {tabindex: 0, "aria-label": `Arguments of ${oneLine(call.function.name)}`}, call.function.arguments),
    make("label", {}, `Result of ${oneLine(call.function.name)}`, fields[i]),
  ]);
  const submit = (event) => {
    event.preventDefault();
    if (running) return;
    const button = form.querySelector("button"), asked = messages;
    button.disabled = true;
    const articles = calls.map((call, i) => {
      asked.push({role: "tool", tool_call_id: call.id, content: whole(fields[i].value)});
      return show(`Result of ${oneLine(call.function.name)}`, textOf(fields[i].value));
    });
    answer(() => {
      asked.splice(-calls.length);
      articles.forEach((article) => article.remove());
      button.disabled = false;
    });
  };
  const form = make("form", {class: "calls", submit}, ...parts, make("button", {}, "Send results"));
  return form;
}

// Functions, also without the object that the API has around each.
function readTools() {
  const text = find("tools").value.trim();
  if (!text) return undefined;
  const tools = JSON.parse(text);
  if (!Array.isArray(tools)) throw new SyntaxError("expected a list");
  return tools.map((tool) => tool?.function ? tool : {type: "function", function: tool});
}

function readBody() {
  const about = currentDocument();
  const first = find("with-document").checked && about
      ? [{role: "system", content: `Answer questions about this document.\n\n${about}`}] : [];
  const body = {messages: [...first, ...messages]};
  const tools = readTools();
  if (tools) body.tools = tools;
  return body;
}

function setRunning(controller) {
  running = controller;
  find("chat-stop").disabled = !controller;
}

// Has the model answer the messages. takeBack: undoes the last ones if there is no answer.
async function answer(takeBack) {
  const status = find("chat-status");
  let body = null;
  try {
    body = readBody();
  } catch (error) {
    find("tools").setAttribute("aria-invalid", "true");
    takeBack();
    return say(status, `Tools: ${error.message}`, true);
  }
  find("tools").setAttribute("aria-invalid", "false");
  const own = new AbortController(), shown = new Shown(), asked = messages;
  setRunning(own);
  say(status, "The model answers.");
  let end = {}, ending = null, failed = false;
  try {
    for await (const event of events("v1/chat/completions", body, own.signal)) {
      const choice = event.choices?.[0];
      if (choice) shown.add(choice.delta);
      ending = choice?.finish_reason ?? ending;
      if (event.usage) end = event;
    }
    say(status, "");
  } catch (error) {
    failed = true;
    say(status, inWords(error), error.name !== "AbortError");
  }
  setRunning(null);
  if (failed && shown.isEmpty()) {
    shown.article.remove();
    takeBack();
  } else {
    asked.push(shown.message());
    shown.end(end.usage, end.sharing, ending);
  }
}

export function startChat() {
  const send = (event) => {
    event.preventDefault();
    const text = whole(find("message").value).trim();
    if (!text || running) return;
    const asked = messages, article = show("You", textOf(text));
    asked.push({role: "user", content: text});
    find("message").value = "";
    answer(() => {
      asked.pop();
      article.remove();
      find("message").value ||= text;
    });
  };
  find("chat-form").addEventListener("submit", send);
  find("message").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(event);
  });
  find("chat-stop").addEventListener("click", () => running?.abort());
  find("chat-new").addEventListener("click", () => {
    running?.abort();
    messages = [];
    find("log").replaceChildren();
    say(find("chat-status"), "");
    find("message").focus();
  });
}
