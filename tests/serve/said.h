// An answer says the same whichever way it came: as a whole or as a stream, in numbers or in
// base64. Answers with equal texts of it have equal bits.
#pragma once

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "serve/client.h"

namespace pando::testing {

// [choices] {text, reason, logprobs} of a whole completion or chat.
inline Json said_by_choices(const Json& choices) {
  Json said = Json::array();
  for (const Json& choice : choices) {
    const bool chat = choice.contains("message");
    said.push_back({{"text", chat ? choice["message"]["content"] : choice["text"]},
                    {"reason", choice["finish_reason"]},
                    {"logprobs", chat ? choice["logprobs"]["content"] : choice["logprobs"]}});
  }
  return said;
}

// Returns the same, put together from a stream.
inline Json said_by_chunks(const std::vector<Json>& events) {
  constexpr const char* kLists[] = {"tokens", "token_logprobs", "top_logprobs", "text_offset"};
  Json said = Json::array();
  for (const Json& event : events) {
    for (const Json& choice : event["choices"]) {
      const bool chat = choice.contains("delta");
      while (said.size() <= choice["index"].get<size_t>()) {
        Json lists = chat ? Json::array() : Json::object();
        if (!chat)
          for (const char* name : kLists) lists[name] = Json::array();
        said.push_back({{"text", ""}, {"reason", nullptr}, {"logprobs", lists}});
      }
      Json& one = said[choice["index"].get<size_t>()];
      const std::string text =
          chat ? choice["delta"].value("content", "") : choice["text"].get<std::string>();
      one["text"] = one["text"].get<std::string>() + text;
      if (!choice["finish_reason"].is_null()) one["reason"] = choice["finish_reason"];
      if (choice["logprobs"].is_null()) continue;
      const auto append = [](Json& to, const Json& from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      if (chat) {
        append(one["logprobs"], choice["logprobs"]["content"]);
      } else {
        for (const char* name : kLists) append(one["logprobs"][name], choice["logprobs"][name]);
      }
    }
  }
  return said;
}

// Reads /v1/answers. A stream has them in the order in which they were complete.
inline Json said_by_answers(const std::vector<Json>& events) {
  std::vector<Json> answers;
  for (Json event : events) {
    if (event["object"] != "answer") continue;
    event.erase("id");
    event.erase("object");
    answers.push_back(std::move(event));
  }
  const auto index = [](const Json& answer) { return answer["index"].get<size_t>(); };
  std::stable_sort(answers.begin(), answers.end(),
                   [&](const Json& a, const Json& b) { return index(a) < index(b); });
  return answers;
}

// Reads numbers, or the base64 of their bytes.
inline std::vector<float> floats_of(const Json& embedding) {
  if (embedding.is_array()) return embedding.get<std::vector<float>>();
  const std::string& text = embedding.get_ref<const std::string&>();
  std::vector<unsigned char> bytes(text.size());
  const int n_bytes =  // with what fills up the last three
      EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size()));
  EXPECT_GT(n_bytes, 0) << text;
  std::vector<float> floats(static_cast<size_t>(std::max(n_bytes, 0)) / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  return floats;
}

inline Json said_by(Json body) {
  if (body.contains("choices")) return said_by_choices(body["choices"]);
  for (const char* name : {"answers", "results"})
    if (body.contains(name)) return body[name];
  for (Json& entry : body["data"])
    if (entry.contains("embedding")) entry["embedding"] = floats_of(entry["embedding"]);
  return body["data"];
}

inline Json said_by(const std::vector<Json>& events) {
  return !events.empty() && events[0].contains("choices") ? said_by_chunks(events)
                                                          : said_by_answers(events);
}

}  // namespace pando::testing
