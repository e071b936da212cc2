#include "ask/form_fields.h"

#include <string>
#include <utility>

#include "base/errors.h"
#include "base/json_value.h"

namespace pando::ask {
namespace {

using Kind = TextForm::Kind;

constexpr std::string_view kFields[] = {
    "response_format", "structured_outputs", "guided_json", "guided_regex",
    "guided_choice",   "guided_grammar",     "json_schema", "grammar"};

bool is_schema(const Json& value) { return value.is_object() || value.is_boolean(); }
bool is_true(const Json& value) { return value.is_boolean() && value.get<bool>(); }

TextForm schema_form(const Json& schema) {
  return {.kind = Kind::kJsonSchema, .schema = json_value(schema)};
}

// A text that is no JSON is refused with the form.
TextForm schema_form(const std::string& text) {
  const Result<JsonValue> schema = JsonValue::parse(text);
  return {.kind = Kind::kJsonSchema,
          .text = schema && !schema->is_null() ? std::string() : text,
          .schema = schema ? *schema : JsonValue()};
}

class FormReader {
 public:
  explicit FormReader(Fields& fields) : fields_(fields) {}

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
    if (found_) return fields_.fail(invalid_field(name, "cannot be combined with '{}'", found_in_));
    found_ = std::move(form);
    found_in_ = name;
    place_ = name;
  }

  void read_response_format() {
    if (!fields_.has(kResponseFormat)) return;
    const Json& format = fields_[kResponseFormat];
    const auto found = format.is_object() ? format.find("type") : format.end();
    const auto is_type = [&](const char* type) {
      return found != format.end() && is_text(*found, type);
    };
    const bool is_object = is_type("json_object") || is_type("json");
    if (!is_type("text") && !is_object && !is_type("json_schema"))
      return fields_.fail(kResponseFormat, format,
                          "an object whose 'type' is \"text\", \"json_object\" or "
                          "\"json_schema\"");
    Fields inner(format);
    std::optional<TextForm> form;
    if (is_type("text")) {  // overrides a form of the run
      inner.only(std::initializer_list<std::string_view>{"type"});
      asks_for_text_ = true;
    } else {
      form = is_object ? object_form(inner) : form_of_schema(inner);
    }
    fields_.fail(kResponseFormat, inner);
    if (form && fields_.status()) take(kResponseFormat, std::move(*form));
  }

  // Any object, or one that fits a schema: `schema` in llama-server, `value` in
  // text-generation-inference.
  std::optional<TextForm> object_form(Fields& format) {
    format.only(std::initializer_list<std::string_view>{"type", "schema", "value"});
    const char* name = only_one(format, "schema", "value");
    if (!format.has(name) || is_true(format[name])) return TextForm{.kind = Kind::kJsonObject};
    if (!is_schema(format[name])) format.fail(name, format[name], "a JSON schema");
    Json schema = format[name];
    if (schema.is_object() && !schema.contains("type")) schema["type"] = "object";
    return schema_form(schema);
  }

  // The schema is in "json_schema" ("value" in text-generation-inference), or, as in llama-server,
  // beside the type.
  std::optional<TextForm> form_of_schema(Fields& format) {
    format.only(std::initializer_list<std::string_view>{"type", "json_schema", "schema", "value"});
    const Json* holder = &fields_[kResponseFormat];
    const char* name = only_one(format, "json_schema", "value");
    if (format.has(name)) {
      only_one(format, name, "schema");
      if (format[name].is_object()) check_named(format, name);
      holder = &format[name];
    }
    if (!format.status()) return std::nullopt;
    if (holder->is_object() && holder->contains("schema") && is_schema((*holder)["schema"]))
      return schema_form((*holder)["schema"]);
    fields_.fail(
        kResponseFormat, fields_[kResponseFormat],
        "a JSON Schema in {\"type\": \"json_schema\", \"json_schema\": {\"schema\": ...}}");
    return std::nullopt;
  }

  // The one of two fields that is there; the first if there is neither.
  static const char* only_one(Fields& format, const char* first, const char* second) {
    if (!format.has(second)) return first;
    if (format.has(first))
      format.fail(invalid_field(second, "cannot be combined with '{}'", first));
    return second;
  }

  static void check_named(Fields& format, const char* name) {
    Fields named(format[name]);
    named.only(std::initializer_list<std::string_view>{"name", "description", "schema", "strict"});
    std::string ignored;
    bool is_strict = true;  // every schema is enforced
    named.text("name", ignored);
    named.text("description", ignored);
    named.flag("strict", is_strict);
    format.fail(name, named);
  }

  void read_structured_outputs() {
    constexpr const char* kName = "structured_outputs";
    if (!fields_.has(kName)) return;
    Json given = Json::object();
    fields_.object(kName, given);
    Fields inner(given);
    inner.only(std::initializer_list<std::string_view>{
        "json", "regex", "choice", "grammar", "json_object", "disable_fallback",
        "disable_any_whitespace", "disable_additional_properties"});
    FormReader reader(inner);
    reader.read_json("json");
    reader.read_text("regex", Kind::kRegex);
    reader.read_choice("choice");
    reader.read_grammar("grammar");
    bool any_object = false, widens = false;
    inner.flag("json_object", any_object);
    if (any_object) reader.take("json_object", {.kind = Kind::kJsonObject});
    inner.flag("disable_additional_properties", widens);
    if (widens) inner.fail("disable_additional_properties", true, "false");
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
    if (value.is_string()) return take(name, schema_form(value.get_ref<const std::string&>()));
    if (!is_schema(value))
      return fields_.fail(name, value, "a JSON schema, as an object or a string");
    take(name, schema_form(value));
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

  static constexpr const char* kResponseFormat = "response_format";

  Fields& fields_;
  std::optional<TextForm> found_;
  const char* found_in_ = "";
  std::string place_;  // that, and the field inside it
  bool asks_for_text_ = false;
};

}  // namespace

std::span<const std::string_view> body_form_fields() { return kFields; }

std::string read_body_form(Fields& fields, std::optional<TextForm>& form) {
  return FormReader(fields).read(form);
}

void read_schema(Fields& fields, std::optional<TextForm>& form) {
  if (!fields.has("schema")) return;
  const Json& schema = fields["schema"];
  if (!is_schema(schema)) return fields.fail("schema", schema, "a JSON schema");
  form = schema_form(schema);
}

}  // namespace pando::ask
