// Conversations with one answer, rendered by a template to find out how answers are written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/calls/json_scan.h"
#include "text/chat/chat_template.h"

namespace pando::calls {

struct TrialCall {
  std::string name;
  CallJson arguments;
  std::string id;
};

struct TrialAnswer {
  std::string text = {}, reasoning = {};
  std::vector<TrialCall> calls = {};
};

// Forms in which templates take the reasoning of a message.
enum class ReasoningForm {
  kFields,  // "reasoning_content", "thinking", "reasoning"
  kParts,   // a content of parts of the type "thinking" and "text"
  kBlocks,  // a content with blocks of "thoughts" and "response"
};

class Trials {
 public:
  // `tools`: a list as templates take it. Finds the options under which the template renders.
  Trials(const ChatTemplate& chat, std::string_view tools);

  // A user's message and the answer; nothing if the template refuses it.
  std::optional<std::string> conversation(const TrialAnswer& answer,
                                          ReasoningForm form = ReasoningForm::kFields) const;
  // A user's message and the beginning of an answer; empty if the template refuses it.
  std::string prompt(bool thinking) const;
  // Renders with thinking, if the template has a switch for it.
  bool has_switch() const { return has_switch_; }

  static constexpr std::string_view kQuestion = "Which river is the longest?";

 private:
  const ChatTemplate& chat_;
  ChatOptions options_;
  bool has_switch_ = false;
};

}  // namespace pando::calls
