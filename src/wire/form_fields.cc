#include "wire/form_fields.h"

#include <string>
#include <utility>

#include "base/errors.h"
#include "base/json.h"

namespace pando::wire {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;
using Kind = TextForm::Kind;

constexpr std::string_view kFields[] = {
    "response_format", "structured_outputs", "guided_json", "guided_regex",
    "guided_choice",   "guided_grammar",     "json_schema", "grammar"};

bool is_schema(const Json& value) { return value.is_object() || value.is_boolean(); }

// A field as it was written, so that a schema keeps the order of its properties.
Ordered written_value(const WrittenOrder& order, const char* name, const Json& value) {
  Result<Ordered> parsed = parse_ordered_json(order.of(name, value), LargeNumbers::kKept);
  return parsed ? *std::move(parsed) : Ordered(value);
}

class FormReader {
 public:
  FormReader(Fields& fields, const WrittenOrder& order) : fields_(fields), order_(order) {}

  std::string read(std::optional<TextForm>& form) {
    read_response_format();
    read_structured_outputs();
    read_json("guided_json");
    read_text("guided_regex", Kind::kRegex);
    read_choice("guided_choice");
    read_grammar("guided_grammar");
    read_json("json_schema");
    read_grammar("grammar");
    if (found_ || asks_for_text_) form = std::move(found_);
    return place_;
  }

 private:
  void take(const char* name, TextForm form) {
    if (found_)
      return fields_.fail(blame(
          name, invalid_argument("field '{}' cannot be combined with '{}'", name, found_in_)));
    found_ = std::move(form);
    found_in_ = name;
    place_ = name;
  }

  void read_response_format() {
    constexpr const char* kName = "response_format";
    if (!fields_.has(kName)) return;
    const Json& format = fields_[kName];
    const Json type = format.is_object() ? format.value("type", Json()) : Json();
    if (type == "text") {  // also where a run has a form
      asks_for_text_ = true;
      return;
    }
    if (type == "json_object") return take(kName, {.kind = Kind::kJsonObject});
    if (type != "json_schema")
      return fields_.fail(kName, format,
                          "an object whose 'type' is \"text\", \"json_object\" or "
                          "\"json_schema\"");
    const Ordered written = written_value(order_, kName, format);
    const auto schema = written.find("json_schema");
    if (schema == written.end() || !schema->is_object() || !schema->contains("schema") ||
        !is_schema((*schema)["schema"]))
      return fields_.fail(
          kName, format,
          "a JSON Schema in {\"type\": \"json_schema\", \"json_schema\": {\"schema\": ...}}");
    take(kName, {.kind = Kind::kJsonSchema, .text = json_text((*schema)["schema"])});
  }

  void read_structured_outputs() {
    constexpr const char* kName = "structured_outputs";
    if (!fields_.has(kName)) return;
    Json given = Json::object();
    fields_.object(kName, given);
    const std::string text = order_.of(kName, given);
    const WrittenOrder order(text);
    Fields inner(given);
    inner.only(std::initializer_list<std::string_view>{
        "json", "regex", "choice", "grammar", "json_object", "disable_fallback",
        "disable_any_whitespace", "disable_additional_properties"});
    FormReader reader(inner, order);
    reader.read_json("json");
    reader.read_text("regex", Kind::kRegex);
    reader.read_choice("choice");
    reader.read_grammar("grammar");
    bool any_object = false, widens = false;
    inner.flag("json_object", any_object);
    if (any_object) reader.take("json_object", {.kind = Kind::kJsonObject});
    inner.flag("disable_additional_properties", widens);
    if (widens)
      inner.fail("disable_additional_properties", true,
                 "false (hint: \"additionalProperties\": false in the schema)");
    fields_.fail(kName, inner);
    if (reader.found_) {
      take(kName, std::move(*reader.found_));
      place_ = fmt::format("{}.{}", kName, reader.place_);
      return;
    }
    if (fields_.status())
      fields_.fail(kName, given, "one of 'json', 'regex', 'choice', 'grammar' and 'json_object'");
  }

  // A schema, or its text.
  void read_json(const char* name) {
    if (!fields_.has(name)) return;
    const Json& value = fields_[name];
    if (value.is_string())
      return take(name, {.kind = Kind::kJsonSchema, .text = value.get<std::string>()});
    if (!is_schema(value))
      return fields_.fail(name, value, "a JSON schema, as an object or a string");
    take(name, {.kind = Kind::kJsonSchema, .text = order_.of(name, value)});
  }

  void read_text(const char* name, Kind kind) {
    if (!fields_.has(name)) return;
    TextForm form{.kind = kind};
    fields_.text(name, form.text);
    take(name, std::move(form));
  }

  void read_choice(const char* name) {
    if (!fields_.has(name)) return;
    TextForm form{.kind = Kind::kChoices};
    fields_.text_list(name, form.choices);
    if (form.choices.empty()) return fields_.fail(name, fields_[name], "a non-empty list");
    take(name, std::move(form));
  }

  // As llama.cpp writes grammars, or as Lark does.
  void read_grammar(const char* name) {
    if (!fields_.has(name)) return;
    TextForm form;
    fields_.text(name, form.text);
    form.kind = form.text.find("::=") != std::string::npos ? Kind::kGbnf : Kind::kLark;
    take(name, std::move(form));
  }

  Fields& fields_;
  const WrittenOrder& order_;
  std::optional<TextForm> found_;
  const char* found_in_ = "";
  std::string place_;  // that, and the field inside it
  bool asks_for_text_ = false;
};

}  // namespace

std::span<const std::string_view> body_form_fields() { return kFields; }

std::string read_body_form(Fields& fields, const WrittenOrder& order,
                           std::optional<TextForm>& form) {
  return FormReader(fields, order).read(form);
}

void read_schema(Fields& fields, const WrittenOrder& order, std::optional<TextForm>& form) {
  if (!fields.has("schema")) return;
  const Json& schema = fields["schema"];
  if (!is_schema(schema)) return fields.fail("schema", schema, "a JSON schema");
  form = {.kind = Kind::kJsonSchema, .text = order.of("schema", schema), .choices = {}};
}

void read_schema(Fields& fields, const std::string& written, std::optional<TextForm>& form) {
  read_schema(fields, WrittenOrder(written), form);
}

}  // namespace pando::wire
