#include "text/grammar/json_rules.h"

#include "base/json.h"
#include "text/grammar/decimal.h"

namespace pando::grammar {

namespace {

constexpr std::string_view kHexDigits = "09afAF";

// Edges of the bytes in ranges written as pairs, "09af".
void add_ranges(Builder* builder, Builder::State from, std::string_view pairs, Builder::State to) {
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    builder->bytes(from, static_cast<uint8_t>(pairs[i]), static_cast<uint8_t>(pairs[i + 1]), to);
}

Builder::State hex_digits(Builder* builder, Builder::State from, int n) {
  for (int i = 0; i < n; ++i) {
    const Builder::State next = builder->state();
    add_ranges(builder, from, kHexDigits, next);
    from = next;
  }
  return from;
}

void add_any_string(Builder* builder, Builder::State from, Builder::State to) {
  const Builder::State inside = builder->text(from, "\"");
  static const CharSet kPlain = CharSet({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}).complement();
  builder->characters(inside, kPlain.without(builder->style().escaped), Encoding::kUtf8, inside);
  const Builder::State slash = builder->text(inside, "\\");
  for (const char c : std::string_view("\"\\/bfnrt"))
    builder->bytes(slash, static_cast<uint8_t>(c), static_cast<uint8_t>(c), inside);
  // A character of 16 bits, or the two halves of one of more.
  const Builder::State number = builder->text(slash, "u");
  const Builder::State plain = builder->state();
  add_ranges(builder, number, "09acACefEF", plain);
  const Builder::State high = builder->state();
  add_ranges(builder, number, "ddDD", high);
  const Builder::State not_surrogate = builder->state();
  add_ranges(builder, high, "07", not_surrogate);
  builder->empty(hex_digits(builder, plain, 3), inside);
  builder->empty(hex_digits(builder, not_surrogate, 2), inside);
  const Builder::State surrogate = builder->state();
  add_ranges(builder, high, "89abAB", surrogate);
  const Builder::State second = builder->text(hex_digits(builder, surrogate, 2), "\\u");
  const Builder::State low = builder->state();
  add_ranges(builder, second, "ddDD", low);
  const Builder::State low_digit = builder->state();
  add_ranges(builder, low, "cfCF", low_digit);
  builder->empty(hex_digits(builder, low_digit, 2), inside);
  builder->bytes(inside, '"', '"', to);
}

}  // namespace

Builder::Rule string_rule(Builder* builder) {
  if (!builder->string_rule) {
    const Builder::Rule rule = builder->add_rule();
    builder->string_rule = rule;
    add_any_string(builder, builder->start(rule), builder->end(rule));
  }
  return *builder->string_rule;
}

void add_any_object(Builder* builder, Builder::State from, Builder::State to, Builder::Rule value) {
  const Builder::State open = builder->text(from, "{");
  const Builder::State key = builder->state(), after = builder->state(), name = builder->state();
  builder->empty(open, key);
  builder->bytes(open, '}', '}', to);
  builder->call(key, string_rule(builder), name);
  const Builder::State colon = builder->state();
  builder->separator(name, ':', colon);
  builder->call(colon, value, after);
  builder->separator(after, ',', key);
  builder->bytes(after, '}', '}', to);
}

void add_any_value(Builder* builder, Builder::Rule rule) {
  const Builder::Rule number = builder->add_rule();
  const Regex texts = builder->style().has_short_numbers ? short_number_texts() : number_texts();
  builder->empty(builder->regex(builder->start(number), texts, Encoding::kUtf8),
                 builder->end(number));
  const Builder::State start = builder->start(rule), end = builder->end(rule);
  for (const char* word : {"null", "true", "false"})
    builder->empty(builder->text(start, word), end);
  builder->call(start, string_rule(builder), end);
  builder->call(start, number, end);
  add_any_object(builder, start, end, rule);
  const Builder::State open = builder->text(start, "[");
  const Builder::State item = builder->state(), after = builder->state();
  builder->empty(open, item);
  builder->bytes(open, ']', ']', end);
  builder->call(item, rule, after);
  builder->separator(after, ',', item);
  builder->bytes(after, ']', ']', end);
}

std::string compact_text(const Json& value) {
  if (const auto number = decimal_of(value)) return text_of(*number);
  if (!value.is_structured()) return json_text(value);
  std::string text(1, value.is_array() ? '[' : '{');
  bool is_first = true;
  for (const auto& [name, one] : value.items()) {
    if (!std::exchange(is_first, false)) text += ',';
    if (value.is_object()) text += json_text(Json(name)) + ":";
    text += compact_text(one);
  }
  return text + (value.is_array() ? ']' : '}');
}

Result<GrammarPtr> from_any_json(bool only_objects) {
  Builder builder;
  const Builder::Rule root = builder.add_rule();
  const Builder::Rule value = builder.add_rule();
  add_any_value(&builder, value);
  if (only_objects) {
    add_any_object(&builder, builder.start(root), builder.end(root), value);
  } else {
    builder.call(builder.start(root), value, builder.end(root));
  }
  return builder.finish();
}

}  // namespace pando::grammar
