#include "text/grammar/schema_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/nearest.h"
#include "text/grammar/formats.h"

namespace pando::grammar {

namespace {

unsigned type_named(const Json& name) {
  const std::string_view text = name.get_ref<const std::string&>();
  if (text == "null") return kNull;
  if (text == "boolean") return kBoolean;
  if (text == "integer") return kInteger;
  if (text == "number") return kInteger | kFraction;
  if (text == "string") return kString;
  if (text == "array") return kArray;
  if (text == "object") return kObject;
  return 0;
}

unsigned types_of(Node schema, const Json& value, SchemaDocument* document) {
  constexpr std::array<std::string_view, 7> kNames{"null",   "boolean", "integer", "number",
                                                   "string", "array",   "object"};
  unsigned types = 0;
  const auto add = [&](const Json& name) {
    const unsigned type = type_named(name);
    const auto& text = name.get_ref<const std::string&>();
    if (type == 0)
      document->fault(schema, "'type' names '{}', expected {}{}", text, one_of_these(kNames),
                      nearest_hint(text, kNames));
    types |= type;
  };
  if (value.is_string())
    add(value);
  else
    for (const Json& one : value) add(one);
  return types;
}

}  // namespace

size_t count_of(const Json& value) {
  constexpr size_t kHighest = 1'000'000'000'000'000;
  if (!value.is_number()) return kHighest;  // it has more than 64 bits
  return static_cast<size_t>(std::min(value.get<double>(), static_cast<double>(kHighest)));
}

SchemaFacts::SchemaFacts(const Parts& all_parts, SchemaDocument* document) : parts(all_parts) {
  for (const Node part : parts) read(part, document);
  for (const Json* value : not_values) not_texts.insert(canonical_text(*value));
  if (values) {
    unsigned of_values = 0;
    for (const Json* value : *values) of_values |= type_of(*value);
    types &= of_values;
  }
}

Lengths SchemaFacts::lengths() const {
  Lengths all{std::max(min_length, of_patterns.least), std::min(max_length, of_patterns.most)};
  for (const std::string& format : formats)
    all.most = std::min(all.most, longest_of_format(format));
  return all;
}

bool SchemaFacts::is_not_value(const Json& value) const {
  return !not_texts.empty() && not_texts.contains(canonical_text(value));
}

bool SchemaFacts::is_listed(const Json& value) const {
  if (!values) return true;
  if (value_texts_.empty())
    for (const Json* one : *values) value_texts_.insert(canonical_text(*one));
  return value_texts_.contains(canonical_text(value));
}

void SchemaFacts::keep_values(std::vector<const Json*> more, SchemaDocument* document) {
  document->work(more.size());
  if (!values) {
    values = std::move(more);
    return;
  }
  const auto text_of_value = [&](const Json* value) {
    std::string text = canonical_text(*value);
    document->work(1 + text.size() / 64);
    return text;
  };
  std::unordered_set<std::string> texts;
  for (const Json* value : more) texts.insert(text_of_value(value));
  std::erase_if(*values, [&](const Json* value) { return !texts.contains(text_of_value(value)); });
}

void SchemaFacts::add_bound(Bound bound) {
  const auto same_side = std::ranges::find(bounds, bound.is_lower, &Bound::is_lower);
  if (same_side == bounds.end()) return bounds.push_back(std::move(bound));
  const Decimal &low = bound.is_lower ? same_side->at : bound.at,
                &high = bound.is_lower ? bound.at : same_side->at;
  const bool is_equal = !is_less(low, high) && !is_less(high, low);
  if (is_equal ? bound.is_exclusive : is_less(low, high)) *same_side = std::move(bound);
}

void SchemaFacts::read(Node schema, SchemaDocument* document) {
  document->work(schema->size() / 16);
  const auto bound = [&](const Json& value, bool is_lower, bool is_exclusive) {
    if (auto at = decimal_of(value))
      add_bound({std::move(*at), is_lower, is_exclusive});
    else
      document->refuse(schema, "a bound with more than 400 digits");
  };
  const auto is_true = [&](const char* name) {
    const Node value = SchemaDocument::find(schema, name);
    return value != nullptr && *value == Json(true);
  };
  for (const auto& [name, value] : schema->items()) {
    if (name == "type") types &= types_of(schema, value, document);
    if (name == kNotTypes) types &= ~types_of(schema, value, document);
    if (name == "const") keep_values({&value}, document);
    if (name == "enum" || name == kNotValues) {
      std::vector<const Json*> list;
      for (const Json& one : value) list.push_back(&one);
      if (name == "enum") {
        keep_values(std::move(list), document);
      } else {
        document->work(list.size());
        not_values.insert(not_values.end(), list.begin(), list.end());
      }
    }
    if (name == "minimum") bound(value, true, is_true("exclusiveMinimum"));
    if (name == "maximum") bound(value, false, is_true("exclusiveMaximum"));
    if (name == "exclusiveMinimum" && !value.is_boolean()) bound(value, true, true);
    if (name == "exclusiveMaximum" && !value.is_boolean()) bound(value, false, true);
    if (name == "multipleOf" || name == kNotMultiple) {
      const auto divisor = decimal_of(value);
      if (!divisor || divisor->is_negative || divisor->is_zero())
        document->fault(schema, "'multipleOf' is {}, expected a number above 0", json_text(value));
      else
        (name == kNotMultiple ? not_divisors : divisors).push_back(*divisor);
    }
    if (name == "minLength") min_length = std::max(min_length, count_of(value));
    if (name == "maxLength") max_length = std::min(max_length, count_of(value));
    if (name == "pattern") {
      patterns.push_back(value.get<std::string>());
      if (const CountedSet* counted = document->counted_set_of(patterns.back())) {
        of_patterns.least = std::max(of_patterns.least, counted->lengths.least);
        of_patterns.most = std::min(of_patterns.most, counted->lengths.most);
      }
    }
    if (name == kNotPattern) not_patterns.push_back(value.get<std::string>());
    if (name == "format" && is_known_format(value.get_ref<const std::string&>()))
      formats.push_back(value.get<std::string>());
    if (name == "minItems") min_items = std::max(min_items, count_of(value));
    if (name == "maxItems") max_items = std::min(max_items, count_of(value));
    if (name == kSomeItem) contained.push_back({&value, 1});
    if (name == "contains") {
      const Node count = SchemaDocument::find(schema, "minContains");
      const bool has_count = count != nullptr && !document->is_draft_7();
      const size_t least = has_count ? count_of(*count) : 1;
      if (least > 0) contained.push_back({&value, least});
    }
    if (name == "uniqueItems") has_unique_items = has_unique_items || value.get<bool>();
    if (name == "minProperties") min_properties = std::max(min_properties, count_of(value));
    if (name == "maxProperties") max_properties = std::min(max_properties, count_of(value));
    if (name == "required") {
      document->work(value.size() / 16);
      for (const Json& one : value)
        if (const auto& property = one.get_ref<const std::string&>();
            is_required.insert(property).second)
          required.push_back(property);
    }
  }
}

unsigned type_of(const Json& value) {
  if (value.is_null()) return kNull;
  if (value.is_boolean()) return kBoolean;
  if (value.is_string()) return kString;
  if (value.is_array()) return kArray;
  if (value.is_object()) return kObject;
  const auto number = decimal_of(value);
  return !number || number->is_integer() ? kInteger : kFraction;
}

std::string canonical_text(const Json& value) {
  if (const auto number = decimal_of(value)) return text_of(*number);
  if (!value.is_structured()) return json_text(value);
  std::vector<std::string> parts;
  for (const auto& [name, one] : value.items())
    parts.push_back(value.is_object() ? json_text(Json(name)) + ":" + canonical_text(one)
                                      : canonical_text(one));
  if (value.is_object()) std::sort(parts.begin(), parts.end());
  return fmt::format("{}{}{}", value.is_array() ? '[' : '{', fmt::join(parts, ","),
                     value.is_array() ? ']' : '}');
}

namespace {

// An intersection that grows.
class Intersection {
 public:
  // `what` it is a set of, for messages.
  Intersection(const SchemaFacts& facts, std::string_view what, SchemaDocument* document)
      : schema_(facts.parts.empty() ? document->root() : facts.parts[0]),
        what_(what),
        document_(*document) {}

