#include "text/calls/learn_turn.h"

#include <algorithm>
#include <utility>

#include "text/calls/atoms.h"
#include "text/calls/call_shape.h"
#include "text/calls/learn_calls.h"
#include "text/calls/scan.h"

namespace pando::calls {
namespace {

constexpr std::string_view kSampleText = "Quartz and basalt",
                           kSampleReasoning = "Weighing every pebble";

TrialCall one_call() { return {std::string(kTrialNames[0]), trial_arguments(), "callA1234"}; }

std::string_view before(std::string_view text, std::string_view mark) {
  return text.substr(0, std::min(text.find(mark), text.size()));
}

// The text between two others; empty if they do not come in this order.
std::string_view between(std::string_view text, std::string_view a, std::string_view b) {
  const size_t begin = text.find(a);
  if (begin == text.npos) return {};
  const size_t end = text.find(b, begin + a.size());
  return end == text.npos ? std::string_view()
                          : text.substr(begin + a.size(), end - begin - a.size());
}

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
  if (const size_t at = text.find(kSampleText); at != text.npos)
    end = text.substr(at + kSampleText.size());
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

// The common beginning of answers of any kind and of the prompt, up to a mark that begins
// reasoning.
void Turn::find_begin() {
  const std::string text = part_of({.text = std::string(kSampleText)}),
                    call = part_of({.calls = {one_call()}}),
                    prompt = behind_question(trials_.prompt(trials_.has_switch()));
  const std::string& answer = text.empty() ? call : text;
  std::string_view shared =
      text.empty() || call.empty() ? std::string_view(answer) : common_begin(text, call);
  if (const size_t at = shared.find(kSampleText); at != shared.npos) shared = shared.substr(0, at);
  const std::string_view with_prompt = common_begin(shared, prompt);
  const std::string_view rest = shared.substr(with_prompt.size());
  if (is_blank(rest) || !prompt.ends_with(rest)) shared = with_prompt;
  std::vector<std::string_view> atoms = atoms_of(shared);
  size_t n = atoms.size();
  while (n > 0 && is_blank(atoms[n - 1])) --n;
  if (n > 0 && begins_reasoning(atoms[n - 1])) {
    atoms.resize(n - 1);
    shared = shared.substr(
        0, static_cast<size_t>(atoms.empty() ? 0 : atoms.back().end() - shared.begin()));
  }
  begin = shared;
}

void Turn::find_reasoning() {
  const std::string text = part_of({.text = std::string(kSampleText)}),
                    call = part_of({.calls = {one_call()}});
  // Both kinds of answers may begin alike behind the reasoning.
  const std::string_view alike = common_begin(text, call);
  const std::string_view before_call = before(call, kTrialNames[0]);
  for (const ReasoningForm tried :
       {ReasoningForm::kFields, ReasoningForm::kParts, ReasoningForm::kBlocks}) {
    const TrialAnswer answer = {.text = std::string(kSampleText),
                                .reasoning = std::string(kSampleReasoning)};
    const std::string with_text = part_of(answer, tried);
    const std::string with_call =
        tried == ReasoningForm::kFields
            ? part_of({.reasoning = answer.reasoning, .calls = {one_call()}})
            : std::string();
    const std::string_view to_text = between(with_text, kSampleReasoning, kSampleText),
                           to_call = between(with_call, kSampleReasoning, kTrialNames[0]);
    std::string_view end_mark = common_begin(to_text, to_call);
    if (is_blank(end_mark)) end_mark = to_text;
    if (is_blank(end_mark))
      end_mark = to_call.substr(0, to_call.size() - common_end(before_call, to_call).size());
    if (end_mark.ends_with(alike)) {
      const std::string_view shorter = end_mark.substr(0, end_mark.size() - alike.size());
      if (!is_blank(shorter)) end_mark = shorter;
    }
    // A template that knows no parts prints them as they are.
    if (is_blank(end_mark) || end_mark.find("type") != end_mark.npos) continue;
    form = tried;
    reasoning_end = end_mark;
    reasoning_begin = before(is_blank(to_text) ? with_call : with_text, kSampleReasoning);
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
  const std::string_view start = before(part, kSampleText);
  text_begin = start.substr(reasoning_length(start));
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

bool Turn::has_channels() const {
  const std::string part = part_of({.calls = {one_call()}});
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
