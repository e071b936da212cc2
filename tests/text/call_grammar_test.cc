// Grammars of calls: each of their texts comes back as calls with valid arguments.
#include "text/calls/call_grammar.h"

#include <random>

#include "text/calls/call_forms.h"
#include "text/calls_testing.h"
#include "text/channel_tokenizer.h"
#include "text/grammar/json_rules.h"
#include "text/grammar_sampling.h"
#include "text/grammar_testing.h"

namespace pando::testing {
namespace {

using calls::AnswerEvent;
using calls::CallFormat;
using calls::CallJson;
using calls::OfferedTools;

constexpr std::string_view kPlainTools = R"([
  {"type": "function", "function": {"name": "get-weather", "parameters": {"type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "deep": {"type": "boolean"}},
    "required": ["city"]}}},
  {"type": "function", "function": {"name": "list_files"}},
  {"type": "function", "function": {"name": "get_weather_of", "parameters": {"type": "object",
    "properties": {"when": {"type": "string", "format": "date"}}, "required": ["when"]}}}])";

constexpr std::string_view kRichTools = R"([
  {"type": "function", "function": {"name": "order", "parameters": {"type": "object",
    "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}, "s": {"type": "string"}},
                        "required": ["x", "s"], "additionalProperties": false}},
    "properties": {
      "kind": {"type": "string", "enum": ["red", "null", "12", "a b"]},
      "text": {"type": "string"},
      "short": {"type": "string", "minLength": 2, "maxLength": 4},
      "code": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$"},
      "maybe": {"type": ["string", "null"]},
      "mixed": {"type": ["string", "array", "boolean"], "items": {"type": "string"}, "maxItems": 2},
      "count": {"type": "integer", "minimum": -3, "maximum": 40},
      "ratio": {"anyOf": [{"type": "number"}, {"type": "null"}]},
      "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
      "at": {"$ref": "#/$defs/point"},
      "list": {"type": "array", "items": {"$ref": "#/$defs/point"}, "maxItems": 2},
      "level": {"enum": [1, 2.5, "high", null, ["x", "<y>"]]},
      "any": {"description": "anything"}},
    "required": ["text", "count", "at"]}}}])";

// No form but JSON has such conditions.
constexpr std::string_view kJoinedTools = R"([
  {"name": "choose", "parameters": {"type": "object", "anyOf": [
    {"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false},
    {"properties": {"b": {"type": "integer"}}, "required": ["b"], "additionalProperties": false}]}}])";

// <tool_call>, <function=NAME>, <parameter=KEY>VALUE</parameter>
CallFormat xml_format() {
  CallFormat format;
  format.is_known = true;
  format.body = calls::CallBody::kParameters;
  format.call_begin = "<tool_call>\n<function=";
  format.head = {{calls::HeadPiece::Kind::kName}, {calls::HeadPiece::Kind::kText, ">\n"}};
  format.parameter_begin = "<parameter=";
  format.value_begin = ">\n";
  format.parameter_end = "\n</parameter>\n";
  format.call_end = "</function>\n</tool_call>";
  format.separator = "\n";
  return format;
}

const grammar::Vocabulary& no_vocabulary() {
  static const grammar::Vocabulary vocabulary({"a"}, {});
  return vocabulary;
}

// One format and one list of tools.
class ReadBack {
 public:
  ReadBack(std::string name, const CallFormat& format, std::string_view json)
      : name_(std::move(name)), format_(format), tools_(offered(json)) {
    for (const OfferedTools::Tool& tool : tools_.all())
      valid_[tool.name] = compiled(grammar::from_json_schema(
          tool.parameters.is_null() ? R"({"type": "object"})" : tool.parameters.dump()));
  }

  void check(const CallOptions& options, int n_texts) {
    const auto made = calls::call_grammar(format_, tools_, options, no_vocabulary());
    ASSERT_TRUE(made.ok()) << name_ << ": " << made.error().message();
    const GrammarSampler sampler(**made);
    for (int i = 0; i < n_texts; ++i) {
      const std::string text = sampler.text(rng_, rng_() % 4 == 0 ? 300 : 60);
      ASSERT_TRUE(reads(*made, text)) << name_ << ": " << text;
      const auto events = events_of(format_, tools_, "", text, text.size());
      check_calls(events, options, text);
      EXPECT_EQ(parts_of(events_of(format_, tools_, "", text, 1)), parts_of(events))
          << name_ << ": " << text;
      if (::testing::Test::HasFailure()) return;
    }
  }

