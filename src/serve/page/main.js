// The parts of the page that both views have: the model, the key and the tabs.

import {startChat} from "./chat.js";
import {counted, find, make, oneLine, say} from "./dom.js";
import {startQuestions} from "./questions.js";
import {get, hasKey, inWords, setKey, setModel} from "./stream.js";

const inTokens = (model) => `a context of ${counted(model.max_model_len)} tokens`;

// One model of several, which may not be loaded yet.
function chooseModel(models) {
  const select = find("models"), kept = select.value;
  const show = () => {
    const model = models[Math.max(0, select.selectedIndex)];
    setModel(model.id);
    say(find("model"), model.max_model_len ? inTokens(model) : "loaded when you ask");
  };
  find("choice").hidden = false;
  select.replaceChildren(...models.map(({id}) => make("option", {value: id, selected: id === kept}, oneLine(id))));
  select.onchange = show;
  show();
}

// The server's example asks by chat where the model has a chat template.
async function showModel() {
  try {
    const [about, list] = [await get("./"), await get("v1/models")];
    if (list.data[0].status) return chooseModel(list.data);
    say(find("model"), `${oneLine(about.models[0])}, ${inTokens(list.data[0])}`);
    const hasChat = about.example.includes("/v1/chat/completions ");
    find("chat-template").checked = hasChat;
    find("chat-template").disabled = !hasChat;
    if (!hasChat) say(find("chat-status"), "The model has no chat template.");
  } catch (error) {
    say(find("model"), inWords(error), true);
  }
}

function startKey() {
  if (hasKey()) find("key").placeholder = "in use";
  find("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    setKey(find("key").value);
    find("key").value = "";
    find("key").placeholder = hasKey() ? "in use" : "none";
    showModel();
  });
}

// Arrow keys, Home and End go from tab to tab.
function startTabs() {
  const tabs = [...find("tabs").children];
  const select = (chosen) => {
    for (const tab of tabs) {
      const isChosen = tab === chosen;
      tab.setAttribute("aria-selected", isChosen);
      tab.tabIndex = isChosen ? 0 : -1;
      find(tab.getAttribute("aria-controls")).hidden = !isChosen;
    }
  };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      const to = {ArrowRight: i + 1, ArrowLeft: i - 1 + tabs.length, Home: 0, End: tabs.length - 1}[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = tabs[to % tabs.length];
      select(next);
      next.focus();
    });
  });
}

startKey();
startTabs();
startQuestions();
startChat();
showModel();
