// Shared by tests of doors: bodies read for the tiny model, and their answers.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ask/body.h"
#include "engine/tiny_engine.h"

namespace pando::ask {

class Doors : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Body>> read(ReadBody* reader, const char* json,
                                     const Model& model = *testing::tiny_model()) {
    Bounds bounds;
    return reader(Json::parse(json), {.model = model,
                                      .context = context_,
                                      .max_answers = 8,
                                      .envelope = {.id = "1", .created = 7, .model = "tiny"},
                                      .bounds = bounds,
                                      .defaults = defaults_,
                                      .given_up = given_up_});
  }
  std::unique_ptr<Body> body(ReadBody* reader, const char* json) {
    auto made = read(reader, json);
    EXPECT_TRUE(made.ok()) << made.error().message();
    return std::move(*made);
  }
  Error error(ReadBody* reader, const char* json) {
    const auto made = read(reader, json);
    EXPECT_FALSE(made.ok()) << json;
    return made.ok() ? Error() : made.error();
  }
  std::string blamed(ReadBody* reader, const char* json) { return error(reader, json).place.field; }

  static Json answered(Body& body, std::vector<Completion> completions) {
    for (size_t i = 0; i < completions.size(); ++i)
      body.on_event(i, Event{.completion = std::move(completions[i])});
    EXPECT_TRUE(body.finish().ok());
    return body.answer();
  }
  static std::string streamed(Body& body, std::vector<Event> events) {
    std::string text = body.begin();
    for (Event& event : events) text += body.on_event(0, std::move(event));
    EXPECT_TRUE(body.finish().ok());
    return text + body.end();
  }

  const std::function<bool()> given_up_ = [] { return false; };
  const GenerationConfig defaults_;
  int context_ = 640;
};

inline Completion said_hi() {
  return {.text = "Hi",
          .tokens = {72, 105, 10},
          .logprobs = {{.token = 72, .logprob = -0.5F},
                       {.token = 105, .logprob = -1},
                       {.token = 10, .logprob = -2}},
          .finish_reason = FinishReason::kStop,
          .prompt_tokens = 5,
          .shared_tokens = 2};
}

}  // namespace pando::ask
