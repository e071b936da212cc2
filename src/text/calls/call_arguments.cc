#include "text/calls/call_arguments.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/json.h"
#include "base/json_value.h"
#include "text/grammar/json_rules.h"
#include "text/grammar/schema_facts.h"

namespace pando::calls {
namespace {

using grammar::CharDfa;
using grammar::CharSet;
using grammar::Parts;
using grammar::Regex;
using grammar::SchemaFacts;

// Types whose values can also be the text of a string.
struct TypePair {
  grammar::Type of_schema;
  TypeBits of_parser;
};
constexpr TypePair kToldFromTexts[] = {
    {grammar::kNull, kNull}, {grammar::kArray, kList}, {grammar::kObject, kObject}};

// Objects have no names but the listed ones, unless the schema says something of others.
CallJson closed(CallJson schema) {
  if (schema.is_null()) schema = {{"properties", CallJson::object()}};
  constexpr const char* kOpens[] = {"additionalProperties",
                                    "patternProperties",
                                    "$ref",
                                    "allOf",
                                    "anyOf",
                                    "oneOf",
                                    "if",
                                    "dependentSchemas",
                                    "dependencies",
                                    "unevaluatedProperties"};
  const auto properties = schema.is_object() ? schema.find("properties") : schema.end();
  if (!schema.is_object() || properties == schema.end() || !properties->is_object()) return schema;
  for (const char* name : kOpens)
    if (schema.contains(name)) return schema;
  if (const auto required = schema.find("required");
      required != schema.end() && required->is_array())
    for (const CallJson& name : *required)
      if (name.is_string() && !properties->contains(name.get_ref<const std::string&>()))
        return schema;
  schema["additionalProperties"] = false;
  return schema;
}

// True if every value is valid.
bool allows_all(const Parts& parts) {
  return std::ranges::all_of(parts, [](grammar::Node part) {
    if (!part->is_object()) return *part == true;
    return std::ranges::none_of(part->items(),
                                [](const auto& item) { return grammar::is_fact(item.key()); });
  });
}

// A text that ends as it begins may begin inside the text before it.
bool ends_as_it_begins(std::string_view text) { return begun_at_end(text, text) > 0; }

Regex search_of(const std::vector<std::string_view>& texts) {
  std::vector<Regex> all;
  for (const std::string_view text : texts) all.push_back(grammar::of_text(text));
  return grammar::one_of(std::move(all));
}

// Texts that a reader takes for a value that is no string.
Regex other_values(unsigned types) {
  const Regex space =
      grammar::repeat(grammar::of_set(CharSet({{' ', ' '}, {'\t', '\n'}, {'\r', '\r'}})), 0);
  std::vector<Regex> all;
  if ((types & (kList | kObject)) != 0)
    all.push_back(
        grammar::sequence({space, grammar::of_set(CharSet({{'(', '('}, {'[', '['}, {'{', '{'}})),
                           grammar::repeat(grammar::of_set(CharSet::all()), 0)}));
  if ((types & kNull) != 0)
    for (const char* word : {"null", "None"})
      all.push_back(grammar::sequence({space, grammar::of_text(word), space}));
  return grammar::one_of(std::move(all));
}

}  // namespace

grammar::JsonStyle json_style_of(const CallFormat& format) {
  grammar::JsonStyle style{.has_short_numbers = true};
  if (!format.is_known) return style;
  const auto escape_first_of = [&](std::string_view mark) {
    if (const std::u32string all = grammar::characters_of(trimmed(mark)); !all.empty())
      style.escaped = style.escaped.with(CharSet::one(all.front()));
  };
  switch (format.body) {
    case CallBody::kParameters:
      escape_first_of(format.parameter_end);
      break;
    case CallBody::kNested:
      escape_first_of(format.parameter_begin);
      escape_first_of(format.parameter_end);
      break;
    case CallBody::kLoose:
      escape_first_of(format.quote);
      break;
    case CallBody::kPythonic:
      break;
    default:
      return style;
  }
  style.shares_strings = false;
  return style;
}

bool ArgumentRules::is_json() const {
  return format_.body == CallBody::kObject || format_.body == CallBody::kJson ||
         format_.body == CallBody::kChannel;
}

Result<ArgumentRules::Rules> ArgumentRules::add(const OfferedTools::Tool& tool) {
  auto document = grammar::SchemaDocument::of(json_value(closed(tool.parameters)));
  if (!document) return std::move(document).error();
  grammar::SchemaCompiler compiler(document->get(), &builder_);
  const grammar::Node root = (*document)->root();
  const Parts object{root, (*document)->made(root, "\x01object", [] {
                       return CallJson{{"type", "object"}};
                     })};
  Rules rules{compiler.rule_of(object), std::nullopt};
  if (Status status = compiler.fill_rules(); !status) return status.error();
  if (!builder_.has_text()[rules.json]) {
    const std::string places = compiler.conflict(object);
    return invalid_argument("no object fits the schema{}{}", places.empty() ? "" : ": ", places);
  }
  if (!format_.is_known) return rules;
  if (is_json()) {
    rules.own = rules.json;
    return rules;
  }
  rules.own = add_own({tool, **document, compiler}, object);
  if (!compiler.fill_rules() || !rules.own || !builder_.has_text()[*rules.own]) rules.own.reset();
  return rules;
}

ArgumentRules::Rules ArgumentRules::any_object() {
  if (!any_object_) {
    const Rule value = builder_.add_rule();
    grammar::add_any_value(&builder_, value);
    any_object_ = builder_.add_rule();
    grammar::add_any_object(&builder_, builder_.start(*any_object_), builder_.end(*any_object_),
                            value);
  }
  return {*any_object_, format_.is_known && is_json() ? any_object_ : std::nullopt};
}

std::vector<std::string_view> ArgumentRules::barred() const {
  switch (format_.body) {
    case CallBody::kParameters:
      return {trimmed(format_.parameter_end)};
    case CallBody::kNested:
      return {trimmed(format_.parameter_begin), trimmed(format_.parameter_end)};
    case CallBody::kLoose:
      return {format_.quote};
    default:
      return {};
  }
}

bool ArgumentRules::can_write_key(std::string_view key) const {
  const auto has_any = [&](std::string_view characters) {
    return key.find_first_of(characters) != key.npos;
  };
  if (key.empty() || trimmed(key) != key || key.size() > 128 || has_any("\n\r")) return false;
  switch (format_.body) {
    case CallBody::kPythonic:
      return !has_any(" \t") && (key[0] < '0' || key[0] > '9') &&
             std::ranges::all_of(key, [](char c) {
               return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                      (c >= 'A' && c <= 'Z');
             });
    case CallBody::kLoose:
      return !has_any(":,{}[]\"'") && key.find(format_.quote) == key.npos;
    default:
      return key.find(trimmed(format_.value_begin)) == key.npos &&
             (trimmed(format_.json_value_begin).empty() ||
              key.find(trimmed(format_.json_value_begin)) == key.npos);
  }
}

ArgumentRules::ValueMarks ArgumentRules::marks_of(std::string_view key) const {
  switch (format_.body) {
    case CallBody::kParameters: {
      const bool tells = !format_.json_value_begin.empty();
      return {format_.value_begin, format_.parameter_end,
              tells ? format_.json_value_begin : format_.value_begin, format_.parameter_end, tells};
    }
    case CallBody::kNested: {
      const std::string begin(trimmed(format_.value_begin));
      const std::string end =
          std::string(trimmed(format_.parameter_end)) + std::string(key) + begin;
      return {begin, end, begin, end, false};
    }
    case CallBody::kLoose:
      return {":" + format_.quote, format_.quote, ":", "", true};
    default:
      return {"=", "", "=", "", false};
  }
}

std::optional<ArgumentRules::Rule> ArgumentRules::add_own(Schema schema, const Parts& object) {
  const std::string written = json_text(schema.tool.parameters);
  for (const std::string_view mark : barred())
    if (mark.size() < 2 || ends_as_it_begins(mark) || written.find(mark) != written.npos)
      return std::nullopt;
  const auto members = schema.compiler.members_of(object);
  if (!members) return std::nullopt;
  const Rule all = builder_.add_rule();
  State none = builder_.start(all), some = builder_.state();  // all or none was written so far
  for (const Property& member : *members) {
    const std::optional<Rule> rule = add_member(schema, member);
    if (!rule) return std::nullopt;
    const State next_none = builder_.state(), next_some = builder_.state();
    builder_.call(none, *rule, next_some);
    const State behind = format_.body == CallBody::kPythonic ? writer_.separator(some, ',')
                         : format_.body == CallBody::kLoose  ? writer_.text(some, ",")
                                                             : some;
    builder_.call(behind, *rule, next_some);
    if (!member.is_required) {
      builder_.empty(none, next_none);
      builder_.empty(some, next_some);
    }
    none = next_none;
    some = next_some;
  }
  builder_.empty(none, builder_.end(all));
  builder_.empty(some, builder_.end(all));
  return all;
}

std::optional<ArgumentRules::Rule> ArgumentRules::add_member(Schema schema,
                                                             const Property& member) {
  if (!can_write_key(member.name)) return std::nullopt;
  const Rule rule = builder_.add_rule();
  State at = builder_.start(rule);
  if (format_.body == CallBody::kParameters || format_.body == CallBody::kNested)
    at = writer_.mark(at, format_.parameter_begin);
  at = writer_.text(at, member.name);
  if (!add_value(schema, member, at, builder_.end(rule))) return std::nullopt;
  return rule;
}

bool ArgumentRules::add_value(Schema schema, const Property& member, State from, State to) {
  if (format_.body == CallBody::kPythonic) {
    builder_.call(writer_.text(from, "="), schema.compiler.rule_of(member.schemas), to);
    return true;
  }
  const std::vector<Parts> cases = schema.compiler.cases_of(member.schemas);
  return std::ranges::all_of(
      cases, [&](const Parts& parts) { return add_case(schema, parts, member, from, to); });
}

bool ArgumentRules::add_case(Schema schema, const Parts& parts, const Property& member, State from,
                             State to) {
  SchemaFacts facts(parts, &schema.document);
  if (schema.document.has_failed()) return false;
  const ValueMarks marks = marks_of(member.name);
  // Without marks that tell, the reader goes by these types.
  const std::string& tool = schema.tool.name;
  const unsigned types =
      marks.tell_texts ? 0 : types_of(tools_.schema_of(tool, member.name), tools_.root_of(tool));
  if (facts.values) return add_listed(schema, facts, marks, types, from, to);
  if (!marks.tell_texts && types == 0 && allows_all(parts)) {
    add_any_text(marks.text_end, writer_.text(from, marks.text_begin), to);
    return true;
  }
  if (marks.tell_texts || (types & kString) != 0) {
    if ((facts.types & grammar::kString) != 0 && !add_text(schema, facts, marks, types, from, to))
      return false;
    unsigned others = marks.tell_texts ? facts.types & ~grammar::kString : 0u;
    for (const TypePair& pair : kToldFromTexts)
      if ((types & pair.of_parser) != 0) others |= facts.types & pair.of_schema;
    facts.types = others;
  } else if (types == 0) {
    facts.types &= ~grammar::kString;  // a string in quotes would keep them
  }
  if (facts.types == 0) return true;
  const State inside = writer_.text(from, marks.json_begin), behind = builder_.state();
  schema.compiler.add_types(facts, inside, behind);
  add_end(marks.json_end, behind, to);
  return true;
}

// Values of "enum" and "const", each in the form in which it is read back.
bool ArgumentRules::add_listed(Schema schema, const SchemaFacts& facts, const ValueMarks& marks,
                               unsigned types, State from, State to) {
  bool has_any = facts.values->empty();
  for (const CallJson* value : *facts.values) {
    if (!schema.compiler.is_valid(*value, facts)) continue;
    const bool is_text = value->is_string() && (marks.tell_texts || (types & kString) != 0);
    const std::string text = is_text ? value->get<std::string>() : grammar::compact_text(*value);
    if (!marks.tell_texts && typed_value(text, types) != *value) continue;
    if (is_text && std::ranges::any_of(barred(), [&](std::string_view mark) {
          return text.find(mark) != text.npos;
        }))
      continue;
    has_any = true;
    const State inside = writer_.text(from, is_text ? marks.text_begin : marks.json_begin);
    // A text of the schema holds no special tokens.
    add_end(is_text ? marks.text_end : marks.json_end, builder_.text(inside, text), to);
  }
  return has_any && !schema.document.has_failed();
}

bool ArgumentRules::add_text(Schema schema, const SchemaFacts& facts, const ValueMarks& marks,
                             unsigned types, State from, State to) {
  const State inside = writer_.text(from, marks.text_begin);
  const bool is_plain = !facts.has_string_facts() && facts.not_values.empty();
  const Regex others = other_values(types);
  if (is_plain && others.parts.empty()) {
    add_any_text(marks.text_end, inside, to);
    return true;
  }
  std::optional<CharDfa> texts;
  const auto keep = [&](Result<CharDfa> more) {
    if (!more) return false;
    if (!texts) {
      texts = *std::move(more);
      return true;
    }
    Result<CharDfa> both = schema.document.both(*texts, *more);
    if (both) texts = *std::move(both);
    return both.ok();
  };
  const Result<CharDfa> barred = schema.document.automaton_of(search_of(this->barred()), true);
  if (!barred || !keep(barred->complement())) return false;
  if (!others.parts.empty()) {
    const Result<CharDfa> other = schema.document.automaton_of(others);
    if (!other || !keep(other->complement())) return false;
  }
  if (!is_plain) {
    const CharDfa* of_schema = strings_of(facts, &schema.document);
    if (of_schema == nullptr || !keep(*of_schema)) return false;
  }
  if (const grammar::Lengths lengths = facts.lengths(); !lengths.are_any()) {
    const bool has_end = lengths.most != grammar::Lengths::kNoEnd;
    constexpr size_t kMost = 10'000;
    if (lengths.least > kMost || (has_end && lengths.most > kMost)) return false;
    if (!keep(schema.document.automaton_of(
            grammar::repeat(grammar::of_set(CharSet::all()), static_cast<uint32_t>(lengths.least),
                            has_end ? static_cast<uint32_t>(lengths.most) : Regex::kNoEnd))))
      return false;
  }
  const State behind = builder_.state();
  builder_.automaton(inside, *texts, grammar::Encoding::kUtf8, behind);
  add_end(marks.text_end, behind, to);
  return true;
}

void ArgumentRules::add_any_text(std::string_view end, State from, State to) {
  auto known = any_texts_.find(end);
  if (known == any_texts_.end()) {
    const Rule rule = builder_.add_rule();
    known = any_texts_.emplace(end, rule).first;
    const State behind = builder_.state();
    if (const Result<CharDfa> dfa = CharDfa::of(search_of(barred()), /*is_search=*/true))
      builder_.automaton(builder_.start(rule), dfa->complement(), grammar::Encoding::kUtf8, behind);
    add_end(end, behind, builder_.end(rule));
  }
  builder_.call(from, known->second, to);
}

void ArgumentRules::add_end(std::string_view end, State from, State to) {
  const std::string_view core = trimmed_right(end);
  builder_.empty(writer_.space(writer_.text(from, core), end.substr(core.size())), to);
}

}  // namespace pando::calls
