// Learns from a chat template how its model writes tool calls and reasoning.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "text/calls/call_format.h"
#include "text/calls/call_parser.h"
#include "text/calls/call_trials.h"
#include "text/chat/chat_template.h"

namespace pando::calls {

// Renders conversations that differ in one call, finds what stands around names, arguments and
// reasoning, and checks that rendered calls parse back to themselves. A template whose calls do not
// has the format of small models.
CallFormat learn_calls(const ChatTemplate& chat);
// A format of call_format_named, with the template's marks of messages and reasoning.
Result<CallFormat> named_calls(std::string_view name, const ChatTemplate& chat);

// The tools of trials, as JSON. Names of calls are kTrialNames.
extern const std::string_view kLearningTools;
constexpr std::string_view kTrialNames[] = {"find_river_q1", "count_stone_q2"};

// The part of a rendered conversation that a model would have written, behind a prompt.
struct RenderedAnswer {
  std::string prompt;
  std::string answer;
};
// Nothing if the template refuses the answer.
std::optional<RenderedAnswer> rendered_answer(const Trials& trials, const CallFormat& format,
                                              const TrialAnswer& answer,
                                              ReasoningForm form = ReasoningForm::kFields);

// True if events are those of an answer, but for white space around texts. Templates may sort the
// keys of arguments.
bool is_answer(std::span<const AnswerEvent> events, const TrialAnswer& answer);

// Sets what the template renders, by reading it back. False if not even one call comes back.
bool reads_back(const Trials& trials, ReasoningForm form, CallFormat& format);

}  // namespace pando::calls
