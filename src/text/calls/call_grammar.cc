#include "text/calls/call_grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/errors.h"
#include "base/json.h"
#include "text/calls/answer_marks.h"
#include "text/calls/call_arguments.h"
#include "text/calls/call_reader.h"

namespace pando::calls {
namespace {

class CallGrammar {
 public:
  CallGrammar(const CallFormat& format, const OfferedTools& tools, const CallOptions& options,
              const grammar::Vocabulary& vocabulary)
      : format_(format),
        tools_(tools),
        options_(options),
        vocabulary_(vocabulary),
        builder_(json_style_of(format)),
        writer_(&builder_, &vocabulary),
        arguments_(format, tools, &builder_, writer_) {}

  Result<grammar::GrammarPtr> make();

 private:
  using State = grammar::Builder::State;
  using Rule = grammar::Builder::Rule;
  struct Callable {
    std::string name;
    ArgumentRules::Rules arguments;
  };

  Status add_tool(const OfferedTools::Tool& tool);
  bool is_writable(std::string_view name) const;

  // All calls of an answer.
  void add_section(State from, State to);
  // Rules of one call: the whole, and what stands behind its first mark.
  void add_call_rules();
  State head(State from, const std::string& name);
  State body(State from, const Callable& tool);
  State channel_call(State from, const Callable& tool);
  // The beginning of a message with reasoning. The reasoning and its end are no part of the text.
  void add_reasoning(State at);
  // An object with name and arguments.
  State object(State from, const Callable& tool, const CallFormat& keys);
  // The rest of an object as small models write it, behind its head.
  State object_rest(State from, const Callable& tool);
  void add_objects(State from, State to);
  void add_entries(State from, State to);

