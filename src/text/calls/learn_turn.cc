#include "text/calls/learn_turn.h"

#include <algorithm>
#include <utility>

#include "text/calls/atoms.h"
#include "text/calls/call_shape.h"
#include "text/calls/learn_calls.h"
#include "text/calls/scan.h"

namespace pando::calls {
namespace {

constexpr std::string_view kSampleText = "Quartz and basalt", kSampleReasoning = "Weighing every pebble";

TrialCall one_call() { return {std::string(kTrialNames[0]), trial_arguments(), "callA1234"}; }

// The text behind the user's question.
std::string behind_question(const std::string& text) {
  const size_t at = text.rfind(Trials::kQuestion);
  return at == text.npos ? std::string() : text.substr(at + Trials::kQuestion.size());
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// True for marks such as "<think>" and "<|START_THINKING|>", but not for their ends.
bool begins_reasoning(std::string_view mark) {
  const std::string name = lower_case(mark);
  if (!name.starts_with('<') && !name.starts_with('[')) return false;
  if (name.find('/') != name.npos || name.find("end") != name.npos) return false;
  return name.find("think") != name.npos || name.find("reason") != name.npos ||
         name.find("thought") != name.npos;
}

// "</think>" for "<think>".
std::string end_of_mark(std::string_view mark) {
  return std::string(mark.substr(0, 1)) + "/" + std::string(mark.substr(1));
}

}  // namespace

Turn::Turn(const Trials& trials) : trials_(trials) {
  find_begin();
  if (!is_known()) return;
  const std::string text = part_of({.text = std::string(kSampleText)});
  if (const size_t at = text.find(kSampleText); at != text.npos) end = text.substr(at + kSampleText.size());
  find_reasoning();
  if (reasoning_end.empty()) guess_reasoning();
  find_text();
}

std::string Turn::part_of(const TrialAnswer& answer, ReasoningForm in) const {
  const std::optional<std::string> text = trials_.conversation(answer, in);
  if (!text) return {};
  const std::string behind = behind_question(*text);
  return behind.starts_with(begin) ? behind.substr(begin.size()) : std::string();
}

// What answers of any kind and the prompt have in common, up to a mark that begins reasoning.
void Turn::find_begin() {
  const std::string text = part_of({.text = std::string(kSampleText)}),
                    call = part_of({.calls = {one_call()}}),
                    prompt = behind_question(trials_.prompt(trials_.has_switch()));
  const std::string& answer = text.empty() ? call : text;
  std::string_view shared = text.empty() || call.empty() ? std::string_view(answer)
                                                         : common_begin(text, call);
  if (const size_t at = shared.find(kSampleText); at != shared.npos) shared = shared.substr(0, at);
  const std::string_view with_prompt = common_begin(shared, prompt);
  const std::string_view rest = shared.substr(with_prompt.size());
  if (rest.empty() || is_blank(rest) || !prompt.ends_with(rest)) shared = with_prompt;
  std::vector<std::string_view> atoms = atoms_of(shared);
  size_t n = atoms.size();
  while (n > 0 && is_blank(atoms[n - 1])) --n;
  if (n > 0 && begins_reasoning(atoms[n - 1])) {
    atoms.resize(n - 1);
    shared = shared.substr(0, static_cast<size_t>(atoms.empty() ? 0 : atoms.back().end() - shared.begin()));
  }
  begin = shared;
}

void Turn::find_reasoning() {
  for (const ReasoningForm tried :
       {ReasoningForm::kFields, ReasoningForm::kParts, ReasoningForm::kBlocks}) {
    const std::string with_text =
        part_of({.text = std::string(kSampleText), .reasoning = std::string(kSampleReasoning)}, tried);
    const std::string with_call =
        tried == ReasoningForm::kFields
            ? part_of({.reasoning = std::string(kSampleReasoning), .calls = {one_call()}})
            : std::string();
    const size_t in_text = with_text.find(kSampleReasoning), in_call = with_call.find(kSampleReasoning);
    const size_t text = with_text.find(kSampleText), call = with_call.find(kTrialNames[0]);
    std::string_view to_text, to_call;
    if (in_text != with_text.npos && text != with_text.npos && text > in_text)
      to_text = std::string_view(with_text).substr(in_text + kSampleReasoning.size(),
                                                   text - in_text - kSampleReasoning.size());
    if (in_call != with_call.npos && call != with_call.npos && call > in_call)
      to_call = std::string_view(with_call).substr(in_call + kSampleReasoning.size(),
                                                   call - in_call - kSampleReasoning.size());
    const std::string alone = part_of({.calls = {one_call()}});
    const std::string_view before_call =
        std::string_view(alone).substr(0, std::min(alone.find(kTrialNames[0]), alone.size()));
    const std::string_view both = common_begin(to_text, to_call);
    if (!is_blank(both))
      reasoning_end = both;
    else if (!is_blank(to_text))
      reasoning_end = to_text;
    else
      reasoning_end = to_call.substr(0, to_call.size() - common_end(before_call, to_call).size());
    if (is_blank(reasoning_end)) {
      reasoning_end.clear();
      continue;
    }
    form = tried;
    reasoning_begin = is_blank(to_text) ? with_call.substr(0, in_call) : with_text.substr(0, in_text);
    // A prompt may open the reasoning by a text that the template leaves out later.
    if (is_blank(reasoning_begin)) reasoning_begin = tail_of(trials_.prompt(trials_.has_switch()));
    if (!is_blank(reasoning_begin)) return;
    reasoning_end.clear();
  }
}

// Prompts end with marks of reasoning even if templates leave the reasoning of answers out.
void Turn::guess_reasoning() {
  reasoning_begin = "<think>";
  reasoning_end = "</think>";
  for (const bool thinking : {trials_.has_switch(), false}) {
    const std::string tail = tail_of(trials_.prompt(thinking));
    for (const std::string_view atom : atoms_of(tail)) {
      if (!begins_reasoning(atom)) continue;
      reasoning_begin = atom;
      reasoning_end = end_of_mark(atom);
      return;
    }
  }
}

void Turn::find_text() {
  const std::string part = part_of({.text = std::string(kSampleText)});
  const std::string_view before = std::string_view(part).substr(0, std::min(part.find(kSampleText), part.size()));
  text_begin = before.substr(reasoning_length(before));
  if (trimmed(text_begin) == trimmed(reasoning_begin) || is_blank(text_begin)) text_begin.clear();
}

size_t Turn::reasoning_length(std::string_view part) const {
  const std::string_view mark = trimmed(reasoning_end);
  const size_t at = mark.empty() ? part.npos : part.rfind(mark);
  return at == part.npos ? 0 : at + mark.size();
}

std::string Turn::give_back(std::string_view end_of_begin) {
  const std::string text(end_of_begin);
  if (is_blank(text) || text.size() >= begin.size()) return {};
  begin.resize(begin.size() - text.size());
  text_begin.insert(0, text);
  return text;
}

bool Turn::has_channels(const TrialCall& call) const {
  const std::string part = part_of({.calls = {call}});
  return part.find("<|channel|>") != part.npos && part.find("<|message|>") != part.npos;
}

// The end of a prompt behind the beginning of the answer.
std::string Turn::tail_of(const std::string& prompt) const {
  const size_t at = prompt.rfind(begin);
  return at == prompt.npos || begin.empty() ? std::string() : prompt.substr(at + begin.size());
}

void Turn::copy_to(CallFormat& format) const {
  format.turn_begin = begin;
  format.turn_end_behind_calls = end_behind_calls;
  if (format.body != CallBody::kChannel) {
    format.reasoning_begin = reasoning_begin;
    format.reasoning_end = reasoning_end;
    format.text_begin = text_begin;
    format.turn_end = end;
    if (!text_begin.empty() && end.ends_with(end_behind_calls)) {
      format.text_end = end.substr(0, end.size() - end_behind_calls.size());
      format.turn_end = end_behind_calls;
    }
  }
  for (const bool thinking : {true, false}) {
    std::string tail = tail_of(trials_.prompt(thinking));
    std::vector<std::string>& ends = format.prompt_ends;
    if (!is_blank(tail) && std::find(ends.begin(), ends.end(), tail) == ends.end())
      ends.push_back(std::move(tail));
  }
  std::sort(format.prompt_ends.begin(), format.prompt_ends.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

}  // namespace pando::calls
