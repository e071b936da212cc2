// Shared by tests of /v1/responses: bodies, a store, and completions.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ask/body.h"
#include "base/errors.h"
#include "engine/tiny_engine.h"

namespace pando::ask {
class MapStore : public ResponseStore {
 public:
  Result<StoredResponse> find(uint64_t key, const std::string& id) override {
    const auto found = responses.find({key, id});
    if (found == responses.end()) return not_found("there is no response '{}'", id);
    return found->second;
  }
  Status add(uint64_t key, const StoredResponse& response) override {
    if (failure) return *failure;
    responses[{key, response.id}] = response;
    return {};
  }

  std::map<std::pair<uint64_t, std::string>, StoredResponse> responses;
  std::optional<Error> failure;  // of every addition
};

class Responses : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Body>> read(const Json& json, const std::string& id = "1",
                                     uint64_t key = 0) {
    Bounds bounds;
    return read_responses_body(json, {.model = *testing::tiny_model(),
                                      .context = 640,
                                      .max_answers = 8,
                                      .envelope = {.id = id, .created = 7, .model = "tiny"},
                                      .bounds = bounds,
                                      .defaults = {},
                                      .given_up = given_up_,
                                      .responses = &store_,
                                      .isolation_key = key});
  }

  std::unique_ptr<Body> body(const Json& json, const std::string& id = "1") {
    auto made = read(json, id);
    EXPECT_TRUE(made.ok()) << made.error().message();
    return std::move(*made);
  }

  // "role: content" of each message; its other fields, if there are any, and its content.
  std::vector<std::string> messages(const Json& json, const std::string& id = "1") {
    std::vector<std::string> all;
    const auto made = body(json, id);
    for (const ChatMessage& message : made->requests[0].messages)
      all.push_back(message.fields.is_null() ? message.role + ": " + message.content
                                             : message.fields.text() + " " + message.content);
    return all;
  }

  Error error(const Json& json, uint64_t key = 0) {
    const auto made = read(json, "1", key);
    EXPECT_FALSE(made.ok()) << json;
    return made.ok() ? Error() : made.error();
  }

  // The answer, which is stored where the body wants that.
  static Json answered(Body& body, Completion completion) {
    body.on_event(0, Event{.completion = std::move(completion)});
    const Status status = body.finish();
    EXPECT_TRUE(status.ok()) << status.error().message();
    return body.answer();
  }

  static std::vector<Json> events_of(std::string_view text) {
    std::vector<Json> events;
    while (!text.empty()) {
      const size_t end = text.find("\n\n"), data = text.find("\ndata: ");
      Json event = Json::parse(text.substr(data + 7, end - data - 7));
      EXPECT_EQ(text.substr(0, data), "event: " + event["type"].get<std::string>());
      EXPECT_EQ(event["sequence_number"], events.size());
      events.push_back(std::move(event));
      text.remove_prefix(end + 2);
    }
    return events;
  }

  static std::vector<Json> streamed(Body& body, std::vector<Event> events) {
    std::string text = body.begin();
    for (Event& event : events) text += body.on_event(0, std::move(event));
    EXPECT_TRUE(body.finish().ok());
    return events_of(text + body.end());
  }

  static std::vector<std::string> names_of(const std::vector<Json>& events) {
    std::vector<std::string> names;
    for (const Json& event : events)
      names.push_back(event["type"].get<std::string>().substr(std::string("response.").size()));
    return names;
  }

  MapStore store_;
  const std::function<bool()> given_up_ = [] { return false; };
};

inline Completion said(std::string text) {
  return {.text = std::move(text),
          .tokens = {1, 2, 3},
          .finish_reason = FinishReason::kStop,
          .prompt_tokens = 5,
          .shared_tokens = 2};
}

inline Completion reasoned_call() {
  Completion completion = said("Wait.");
  completion.reasoning = "Hm";
  completion.calls = {{"call_a", "add", R"({"x":1})"}, {"call_b", "add", R"({"x":2})"}};
  return completion;
}

inline const Json kTool = {
    {"type", "function"}, {"name", "add"}, {"parameters", {{"type", "object"}}}};

using Lines = std::vector<std::string>;

}  // namespace pando::ask
