// The server's model, or the one of several that is chosen.

import {counted, find, make, oneLine, say} from "./dom.js";
import {get, inWords, setModel, watchRequests} from "./stream.js";

const POLL = 1000;  // milliseconds between requests for the state of a model
const GIVEN = {embedding: "gives embeddings, no text", classification: "gives labels, no text"};
let models = [];

const chosen = () => models[Math.max(0, find("models").selectedIndex)];

// Views that the model cannot serve are hidden. Before its first load all are shown.
function offer(capabilities = ["completion", "chat"]) {
  const hasChat = capabilities.includes("chat"), box = find("chat-template");
  find("main").hidden = !capabilities.includes("completion");
  find("tab-chat").hidden = !hasChat;
  if (!hasChat) find("tab-questions").click();
  if (box.disabled === hasChat) {
    box.checked = hasChat;
    box.disabled = !hasChat;
  }
}

function stateOf({status, max_model_len: length}) {
  if (status?.value === "unloaded")
    return status.failed ? "the last load failed; the next request tries again" : "unloaded: the next request loads it";
  if (status?.value === "loading") return "loading";
  return `${status ? "loaded, " : ""}a context of ${counted(length)} tokens`;
}

function noteOf(capabilities) {
  if (!capabilities || capabilities.includes("chat")) return [];
  return capabilities.map((one) => GIVEN[one] ?? "no chat template");
}

function show() {
  const model = chosen();
  const name = model.status ? [] : [oneLine(model.id)];
  const words = [...name, stateOf(model), ...noteOf(model.capabilities)].join(", ");
  offer(model.capabilities);
  if (find("model").textContent !== words) say(find("model"), words);
}

function showSeveral() {
  const select = find("models"), kept = select.value;
  find("choice").hidden = false;
  if (models.map(({id}) => id).join("\n") !== [...select.options].map(({value}) => value).join("\n"))
    select.replaceChildren(...models.map(({id}) => make("option", {value: id, selected: id === kept}, oneLine(id))));
  select.onchange = () => {
    setModel(chosen().id);
    showModel();
  };
  setModel(chosen().id);
  watchRequests(watch);
}

// Shows the state of the model again and again until the response has come.
async function watch(response) {
  const timer = setInterval(showModel, POLL);
  await response.catch(() => {});
  clearInterval(timer);
  showModel();
}

export async function showModel() {
  try {
    models = (await get("v1/models")).data;
    if (models[0].status) showSeveral();
    show();
  } catch (error) {
    say(find("model"), inWords(error), true);
  }
}