 private:
  void check_calls(const std::vector<AnswerEvent>& events, const CallOptions& options,
                   const std::string& text) {
    size_t n_calls = 0;
    std::string called;
    for (const AnswerEvent& event : events) switch (event.kind) {
        case AnswerEvent::Kind::kCallBegin:
          called = event.bytes;
          ++n_calls;
          EXPECT_TRUE(options.allowed.empty() || options.allowed[0] == called) << name_ << text;
          ASSERT_TRUE(tools_.has(called)) << name_ << ": " << called << " in " << text;
          break;
        case AnswerEvent::Kind::kArguments: {
          const auto arguments = calls::parse_value(event.bytes);
          ASSERT_TRUE(arguments && arguments->is_object()) << name_ << ": " << text;
          EXPECT_TRUE(reads(valid_[called], grammar::compact_text(*arguments)))
              << name_ << ": " << arguments->dump() << "\nof " << text;
          break;
        }
        case AnswerEvent::Kind::kCallEnd:
          break;
        default:
          ADD_FAILURE() << name_ << ": the text " << event.bytes << " in " << text;
      }
    EXPECT_GE(n_calls, 1u) << name_ << ": " << text;
    if (!options.parallel) {
      EXPECT_EQ(n_calls, 1u) << name_ << ": " << text;
    }
  }

  std::string name_;
  CallFormat format_;
  OfferedTools tools_;
  std::map<std::string, grammar::GrammarPtr> valid_;
  std::mt19937 rng_{7};
};

void check_format(const std::string& name, const CallFormat& format, int n_texts) {
  for (const std::string_view json : {kPlainTools, kRichTools, kJoinedTools}) {
    ReadBack back(name, format, json);
    back.check({.required = true}, n_texts);
    back.check({.required = true, .parallel = false}, n_texts);
    back.check({}, n_texts);
  }
  ReadBack(name, format, kPlainTools)
      .check({.required = true, .allowed = {"get-weather"}}, n_texts);
}

TEST(CallGrammar, TextsOfNamedFormatsComeBack) {
  for (const char* name : {"json", "hermes", "pythonic", "harmony", "kimi"})
    check_format(name, *calls::call_format_named(name), 60);
}

TEST(CallGrammar, TextsOfPublishedTemplatesComeBack) {
  const std::filesystem::path folder = PANDO_SHARED_DATA "/chat-templates";
  if (!is_there(folder)) GTEST_SKIP() << folder << " does not exist";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    const auto text = read_text_file(file.path());
    ASSERT_TRUE(text.ok()) << text.error().message();
    const auto chat =
        ChatTemplate::from_text(*text, name, {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    ASSERT_TRUE(chat.ok()) << chat.error().message();
    check_format(name, calls::learn_calls(*chat), 20);
  }
}

// Values of a format's own form, not of the JSON that stands in for it.
TEST(CallGrammar, ParametersAreWrittenAsTheFormatDoes) {
  const CallFormat format = xml_format();
  const auto grammar = compiled(
      calls::call_grammar(format, offered(kPlainTools), {.required = true}, no_vocabulary()));
  const std::string head = "<tool_call>\n<function=get-weather>\n",
                    city = "<parameter=city>\nSão \"Paulo\" <3\n</parameter>\n",
                    days = "<parameter=days>\n3\n</parameter>\n", end = "</function>\n</tool_call>";
  expect_reads(
      grammar,
      {head + city + end, head + city + days + end,
       head + city + end + "\n" + "<tool_call>\n<function=list_files>\n" + end},
      {head + end, head + days + end, head + days + city + end,
       head + "<parameter=city>\nx\n</parameter>\n<parameter=days>\nx\n</parameter>\n" + end,
       "<tool_call>\n<function=other>\n" + end, "Sure. " + head + city + end});
  check_format("parameters", format, 60);
}

// A mask has the tokens that are accepted one by one.
TEST(CallGrammar, MasksAreWhatIsAccepted) {
  std::vector<std::string> pieces;
  for (int byte = 0; byte < 255; ++byte) pieces.emplace_back(1, static_cast<char>(byte));
  for (const char* piece :
       {"\")", "\", ", "\"}", "\",\"", "\": ", ", ", "</par", "</parameter>\n", ">\n", "\n<", "<a",
        "x</", "\\\"", "12", "1.5", "):", "\xFF<tool_call>", "\xFF</tool_call>", ""})
    pieces.emplace_back(piece);
  const auto end = static_cast<Token>(pieces.size() - 1);
  const auto store = std::make_shared<grammar::MaskStore>(
      std::make_shared<const grammar::Vocabulary>(pieces, std::vector<Token>{end}));
  std::mt19937 rng(3);
  for (const CallFormat& format :
       {xml_format(), *calls::call_format_named("pythonic"), *calls::call_format_named("hermes")}) {
    const auto grammar = compiled(
        calls::call_grammar(format, offered(kRichTools), {.required = true}, store->vocabulary()));
    const auto table = std::make_shared<const grammar::MaskTable>(grammar, store);
    const GrammarSampler sampler(*grammar);
    for (int i = 0; i < 4; ++i) {
      grammar::Matcher matcher(table);
      for (const char byte : sampler.text(rng, 120)) {
        std::vector<uint64_t> bits(store->vocabulary().n_mask_words());
        ASSERT_TRUE(matcher.mask(bits).ok());
        for (size_t token = 0; token < pieces.size(); ++token)
          ASSERT_EQ(bits[token / 64] >> (token % 64) & 1,
                    grammar::Matcher(matcher).accept(static_cast<Token>(token)).ok())
              << pieces[token];
        ASSERT_TRUE(matcher.accept(std::string_view(&byte, 1)));
      }
      EXPECT_TRUE(matcher.can_end());
    }
  }
}

TEST(CallGrammar, SpecialTokensStandAsThemselves) {
  const auto tokenizer = load_json(channel_tokenizer_json());
  const grammar::Vocabulary vocabulary(*tokenizer);
  EXPECT_EQ(vocabulary.bytes(258), "\xFF<|message|>");
  EXPECT_EQ(vocabulary.bytes(0xFF), "");
  EXPECT_EQ(vocabulary.spelled("a<|end|><|x|>"), "a\xFF<|end|><|x|>");
  const auto grammar = compiled(calls::call_grammar(
      *calls::call_format_named("harmony"), offered(kPlainTools), {.required = true}, vocabulary));
  const std::string rest = R"({"city":"Oslo"})";
  expect_reads(
      grammar,
      {"\xFF<|channel|>commentary to=functions.get-weather \xFF<|constrain|>json\xFF<|message|>" +
           rest,
       "\xFF<|start|>assistant to=functions.get-weather\xFF<|channel|>commentary\xFF<|message|>" +
           rest,
       "\xFF<|channel|>analysis\xFF<|message|>\xFF<|start|>assistant\xFF<|channel|>commentary "
       "to=functions.get-weather\xFF<|message|>" +
           rest},
      {"<|channel|>commentary to=functions.get-weather<|message|>" + rest});
  EXPECT_FALSE(reads(compiled(grammar::from_any_json(false)), "\"\xFF<|message|>\""));
}

TEST(CallGrammar, WhatCannotBeKeptIsRefused) {
  const OfferedTools tools = offered(R"([{"name": "a"}, {"function": {"name": "b", "parameters":
      {"properties": {"x": {"type": "array", "uniqueItems": true}}}}}])");
  const CallFormat hermes = *calls::call_format_named("hermes");
  for (const CallOptions& options : {CallOptions{.required = true}, CallOptions{.strict = true}}) {
    const auto refused = calls::call_grammar(hermes, tools, options, no_vocabulary());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(refused.error().place.field, "tools[1].function.parameters");
    EXPECT_NE(refused.error().message().find("uniqueItems"), std::string::npos)
        << refused.error().message();
  }
  const auto any = compiled(calls::call_grammar(hermes, tools, {}, no_vocabulary()));
  expect_reads(any,
               {"<tool_call>\n{\"name\": \"b\", \"arguments\": {\"y\": [1, 1]}}\n</tool_call>"},
               {"<tool_call>\n{\"name\": \"c\", \"arguments\": {}}\n</tool_call>"});
}

