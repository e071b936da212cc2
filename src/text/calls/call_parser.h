// Takes an answer apart while it comes in: reasoning, text and tool calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/calls/answer_marks.h"
#include "text/calls/call_format.h"
#include "text/calls/call_reader.h"
#include "text/calls/offered_tools.h"

namespace pando::calls {

struct AnswerEvent {
  enum class Kind {
    kText,       // bytes of the answer's text
    kReasoning,  // bytes of the reasoning
    kCallBegin,  // a call with this name
    kArguments,  // bytes of the call's arguments, a JSON object
    kCallEnd,
  };
  Kind kind;
  std::string bytes = {};  // of kCallBegin: the name
  std::string id = {};     // of kCallBegin: as the model wrote it; empty if it wrote none

  bool operator==(const AnswerEvent&) const = default;
};

// A call that has begun and not ended.
struct BegunCall {
  size_t n_bytes;         // last bytes of the answer so far that belong to it
  std::string head = {};  // text that stands before them in its grammar (call_grammar.h)
};

// For one answer, on one thread. The joined events do not depend on how the answer is cut into
// pieces. Bytes that may begin a mark or a call are held back until they are decided. A call that
// turns out to be broken comes back as text. White space before and behind calls and reasoning is
// left out.
class CallParser {
 public:
  // Borrows the tools; without any, only reasoning is taken apart. `prompt`: its end may hold the
  // beginning of the answer, such as "<think>".
  CallParser(const CallFormat& format, const OfferedTools& tools, std::string_view prompt = {});

  std::vector<AnswerEvent> feed(std::string_view bytes);
  std::vector<AnswerEvent> finish();  // at the end of the answer
  // Says that the next bytes end a call, which may be long.
  void expect_end() {
    tried_ = 0;
    may_end_ = true;
  }

  bool in_reasoning() const { return state_ == State::kReasoning; }
  // True if the answer may be inside a call.
  bool waits_for_call() const { return waits_for_call_; }
  // Bytes of the prompt's end that may begin a call.
  std::string_view held_of_prompt() const {
    return std::string_view(held_).substr(0, n_of_prompt_);
  }
  // The open call, once its first mark or its object's name was read. Nothing once it is long.
  std::optional<BegunCall> begun_call() const;

 private:
  enum class State {
    kText,
    kReasoning,
    kBetweenCalls,  // behind a call, where others may follow
  };

  void run();
  bool step();  // false: more text is needed
  bool step_text();
  bool step_reasoning();
  bool step_between_calls();

  // The place from at_ where marks begin, or may begin; the end of held_ if there is none.
  size_t find_marks(std::vector<const Mark*>& marks, bool& needs_more) const;
  Read take(const Mark& mark);
  Read take_call(const Mark& mark);
  Read take_channel();
  Read take_turn_end(const Mark& mark);
  // An object of a call at the beginning of an answer, bare or in a code fence.
  Read take_bare();
  Read read_next_call(Scan& scan, ReadCall& call) const;
  std::optional<BegunCall> begun_by_mark(const Mark& mark) const;
  // True if the mark may begin another mark that encloses a text.
  bool may_be_frame(const Mark& mark) const;
  // The object after `at`, if its name was read and nothing after the name ends the object.
  std::optional<BegunCall> begun_object(Scan at) const;

  Scan scan_held() const { return {.text = held_, .at = at_, .is_final = is_final_}; }
  void advance(size_t to);
  void emit_until(AnswerEvent::Kind kind, size_t end);
  void emit_call(ReadCall call);
  void begin_part(State state);

  const CallFormat format_;
  const OfferedTools& tools_;
  const std::vector<Mark> marks_;
  const std::vector<std::string> marks_behind_;

  State state_ = State::kText;
  std::string held_;  // bytes from at_ are not decided
  size_t at_ = 0;
  size_t n_of_prompt_ = 0;  // of the bytes from at_, those that the prompt had: they are no text
  bool is_final_ = false;
  bool waits_for_call_ = false;  // held_ begins a call
  size_t begun_at_ = 0;          // it begins here in held_
  size_t tried_ = 0;             // size of held_ when it was last looked at
  bool may_end_ = false;         // a character has come since then that can end a call
  bool has_text_ = false;        // a text besides white space has come
  bool has_calls_ = false;
  bool is_bare_ = true;       // the answer may still be the object of a call
  bool by_format_ = false;    // the last call was in the format, not as small models write it
  bool in_fence_ = false;     // the last call stands in a code fence
  bool drops_space_ = false;  // before the next words
  std::string space_;         // behind the last words
  std::vector<AnswerEvent> events_;
};

}  // namespace pando::calls
