// Requests to the server that the page is from, and the events of its streams.

const KEPT = "pando-key";  // in the tab's storage, which ends with the tab
let key = "";
try {
  key = sessionStorage.getItem(KEPT) ?? "";
} catch {
  // Without storage the key is kept in memory alone.
}

export const hasKey = () => key !== "";

export function setKey(text) {
  key = text.trim();
  try {
    if (key) sessionStorage.setItem(KEPT, key);
    else sessionStorage.removeItem(KEPT);
  } catch {
    // as above
  }
}

let model = "";  // that requests name; none where the server has one

export function setModel(name) {
  model = name;
}

let watcher = () => {};

// Has `watch` called with the promise of each stream's response.
export function watchRequests(watch) {
  watcher = watch;
}

// An error that the server answers with.
export class ServerError extends Error {
  constructor(status, error) {
    super((error.param ? `${error.param}: ` : "") + (error.message ?? `the status is ${status}`));
    this.status = status;
    this.code = error.code ?? "";
  }
}

async function answered(path, options) {
  const headers = {...options.headers, Accept: "application/json"};
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(path, {...options, headers, cache: "no-store"});
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  throw new ServerError(response.status, body.error ?? {});
}

export async function get(path) {
  return (await answered(path, {})).json();
}

// The data of an event, or null for one without data.
function dataOf(event) {
  const lines = event.split("\n").filter((line) => line.startsWith("data:"));
  return lines.length ? lines.map((line) => line.slice(5).replace(/^ /, "")).join("\n") : null;
}

// The events of a stream, in turn. Throws a ServerError, and an AbortError if the signal ends it.
export async function* events(path, body, signal) {
  const whole = {...body, stream: true, stream_options: {include_usage: true}, sharing: true};
  if (model) whole.model = model;
  const promise = answered(path, {
    method: "POST",
    signal,
    headers: {"Content-Type": "application/json"},
    body: JSON.stringify(whole),
  });
  watcher(promise);
  const response = await promise;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) break;
      rest += value;
      const parts = rest.split("\n\n");
      rest = parts.pop();
      for (const data of parts.map(dataOf)) {
        if (data === null) continue;
        if (data === "[DONE]") return;
        const event = JSON.parse(data);
        if (event.error) throw new ServerError(response.status, event.error);
        yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
  throw new Error("the connection ended before the answer did");
}

// An error in words, for people.
export function inWords(error) {
  if (error.name === "AbortError") return "stopped";
  if (error instanceof TypeError) return "the server cannot be reached";
  if (error.status === 401) return `${error.message} (enter the API key above)`;
  return error.message;
}
