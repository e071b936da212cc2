// The parts of the page that both views have: the model, the key and the tabs.

import {startChat} from "./chat.js";
import {counted, find, oneLine, say} from "./dom.js";
import {startQuestions} from "./questions.js";
import {get, hasKey, inWords, setKey} from "./stream.js";

// The server's example asks by chat where the model has a chat template.
async function showModel() {
  try {
    const [about, list] = [await get("./"), await get("v1/models")];
    const context = list.data[0].max_model_len;
    say(find("model"), `${oneLine(about.models[0])}, a context of ${counted(context)} tokens`);
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