  const CallFormat& format_;
  const OfferedTools& tools_;
  const CallOptions& options_;
  const grammar::Vocabulary& vocabulary_;
  grammar::Builder builder_;
  MarkWriter writer_;
  ArgumentRules arguments_;
  std::vector<Callable> callable_;
  Rule call_ = 0, behind_mark_ = 0;
};

Result<grammar::GrammarPtr> CallGrammar::make() {
  const Rule root = builder_.add_rule();
  for (const OfferedTools::Tool& tool : tools_.all())
    if (Status status = add_tool(tool); !status) return status.error();
  if (callable_.empty()) return invalid_argument("no tool may be called, expected at least one");
  const bool by_format =
      format_.is_known && std::ranges::all_of(callable_, [](const Callable& tool) {
        return tool.arguments.own.has_value();
      });
  if (by_format) add_call_rules();
  const State start = builder_.start(root), end = builder_.end(root);
  if (!options_.required) {
    if (by_format) add_entries(start, end);
    if (by_format && format_.name_key.empty()) return builder_.finish();  // it knows no key "name"
    for (const Callable& tool : callable_)
      builder_.empty(object_rest(builder_.text(start, head_of_object(tool.name)), tool), end);
    return builder_.finish();
  }
  const State begin = writer_.space(writer_.space(start, "\n"), "\n");
  if (by_format && format_.body == CallBody::kChannel) add_reasoning(begin);
  if (by_format)
    add_section(begin, end);
  else
    add_objects(begin, end);
  return builder_.finish();
}

bool CallGrammar::is_writable(std::string_view name) const {
  if (!is_call_name(name)) return false;
  if (format_.body == CallBody::kPythonic && name[0] >= '0' && name[0] <= '9') return false;
  for (size_t i = 0; i + 1 < format_.head.size(); ++i)
    if (const std::string_view behind = trimmed(format_.head[i + 1].text);
        format_.head[i].kind == HeadPiece::Kind::kName && !behind.empty() &&
        name.find(behind) != name.npos)
      return false;
  return true;
}

Status CallGrammar::add_tool(const OfferedTools::Tool& tool) {
  const auto& allowed = options_.allowed;
  if (!allowed.empty() && std::ranges::find(allowed, tool.name) == allowed.end()) return {};
  if (std::ranges::find(callable_, tool.name, &Callable::name) != callable_.end()) return {};
  const bool must_hold = options_.required || options_.strict;
  const std::string place = place_in("tools", tool.index) + ".function";
  if (!is_writable(tool.name))
    return invalid_field(place + ".name",
                         "is {}, expected up to 128 letters, digits and characters of '_-.'",
                         json_text(tool.name));
  const std::string field = place + ".parameters";
  Result<ArgumentRules::Rules> rules = arguments_.add(tool);
  if (!rules && must_hold) return blame(field, in_file(field, rules.error()));
  if (!rules) rules = arguments_.any_object();
  if (options_.strict && !options_.required && format_.is_known && !rules->own)
    return blame(field,
                 in_file(field, unsupported("the form in which the model writes calls cannot "
                                            "keep to the schema")));
  callable_.push_back({tool.name, *rules});
  return {};
}

CallGrammar::State CallGrammar::head(State from, const std::string& name) {
  for (const HeadPiece& piece : format_.head) switch (piece.kind) {
      case HeadPiece::Kind::kText:
        // White space that ends a name must stand.
        from = is_call_name(trimmed(piece.text).substr(0, 1)) ? writer_.text(from, piece.text)
                                                              : writer_.mark(from, piece.text);
        break;
      case HeadPiece::Kind::kName:
        from = builder_.text(from, name);
        break;
      case HeadPiece::Kind::kId: {
        // A number, or nine letters and digits.
        const grammar::CharSet digits({{'0', '9'}}), letters({{'a', 'z'}, {'A', 'Z'}});
        const grammar::Regex number = grammar::repeat(grammar::of_set(digits), 1, 3),
                             any = grammar::repeat(grammar::of_set(digits.with(letters)), 9, 9);
        from =
            builder_.regex(from, format_.ids_have_names ? number : grammar::one_of({number, any}),
                           grammar::Encoding::kUtf8);
        break;
      }
    }
  return from;
}

CallGrammar::State CallGrammar::object(State from, const Callable& tool, const CallFormat& keys) {
  const auto member = [&](State at, const std::string& key) {
    return writer_.separator(builder_.text(at, json_text(key)), ':');
  };
  State at = builder_.text(from, "{");
  for (const std::string& wrapper : keys.wrappers) at = builder_.text(member(at, wrapper), "{");
  if (keys.name_key.empty()) {
    at = member(at, tool.name);
  } else {
    at = builder_.text(member(at, keys.name_key), json_text(tool.name));
    at = member(writer_.separator(at, ','), keys.arguments_key);
  }
  const State behind = builder_.state();
  builder_.call(at, tool.arguments.json, behind);
  return builder_.text(behind, std::string(keys.wrappers.size() + 1, '}'));
}

void CallGrammar::add_reasoning(State at) {
  // Without special tokens a model knows no channels.
  if (vocabulary_.spelled(format_.reasoning_begin) == format_.reasoning_begin) return;
  const State begin = builder_.state();
  builder_.empty(at, begin);
  builder_.empty(writer_.text(at, "<|start|>assistant"), begin);
  builder_.empty(writer_.text(begin, format_.reasoning_begin), at);
}

CallGrammar::State CallGrammar::channel_call(State from, const Callable& tool) {
  const std::string to = "to=functions." + tool.name;
  const State begin = builder_.state(), header = builder_.state(), message = builder_.state();
  builder_.empty(from, begin);
  builder_.empty(writer_.text(from, "<|start|>assistant"), begin);
  builder_.empty(writer_.text(begin, "<|channel|>commentary " + to), header);
  builder_.empty(writer_.text(writer_.space(begin, " "), to + "<|channel|>commentary"), header);
  builder_.empty(header, message);
  builder_.empty(writer_.text(writer_.space(header, " "), "<|constrain|>json"), message);
  const State behind = builder_.state();
  builder_.call(writer_.text(message, "<|message|>"), tool.arguments.json, behind);
  return behind;
}

CallGrammar::State CallGrammar::body(State from, const Callable& tool) {
  const State behind = builder_.state();
  switch (format_.body) {
    case CallBody::kObject:
      return object(from, tool, format_);
    case CallBody::kChannel:
      return channel_call(from, tool);
    case CallBody::kPythonic:
      builder_.call(builder_.text(from, tool.name + "("), *tool.arguments.own, behind);
      return builder_.text(behind, ")");
    case CallBody::kLoose:
      builder_.call(builder_.text(head(from, tool.name), "{"), *tool.arguments.own, behind);
      return builder_.text(behind, "}");
    default:
      builder_.call(head(from, tool.name), *tool.arguments.own, behind);
      return behind;
  }
}

void CallGrammar::add_call_rules() {
  const bool has_marks = format_.body != CallBody::kChannel;
  behind_mark_ = builder_.add_rule();
  const State done = builder_.state();
  for (const Callable& tool : callable_)
    builder_.empty(body(builder_.start(behind_mark_), tool), done);
  const std::string_view end =
      has_marks ? trimmed_right(vocabulary_.before_end(format_.call_end)) : std::string_view();
  builder_.empty(writer_.mark(done, end), builder_.end(behind_mark_));
  call_ = builder_.add_rule();
  const State start = builder_.start(call_);
  builder_.call(has_marks ? writer_.mark(start, format_.call_begin) : start, behind_mark_,
                builder_.end(call_));
}

void CallGrammar::add_section(State from, State to) {
  if (format_.body == CallBody::kChannel) return builder_.call(from, call_, to);
  const State begin = builder_.state(), done = builder_.state();
  builder_.empty(writer_.mark(from, format_.section_begin), begin);
  builder_.call(begin, call_, done);
  if (vocabulary_.before_end(format_.call_end) != format_.call_end) return builder_.empty(done, to);
  const std::string_view end = format_.call_end;
  const State behind = writer_.space(done, end.substr(trimmed_right(end).size()));
  const bool can_follow =
      !is_blank(format_.call_begin) || format_.is_list || !is_blank(format_.separator);
  if (options_.parallel && can_follow)
    builder_.empty(writer_.mark(behind, format_.separator), begin);
  const std::string_view last = trimmed_right(vocabulary_.before_end(format_.section_end));
  builder_.empty(is_blank(last) ? done : writer_.mark(behind, last), to);
}

void CallGrammar::add_objects(State from, State to) {
  const CallFormat usual;
  const auto add = [&](State at, State behind) {
    for (const Callable& tool : callable_) builder_.empty(object(at, tool, usual), behind);
  };
  add(from, to);
  if (!options_.parallel) return;
  const State begin = builder_.state(), behind = builder_.state();
  builder_.empty(builder_.text(from, "["), begin);
  add(begin, behind);
  builder_.separator(behind, ',', begin);
  builder_.bytes(behind, ']', ']', to);
}

CallGrammar::State CallGrammar::object_rest(State from, const Callable& tool) {
  constexpr uint32_t kMostSpace = 16;
  const auto space = [&](State at) {
    const grammar::CharSet all({{' ', ' '}, {'\t', '\n'}});
    return builder_.regex(at, grammar::repeat(grammar::of_set(all), 0, kMostSpace),
                          grammar::Encoding::kUtf8);
  };
  const State key = space(builder_.text(space(from), ",")), colon = builder_.state();
  for (const char* name : {"\"arguments\"", "\"parameters\""})
    builder_.empty(builder_.text(key, name), colon);
  const State behind = builder_.state();
  builder_.call(space(builder_.text(space(colon), ":")), tool.arguments.json, behind);
  return builder_.text(space(behind), "}");
}

// Entries at each mark by which CallParser knows a call of the format.
void CallGrammar::add_entries(State from, State to) {
  if (format_.body == CallBody::kChannel || !is_blank(format_.section_begin)) add_section(from, to);
  if (format_.body == CallBody::kChannel || is_blank(format_.call_begin)) return;
  if (is_blank(format_.section_begin) && format_.is_list) return add_section(from, to);
  builder_.call(from, call_, to);
  const std::string_view begin = trimmed_left(format_.call_begin);
  if (const size_t line = trimmed_right(begin).rfind('\n');
      line != begin.npos && begin[line + 1] == '<')
    builder_.call(writer_.mark(from, begin.substr(line + 1)), behind_mark_, to);
}

}  // namespace

Result<grammar::GrammarPtr> call_grammar(const CallFormat& format, const OfferedTools& tools,
                                         const CallOptions& options,
                                         const grammar::Vocabulary& vocabulary) {
  return CallGrammar(format, tools, options, vocabulary).make();
}

}  // namespace pando::calls
