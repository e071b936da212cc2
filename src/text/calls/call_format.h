// How a model writes reasoning, text and tool calls: a plain value, from which streams are read and
// grammars can be made.
//
// An answer is
//   [reasoning_begin REASONING reasoning_end] [text_begin TEXT text_end]
//   section_begin CALL (separator CALL)* section_end
// and a call is
//   call_begin BODY call_end
// White space at both ends of a mark is what the template writes. Readers take any there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/result.h"
#include "text/chat/chat_template.h"

namespace pando::calls {

// Forms of the text between call_begin and call_end.
enum class CallBody {
  kObject,      // a JSON object with name and arguments
  kJson,        // head, then the arguments as a JSON object
  kParameters,  // head, then each argument between marks, its value as text
  kNested,      // the same, with objects and lists as marks inside each other
  kLoose,       // head, then an object with bare keys and its own quotes
  kPythonic,    // NAME(KEY=VALUE, ...)
  kChannel,     // a message to a function, in the channels of gpt-oss
};

// A piece of what stands before the arguments.
struct HeadPiece {
  enum class Kind { kText, kName, kId };
  Kind kind;
  std::string text = {};  // of kText

  bool operator==(const HeadPiece&) const = default;
};

struct CallFormat {
  bool is_known = false;  // false: calls are only read as small models write them
  CallBody body = CallBody::kObject;

  std::string section_begin, section_end;  // around all calls; may be empty
  std::string call_begin, call_end;        // around each call; may be empty
  std::string separator;
  bool is_list = false;  // the calls are a list in brackets, which stand in the marks

  // kObject. The path to the object that has name and arguments, usually empty; then their keys. An
  // empty name_key: the name is the only key, and the arguments are its value.
  std::vector<std::string> wrappers;
  std::string name_key = "name", arguments_key = "arguments", id_key = {};

  // All but kObject and kPythonic: the name, possibly an id, and the texts around them.
  std::vector<HeadPiece> head;
  // The template writes the id of a call instead of its name: "functions.NAME:NUMBER".
  bool ids_have_names = false;

  // kParameters, kNested: an argument is parameter_begin KEY value_begin VALUE parameter_end.
  std::string parameter_begin, value_begin, parameter_end;
  // Stands for value_begin before values that are JSON, if a template tells them from texts.
  std::string json_value_begin;
  // kNested: an argument is parameter_begin KEY value_begin VALUE parameter_end KEY value_begin.

  std::string quote;  // kLoose: around texts

  std::string reasoning_begin, reasoning_end;
  std::string text_begin, text_end;  // around a text without calls, if a template marks texts
  // Around the whole message: between the user's text and the answer, and behind an answer. What
  // stands behind calls may be another text.
  std::string turn_begin, turn_end, turn_end_behind_calls;
  // Ends that prompts may have behind the beginning of the answer's message, the longest first: a
  // part of the answer that the model goes on with, such as "<think>\n".
  std::vector<std::string> prompt_ends;

  // Answers that the template was seen to render, and that were read back.
  bool renders_parallel = false;       // two calls
  bool renders_text_and_call = false;  // a text before a call
  bool renders_reasoning = false;      // reasoning before a text or a call

  bool operator==(const CallFormat&) const = default;

  // The part of the answer that the prompt's end holds.
  std::string_view begun_by(std::string_view prompt) const;
};

// Formats that can be forced. "json" is that of small models.
inline constexpr std::string_view kCallFormatNames[] = {"json", "hermes", "pythonic", "harmony",
                                                        "kimi"};
// kInvalidArgument for other names.
Result<CallFormat> call_format_named(std::string_view name);
// The one of them whose marks stand in a template that cannot render calls.
std::optional<CallFormat> call_format_in(const ChatTemplate& chat);

}  // namespace pando::calls