  Node schema() const { return schema_; }
  void add(const CharDfa& more) {
    if (document_.has_failed()) return;
    if (all_)
      take(document_.both(*all_, more));
    else
      all_ = more;
  }
  void add(const CharDfa* more) {
    if (more != nullptr) add(*more);
  }
  void add(const Regex& regex) {
    if (const auto one = made(document_.automaton_of(regex))) add(*one);
  }
  void add_others_than(const Regex& regex) {
    if (const auto one = made(document_.automaton_of(regex))) add(one->complement());
  }
  void add(const Result<CharDfa>& more) {
    if (const auto one = made(more)) add(*one);
  }
  // All texts where nothing was added.
  std::optional<CharDfa> all() const {
    if (document_.has_failed()) return std::nullopt;
    return all_ ? *all_ : CharDfa().complement();
  }

 private:
  void take(Result<CharDfa> both) {
    if (both)
      all_ = std::move(*both);
    else
      made(both);
  }
  std::optional<CharDfa> made(const Result<CharDfa>& one) {
    if (one) return *one;
    document_.exceed(schema_, "the conditions on {} are together {}", what_, one.error().message());
    return std::nullopt;
  }

  Node schema_;
  std::string_view what_;
  SchemaDocument& document_;
  std::optional<CharDfa> all_;
};

}  // namespace

const CharDfa* strings_of(const SchemaFacts& facts, SchemaDocument* document) {
  if (facts.strings_) return &*facts.strings_;
  Intersection all(facts, "strings", document);
  for (const std::string& pattern : facts.patterns)
    if (const CountedSet* counted = document->counted_set_of(pattern))
      all.add(repeat(of_set(counted->set), 0));
    else
      all.add(document->matches_of(pattern, all.schema()));
  for (const std::string& pattern : facts.not_patterns)
    if (const CharDfa* matches = document->matches_of(pattern, all.schema()))
      all.add(matches->complement());
  for (const std::string& format : facts.formats)
    if (!bounds_of_format(format)) all.add(document->format_of(format, all.schema()));
  std::vector<Regex> texts;
  for (const Json* value : facts.not_values)
    if (value->is_string()) texts.push_back(of_text(value->get_ref<const std::string&>()));
  if (!texts.empty()) all.add_others_than(one_of(std::move(texts)));
  facts.strings_ = all.all();
  return facts.strings_ ? &*facts.strings_ : nullptr;
}

const CharDfa* numbers_of(const SchemaFacts& facts, SchemaDocument* document) {
  if (facts.numbers_) return &*facts.numbers_;
  Intersection all(facts, "numbers", document);
  const bool has_fractions = (facts.types & kFraction) != 0;
  all.add(has_fractions ? number_texts() : integer_texts());
  const Regex plain = repeat(of_set(CharSet({{'-', '.'}, {'0', '9'}})), 0);  // without exponent
  if (has_fractions && (facts.types & kInteger) == 0) {                      // not even 1.0
    all.add(plain);
    const Regex whole_fraction = repeat(sequence({of_text("."), repeat(of_text("0"), 1)}), 0, 1);
    all.add_others_than(sequence(
        {repeat(of_text("-"), 0, 1), repeat(of_set(CharSet({{'0', '9'}})), 1), whole_fraction}));
  }
  for (const SchemaFacts::Bound& bound : facts.bounds)
    all.add(bound.is_lower ? texts_from(bound.at, bound.is_exclusive)
                           : texts_to(bound.at, bound.is_exclusive));
  for (const std::string& format : facts.formats) {
    const auto bounds = bounds_of_format(format);
    if (!bounds || bounds->least.empty()) continue;
    all.add(texts_from(*decimal_of(Json::parse(bounds->least)), false));
    all.add(texts_to(*decimal_of(Json::parse(bounds->most)), false));
  }
  const auto multiples = [&](const Decimal& divisor) {
    auto all_multiples = multiples_of(divisor);
    if (all_multiples)
      document->work(all_multiples->n_states() / 8);
    else
      document->exceed(all.schema(), "'multipleOf' {} has too many digits", text_of(divisor));
    return all_multiples;
  };
  for (const Decimal& divisor : facts.divisors)
    if (const auto texts = multiples(divisor)) all.add(*texts);
  for (const Decimal& divisor : facts.not_divisors)
    if (const auto texts = multiples(divisor)) {
      all.add(plain);
      all.add(texts->complement());
    }
  std::vector<Regex> others;
  for (const Json* value : facts.not_values)
    if (const auto number = decimal_of(*value)) others.push_back(texts_equal(*number));
  if (!others.empty()) {
    all.add(plain);
    all.add_others_than(one_of(std::move(others)));
  }
  facts.numbers_ = all.all();
  return facts.numbers_ ? &*facts.numbers_ : nullptr;
}

}  // namespace pando::grammar
