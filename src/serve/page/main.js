// The parts of the page that both views have: the key and the tabs.

import {startChat} from "./chat.js";
import {find} from "./dom.js";
import {showModel} from "./model.js";
import {startQuestions} from "./questions.js";
import {hasKey, setKey} from "./stream.js";

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
  tabs.forEach((tab) => {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      const shown = tabs.filter((one) => !one.hidden), i = shown.indexOf(tab);
      const to = {ArrowRight: i + 1, ArrowLeft: i - 1 + shown.length, Home: 0, End: shown.length - 1}[event.key];
      if (to === undefined) return;
      event.preventDefault();
      const next = shown[to % shown.length];
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
