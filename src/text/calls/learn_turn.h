// The beginning and the end of an assistant's message, and of the reasoning and the text in it.
#pragma once

#include <string>
#include <string_view>

#include "text/calls/call_format.h"
#include "text/calls/call_trials.h"

namespace pando::calls {

struct Turn {
  explicit Turn(const Trials& trials);

  bool is_known() const { return !begin.empty(); }
  // The template's text of an answer behind `begin`; empty if it refuses it.
  std::string part_of(const TrialAnswer& answer, ReasoningForm in = ReasoningForm::kFields) const;
  // The length of what is of reasoning at the beginning of a part.
  size_t reasoning_length(std::string_view part) const;
  // Cuts a text that begins calls off the end of `begin`: prompts end with it. Returns it.
  std::string give_back(std::string_view end_of_begin);
  // True if messages stand in the channels of gpt-oss.
  bool has_channels() const;
  void copy_to(CallFormat& format) const;

  std::string begin;  // between the user's text and the answer
  std::string end;    // behind a text
  std::string end_behind_calls;
  std::string reasoning_begin, reasoning_end;
  std::string text_begin;
  ReasoningForm form = ReasoningForm::kFields;

 private:
  void find_begin();
  void find_reasoning();
  void guess_reasoning();
  void find_text();
  std::string tail_of(const std::string& prompt) const;

  const Trials& trials_;
};

}  // namespace pando::calls
