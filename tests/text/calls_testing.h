// Answers taken apart, for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/calls/call_parser.h"
#include "text/calls/learn_calls.h"
#include "text/text_testing.h"

namespace pando::testing {

// The parts of an answer: "text", "(reasoning)" and "NAME{...}" for each call, with
// "#ID" behind the name if it has an id.
inline std::string parts_of(const std::vector<calls::AnswerEvent>& events) {
  using Kind = calls::AnswerEvent::Kind;
  std::string text, reasoning, out;
  const auto flush = [&] {
    if (!reasoning.empty()) out += "(" + std::exchange(reasoning, {}) + ")";
    out += std::exchange(text, {});
  };
  for (const calls::AnswerEvent& event : events) {
    if (event.kind == Kind::kText || event.kind == Kind::kReasoning) {
      (event.kind == Kind::kText ? text : reasoning) += event.bytes;
      continue;
    }
    flush();
    out += event.bytes + (event.id.empty() ? "" : "#" + event.id);
    if (event.kind == Kind::kCallEnd) out += ";";
  }
  flush();
  return out;
}

inline std::vector<calls::AnswerEvent> events_of(const calls::CallFormat& format,
                                                 const calls::OfferedTools& tools,
                                                 std::string_view prompt, std::string_view answer,
                                                 size_t piece) {
  calls::CallParser parser(format, tools, prompt);
  std::vector<calls::AnswerEvent> all;
  for (size_t at = 0; at < answer.size(); at += piece)
    for (calls::AnswerEvent& event : parser.feed(answer.substr(at, piece)))
      all.push_back(std::move(event));
  for (calls::AnswerEvent& event : parser.finish()) all.push_back(std::move(event));
  return all;
}

// The parts of an answer; they must be the same however it is cut.
inline std::string parts_of(const calls::CallFormat& format, const calls::OfferedTools& tools,
                            std::string_view answer, std::string_view prompt = {}) {
  const std::string whole =
      parts_of(events_of(format, tools, prompt, answer, std::max<size_t>(1, answer.size())));
  EXPECT_EQ(parts_of(events_of(format, tools, prompt, answer, 1)), whole) << answer;
  for (size_t cut = 1; cut < answer.size(); ++cut) {
    calls::CallParser parser(format, tools, prompt);
    std::vector<calls::AnswerEvent> all = parser.feed(answer.substr(0, cut));
    for (calls::AnswerEvent& event : parser.feed(answer.substr(cut)))
      all.push_back(std::move(event));
    for (calls::AnswerEvent& event : parser.finish()) all.push_back(std::move(event));
    EXPECT_EQ(parts_of(all), whole) << "cut at " << cut << " of " << answer;
  }
  return whole;
}

// Functions by name, with the schemas of their properties.
inline calls::OfferedTools offered(std::string_view json) {
  Result<calls::OfferedTools> tools = calls::OfferedTools::parse(json);
  EXPECT_TRUE(tools.ok()) << tools.error().message();
  return *std::move(tools);
}

}  // namespace pando::testing