TEST(CallGrammar, ANameThatCannotBeWrittenIsRefused) {
  const OfferedTools tools = offered(R"([{"name": "a"}, {"name": "b c"}])");
  const auto refused =
      calls::call_grammar(*calls::call_format_named("hermes"), tools, {}, no_vocabulary());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().place.field, "tools[1].function.name");
}

TEST(CallForms, WithoutAGrammarAreNotEnforced) {
  const auto tokenizer = load_json(channel_tokenizer_json());
  grammar::FormCache forms(*tokenizer);
  calls::CallForms call_forms(&forms, *calls::call_format_named("hermes"));
  Request request;
  request.chat.tools = JsonValue::parse(R"([{"name": "a"}, {"name": "b c"}])").value();
  const calls::CallFormPtr form = call_forms.get(request).value();
  ASSERT_NE(form, nullptr);
  EXPECT_EQ(form->masks, nullptr);
}

TEST(CallForms, AreSharedAndChecked) {
  const auto tokenizer = load_json(channel_tokenizer_json());
  grammar::FormCache forms(*tokenizer);
  calls::CallForms call_forms(&forms, *calls::call_format_named("hermes"));
  Request request;
  EXPECT_EQ(*call_forms.get(request), nullptr);
  request.calling.required = true;
  EXPECT_EQ(call_forms.get(request).error().place.field, "tool_choice");
  request.chat.tools = JsonValue::parse(kPlainTools).value();
  const calls::CallFormPtr first = call_forms.get(request).value();
  ASSERT_NE(first, nullptr);
  ASSERT_NE(first->masks, nullptr);
  request.chat.tools = JsonValue::parse(kPlainTools).value();
  EXPECT_EQ(call_forms.get(request).value(), first);
  EXPECT_EQ(call_forms.n_kept(), 1u);
  request.calling.allowed = {"list_files"};
  EXPECT_NE(call_forms.get(request).value(), first);
  request.calling.allowed = {"unknown"};
  EXPECT_EQ(call_forms.get(request).error().code, ErrorCode::kInvalidArgument);
  request.calling.allowed.clear();
  request.sampling.form = {.kind = TextForm::Kind::kRegex, .text = "a"};
  EXPECT_EQ(call_forms.get(request).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace pando::testing
