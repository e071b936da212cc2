// Answers of replicas, as scripts of tests.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

#include "base/json.h"
#include "serve/client.h"
#include "serve/scripted_replica.h"

namespace pando::testing {

inline const Json kScriptedBody = {{"model", "tiny"}, {"prompt", "P"}, {"max_tokens", 9}};

inline Json stream_body() {
  Json body = kScriptedBody;
  body["stream"] = true;
  return body;
}

inline constexpr int kScriptedTokens = 6;

inline std::string scripted_event(int token) {
  return fmt::format("data: {{\"i\":{}}}\n\n", token);
}

inline std::string undisturbed_stream() {
  std::string text = "data: {\"head\":1}\n\n";
  for (int i = 0; i < kScriptedTokens; ++i) text += scripted_event(i);
  return text + "data: [DONE]\n\n";
}

// Writes the answer of tokens 0 to 5 as a replica does, behind those that have begun.
inline void answer_stream(
    ScriptedAnswer& answer, const std::function<void(int token)>& before,
    const ScriptedReplica::Script& begin = [](ScriptedAnswer& answer) { answer.begin_stream(); }) {
  const Json body = answer.body();
  int begun = 0;
  if (body.contains("pando_begun"))
    for (const Json& one : body["pando_begun"]) begun += static_cast<int>(one["tokens"].size());
  begin(answer);
  std::string text = body.contains("pando_begun") ? "" : "data: {\"head\":1}\n\n";
  for (int i = begun; i < kScriptedTokens; ++i) {
    text += fmt::format(": tokens 0 0 {}\n\n", i) + scripted_event(i);
    before(i);
    answer.write(std::exchange(text, ""));
  }
  answer.write("data: [DONE]\n\n");
  answer.end_stream();
}

inline ScriptedReplica::Script streams_whole() {
  return [](ScriptedAnswer& answer) { answer_stream(answer, [](int) {}); };
}
inline ScriptedReplica::Script dies_before(int token) {
  return [token](ScriptedAnswer& answer) {
    answer_stream(answer, [&](int i) {
      if (i == token) answer.die();
    });
  };
}
inline ScriptedReplica::Script answers_with(int status, const std::string& body,
                                            const std::string& headers = "") {
  return [=](ScriptedAnswer& answer) { answer.send(status, body, headers); };
}

// Code of the error that ends a stream; empty: none does.
inline std::string last_code(const std::string& stream) {
  const size_t at = stream.find("{\"error\"");
  if (at == stream.npos) return {};
  return Json::parse(stream.substr(at, stream.find("\n\n", at) - at))["error"]["code"];
}

}  // namespace pando::testing
