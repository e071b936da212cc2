#include "text/grammar/schema_facts.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
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
  unsigned types = 0;
  const auto add = [&](const Json& name) {
    const unsigned type = type_named(name);
    if (type == 0)
      document->fault(
          schema, "the type '{}', expected null, boolean, integer, number, string, array or object",
          name.get<std::string>());
    types |= type;
  };
  if (value.is_string())
    add(value);
  else
    for (const Json& one : value) add(one);
  return types;
}

size_t count_of(const Json& value) {
  const double count = value.get<double>();
  return count >= 1e15 ? SIZE_MAX : static_cast<size_t>(count);
}

}  // namespace

SchemaFacts::SchemaFacts(const Parts& all_parts, SchemaDocument* document) : parts(all_parts) {
  for (const Node part : parts) read(part, document);
  if (values) {
    unsigned of_values = 0;
    for (const Json* value : *values) of_values |= type_of(*value);
    types &= of_values;
  }
}

void SchemaFacts::read(Node schema, SchemaDocument* document) {
  const auto keep_values = [&](std::vector<const Json*> more) {
    if (values)
      std::erase_if(*values, [&](const Json* one) {
        return std::none_of(more.begin(), more.end(),
                            [&](const Json* other) { return are_equal(*one, *other); });
      });
    else
      values = std::move(more);
  };
  const auto bound = [&](const Json& value, bool is_lower, bool is_exclusive) {
    if (auto at = decimal_of(value))
      bounds.push_back({std::move(*at), is_lower, is_exclusive});
    else
      document->refuse(schema, "a bound of more than 400 digits");
  };
  const auto is_true = [&](const char* name) {
    const Node value = SchemaDocument::find(schema, name);
    return value != nullptr && *value == Json(true);
  };
  for (const auto& [name, value] : schema->items()) {
    if (name == "type") types &= types_of(schema, value, document);
    if (name == kNotTypes) types &= ~types_of(schema, value, document);
    if (name == "const") keep_values({&value});
    if (name == "enum" || name == kNotValues) {
      std::vector<const Json*> list;
      for (const Json& one : value) list.push_back(&one);
      document->work(list.size());
      if (name == "enum")
        keep_values(std::move(list));
      else
        not_values.insert(not_values.end(), list.begin(), list.end());
    }
    if (name == "minimum") bound(value, true, is_true("exclusiveMinimum"));
    if (name == "maximum") bound(value, false, is_true("exclusiveMaximum"));
    if (name == "exclusiveMinimum" && !value.is_boolean()) bound(value, true, true);
    if (name == "exclusiveMaximum" && !value.is_boolean()) bound(value, false, true);
    if (name == "multipleOf") {
      const auto divisor = decimal_of(value);
      if (!divisor || divisor->is_negative || divisor->is_zero())
        document->fault(schema, "a 'multipleOf' that is not above zero");
      else
        divisors.push_back(*divisor);
    }
    if (name == "minLength") min_length = std::max(min_length, count_of(value));
    if (name == "maxLength") max_length = std::min(max_length, count_of(value));
    if (name == "pattern") patterns.push_back(value.get<std::string>());
    if (name == kNotPattern) not_patterns.push_back(value.get<std::string>());
    if (name == "format") formats.push_back(value.get<std::string>());
    if (name == "minItems") min_items = std::max(min_items, count_of(value));
    if (name == "maxItems") max_items = std::min(max_items, count_of(value));
    if (name == "uniqueItems") has_unique_items = has_unique_items || value.get<bool>();
    if (name == "minProperties") min_properties = std::max(min_properties, count_of(value));
    if (name == "maxProperties") max_properties = std::min(max_properties, count_of(value));
    if (name == "required")
      for (const Json& one : value)
        if (const auto& property = one.get_ref<const std::string&>();
            std::find(required.begin(), required.end(), property) == required.end())
          required.push_back(property);
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

bool are_equal(const Json& a, const Json& b) {
  const unsigned type = type_of(a);
  if (type != type_of(b)) return false;
  if (type & (kInteger | kFraction)) {
    const auto x = decimal_of(a), y = decimal_of(b);
    return x && y ? text_of(*x) == text_of(*y) : a == b;
  }
  if (a.size() != b.size()) return false;
  if (type == kArray) return std::equal(a.begin(), a.end(), b.begin(), are_equal);
  if (type != kObject) return a == b;
  for (const auto& [name, value] : a.items()) {
    const auto other = b.find(name);
    if (other == b.end() || !are_equal(value, *other)) return false;
  }
  return true;
}

namespace {

// An intersection that grows.
class Intersection {
 public:
  Intersection(Node schema, SchemaDocument* document) : schema_(schema), document_(*document) {}
  void add(const CharDfa& more) {
    if (document_.has_failed()) return;
    if (!all_) {
      all_ = more;
      return;
    }
    auto both = all_->both(more);
    if (!both) return document_.refuse(schema_, "{}", both.error().message);
    all_ = std::move(*both);
    document_.work(all_->n_states() / 8);
  }
  void add(Result<CharDfa> more) {
    if (!more) return document_.refuse(schema_, "{}", more.error().message);
    add(*more);
  }
  void add(const CharDfa* more) {
    if (more != nullptr) add(*more);
  }
  std::optional<CharDfa> take() { return document_.has_failed() ? std::nullopt : std::move(all_); }

 private:
  Node schema_;
  SchemaDocument& document_;
  std::optional<CharDfa> all_;
};

Node first_of(const SchemaFacts& facts, SchemaDocument* document) {
  return facts.parts.empty() ? document->root() : facts.parts[0];
}

}  // namespace

std::optional<CharDfa> strings_of(const SchemaFacts& facts, SchemaDocument* document) {
  const Node schema = first_of(facts, document);
  Intersection all(schema, document);
  for (const std::string& pattern : facts.patterns) all.add(document->matches_of(pattern, schema));
  for (const std::string& pattern : facts.not_patterns)
    if (const CharDfa* matches = document->matches_of(pattern, schema))
      all.add(matches->complement());
  for (const std::string& format : facts.formats) {
    const auto pattern = pattern_of_format(format);
    if (bounds_of_format(format)) continue;  // of numbers
    if (!pattern)
      document->refuse(schema, "the format '{}'", format);
    else
      all.add(CharDfa::of(*parse_regex(*pattern)));
    if (format == "hostname") all.add(CharDfa::of_length(0, 253));
  }
  std::vector<Regex> texts;
  for (const Json* value : facts.not_values)
    if (value->is_string()) texts.push_back(of_text(value->get_ref<const std::string&>()));
  if (!texts.empty()) {
    const auto dfa = CharDfa::of(one_of(std::move(texts)));
    all.add(dfa ? Result<CharDfa>(dfa->complement()) : dfa);
  }
  if (facts.min_length > facts.max_length)
    all.add(CharDfa());
  else if (facts.min_length > 0 || facts.max_length != SIZE_MAX)
    all.add(CharDfa::of_length(facts.min_length, facts.max_length));
  return all.take();
}

std::optional<CharDfa> numbers_of(const SchemaFacts& facts, SchemaDocument* document) {
  const Node schema = first_of(facts, document);
  Intersection all(schema, document);
  const bool has_fractions = (facts.types & kFraction) != 0;
  if (!has_fractions)
    all.add(CharDfa::of(integer_texts()));
  else
    all.add(CharDfa::of(number_texts()));
  const Regex whole_fraction = repeat(sequence({of_text("."), repeat(of_text("0"), 1)}), 0, 1);
  const auto with_sign = [](Regex size) {
    return sequence({repeat(of_text("-"), 0, 1), std::move(size)});
  };
  const CharSet plain({{'-', '.'}, {'0', '9'}});
  if (has_fractions && (facts.types & kInteger) == 0) {  // not even 1.0
    all.add(CharDfa::of(repeat(of_set(plain), 0)));
    const auto integers = CharDfa::of(
        with_sign(sequence({repeat(of_set(CharSet({{'0', '9'}})), 1), whole_fraction})));
    if (integers) all.add(integers->complement());
  }
  for (const SchemaFacts::Bound& bound : facts.bounds)
    all.add(CharDfa::of(bound.is_lower ? texts_from(bound.at, bound.is_exclusive)
                                       : texts_to(bound.at, bound.is_exclusive)));
  for (const std::string& format : facts.formats) {
    const auto bounds = bounds_of_format(format);
    if (!bounds && !pattern_of_format(format)) document->refuse(schema, "the format '{}'", format);
    if (!bounds || bounds->least.empty()) continue;
    all.add(CharDfa::of(texts_from(*decimal_of(Json::parse(bounds->least)), false)));
    all.add(CharDfa::of(texts_to(*decimal_of(Json::parse(bounds->most)), false)));
  }
  for (const Decimal& divisor : facts.divisors) {
    auto multiples = multiples_of(divisor);
    if (!multiples)
      document->refuse(schema, "'multipleOf' {} (hint: one of fewer digits)", text_of(divisor));
    else
      all.add(*multiples);
  }
  bool has_plain = false;
  for (const Json* value : facts.not_values)
    if (const auto number = decimal_of(*value)) {
      if (!std::exchange(has_plain, true)) all.add(CharDfa::of(repeat(of_set(plain), 0)));
      const auto equal = CharDfa::of(texts_equal(*number));
      if (equal) all.add(equal->complement());
    }
  return all.take();
}

}  // namespace pando::grammar
