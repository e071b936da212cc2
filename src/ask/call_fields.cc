#include "ask/call_fields.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/errors.h"
#include "base/json_value.h"

namespace pando::ask {
namespace {

constexpr size_t kLongestName = 128;
constexpr const char* kExpectedName = "a name without white space, of at most 128 bytes";

bool is_function_name(const Json* name) {
  if (name == nullptr || !name->is_string()) return false;
  const std::string& text = name->get_ref<const std::string&>();
  return !text.empty() && text.size() <= kLongestName &&
         text.find_first_of(" \t\r\n\f\v") == text.npos;
}

Error wrong_part(const std::string& place, const Json* found, std::string_view expected) {
  return invalid_field(place, "is {}, expected {}",
                       found == nullptr ? "absent" : found_text(*found), expected);
}

// A function that the model may call, as OpenAI's API has it.
Status check_function(const Json& function, const std::string& place) {
  const Fields fields(function);
  const Json *name = fields.find("name"), *text = fields.find("description"),
             *parameters = fields.find("parameters"), *strict = fields.find("strict");
  if (!is_function_name(name)) return wrong_part(place + ".name", name, kExpectedName);
  if (text != nullptr && !text->is_string())
    return wrong_part(place + ".description", text, "a string");
  if (parameters != nullptr && !parameters->is_object())
    return wrong_part(place + ".parameters", parameters, "an object");
  if (strict != nullptr && !strict->is_boolean())
    return wrong_part(place + ".strict", strict, "true or false");
  return {};
}

Status check_tool(const Json& tool, const std::string& place) {
  const Fields fields(tool);
  const Json *type = fields.find("type"), *function = fields.find("function");
  if (type == nullptr || !is_text(*type, "function"))
    return wrong_part(place + ".type", type, "\"function\"");
  if (function == nullptr || !function->is_object())
    return wrong_part(place + ".function", function, "an object with a 'name'");
  return check_function(*function, place + ".function");
}

// A function as templates read it.
JsonValue function_value(const Json& function) {
  JsonValue::Object members = without_caching(function);
  const bool has_parameters = Fields(function).has("parameters");
  if (!has_parameters) {
    std::erase_if(members, [](const auto& member) { return member.first == "parameters"; });
    members.emplace_back("parameters",
                         json_value(Json{{"type", "object"}, {"properties", Json::object()}}));
  }
  return JsonValue::object(std::move(members));
}

// The offered functions: those of a list of tools, or of the older list of functions.
struct Offered {
  JsonValue::List tools;
  std::map<std::string, size_t> names;  // with their places in the list
  bool is_strict = false;
};

const std::string kFunction = "function";

Result<Offered> read_offered(const Json& list, const char* field, bool in_tools) {
  if (!list.is_array()) return wrong_part(field, &list, "a list");
  Offered out;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string place = place_in(field, i);
    if (!list[i].is_object())
      return blame(place, invalid_argument("field '{}' has {} in it, expected only objects", field,
                                           found_text(list[i])));
    Status status = in_tools ? check_tool(list[i], place) : check_function(list[i], place);
    if (!status) return status.error();
    const Json& function = in_tools ? list[i]["function"] : list[i];
    const std::string& name = function["name"].get_ref<const std::string&>();
    if (const auto [same, is_new] = out.names.emplace(name, i); !is_new)
      return invalid_field(place + (in_tools ? ".function.name" : ".name"),
                           "is \"{}\", the name of {} too, expected another name", name,
                           place_in(field, same->second));
    if (const Json* strict = Fields(function).find("strict")) out.is_strict |= strict->get<bool>();
    JsonValue::Object tool =
        in_tools ? without_caching(list[i])
                 : JsonValue::Object{{"type", JsonValue{kFunction}}, {kFunction, JsonValue()}};
    for (auto& [member, value] : tool)
      if (member == kFunction) value = function_value(function);
    out.tools.push_back(JsonValue::object(std::move(tool)));
  }
  return out;
}

// Says which of the offered tools an answer may or must call.
struct ToolChoice {
  bool calls = true;  // false: as without tools
  bool required = false;
  std::vector<std::string> allowed = {};
};

class ChoiceReader {
 public:
  ChoiceReader(const char* field, const char* list, const std::map<std::string, size_t>& names)
      : field_(field), list_(list), names_(names) {}

  Result<ToolChoice> read_tool_choice(const Json& value) const {
    if (is_text(value, "auto")) return ToolChoice{};
    if (is_text(value, "none")) return ToolChoice{.calls = false};
    if (is_text(value, "required")) return required({});
    if (!value.is_object()) return wrong_part(field_, &value, kExpected);
    const Json* type = Fields(value).find("type");
    if (type != nullptr && is_text(*type, "function"))
      return read_named(value, std::string(field_));
    if (type != nullptr && is_text(*type, "allowed_tools")) return read_allowed(value);
    return wrong_part(std::string(field_) + ".type", type, "\"function\" or \"allowed_tools\"");
  }

  Result<ToolChoice> read_function_call(const Json& value) const {
    if (is_text(value, "auto")) return ToolChoice{};
    if (is_text(value, "none")) return ToolChoice{.calls = false};
    if (!value.is_object())
      return wrong_part(field_, &value, "\"auto\", \"none\" or an object with a 'name'");
    Result<std::string> name = offered_name(value, std::string(field_) + ".name");
    if (!name) return name.error();
    return required({std::move(*name)});
  }

 private:
  static constexpr const char* kExpected =
      "\"auto\", \"none\", \"required\" or an object with a 'type'";

  Result<ToolChoice> required(std::vector<std::string> allowed) const {
    if (names_.empty())
      return invalid_field(field_, "asks for a call, but '{}' offers no function", list_);
    return ToolChoice{.required = true, .allowed = std::move(allowed)};
  }

  // {"function": {"name"}}, or as the Responses API has it, {"name"}.
  Result<std::string> name_of(const Json& value, const std::string& place) const {
    const Json* function = Fields(value).find("function");
    if (function == nullptr) return offered_name(value, place + ".name");
    if (!function->is_object())
      return wrong_part(place + ".function", function, "an object with a 'name'");
    return offered_name(*function, place + ".function.name");
  }

  Result<std::string> offered_name(const Json& of, const std::string& place) const {
    const Json* name = Fields(of).find("name");
    if (name == nullptr || !name->is_string())
      return wrong_part(place, name, "the name of a function");
    const std::string& text = name->get_ref<const std::string&>();
    if (!names_.contains(text))
      return wrong_part(place, name, fmt::format("the name of a function in '{}'", list_));
    return text;
  }

  Result<ToolChoice> read_named(const Json& value, const std::string& place) const {
    Result<std::string> name = name_of(value, place);
    if (!name) return name.error();
    return required({std::move(*name)});
  }

  // {"allowed_tools": {"mode", "tools"}}, or as the Responses API has it, {"mode", "tools"}.
  Result<ToolChoice> read_allowed(const Json& value) const {
    const Json* inner = Fields(value).find("allowed_tools");
    const std::string place = std::string(field_) + (inner == nullptr ? "" : ".allowed_tools");
    if (inner != nullptr && !inner->is_object())
      return wrong_part(place, inner, "an object with 'mode' and 'tools'");
    const Fields fields(inner == nullptr ? value : *inner);
    const Json *mode = fields.find("mode"), *tools = fields.find("tools");
    const bool is_required = mode != nullptr && is_text(*mode, "required");
    if (!is_required && (mode == nullptr || !is_text(*mode, "auto")))
      return wrong_part(place + ".mode", mode, "\"auto\" or \"required\"");
    if (tools == nullptr || !tools->is_array() || tools->empty())
      return wrong_part(place + ".tools", tools, "a non-empty list");
    std::set<std::string> allowed;
    for (size_t i = 0; i < tools->size(); ++i) {
      const Json& tool = (*tools)[i];
      const std::string at = place_in(place + ".tools", i);
      const Json* type = tool.is_object() ? Fields(tool).find("type") : nullptr;
      if (!tool.is_object()) return wrong_part(at, &tool, "an object with a 'type'");
      if (type == nullptr || !is_text(*type, "function"))
        return wrong_part(at + ".type", type, "\"function\"");
      Result<std::string> name = name_of(tool, at);
      if (!name) return name.error();
      allowed.insert(std::move(*name));
    }
    std::vector<std::string> list(allowed.begin(), allowed.end());
    if (is_required) return required(std::move(list));
    return ToolChoice{.allowed = std::move(list)};
  }

  const char *field_, *list_;
  const std::map<std::string, size_t>& names_;
};

// Nine characters, as some chat templates demand.
std::string call_id(size_t n) { return fmt::format("call{:05}", n); }

void take_offered(Offered offered, ToolChoice choice, ChatOptions& chat, CallOptions& calling) {
  if (offered.tools.empty() || !choice.calls) return;
  chat.tools = JsonValue::list(std::move(offered.tools));
  calling.required = choice.required;
  calling.allowed = std::move(choice.allowed);
  calling.strict = offered.is_strict;
}

}  // namespace

bool is_of_caching(std::string_view name) {
  return std::ranges::find(kCachingFields, name) != std::end(kCachingFields);
}

JsonValue::Object without_caching(const Json& object) {
  JsonValue::Object members;
  for (const auto& [name, value] : object.items())
    if (!is_of_caching(name)) members.emplace_back(name, json_value(value));
  return members;
}

void read_tools(Fields& fields, ChatOptions& chat, CallOptions& calling) {
  Offered offered;
  if (fields.has("tools")) {
    Result<Offered> read = read_offered(fields["tools"], "tools", /*in_tools=*/true);
    if (!read) return fields.fail(read.error());
    offered = std::move(*read);
  }
  fields.flag("parallel_tool_calls", calling.parallel);
  ToolChoice choice;
  if (fields.has("tool_choice")) {
    const ChoiceReader reader("tool_choice", "tools", offered.names);
    Result<ToolChoice> read = reader.read_tool_choice(fields["tool_choice"]);
    if (!read) return fields.fail(read.error());
    choice = std::move(*read);
  }
  take_offered(std::move(offered), std::move(choice), chat, calling);
}

bool read_functions(Fields& fields, ChatOptions& chat, CallOptions& calling) {
  Offered offered;
  if (fields.has("functions")) {
    Result<Offered> read = read_offered(fields["functions"], "functions", /*in_tools=*/false);
    if (!read) return fields.fail(read.error()), false;
    offered = std::move(*read);
  }
  ToolChoice choice;
  if (fields.has("function_call")) {
    const ChoiceReader reader("function_call", "functions", offered.names);
    Result<ToolChoice> read = reader.read_function_call(fields["function_call"]);
    if (!read) return fields.fail(read.error()), false;
    choice = std::move(*read);
  }
  if (offered.tools.empty()) return false;
  for (const char* name : {"tools", "tool_choice"})
    if (fields.has(name) && fields[name] != Json::array())
      return fields.fail(invalid_field(name, "cannot be combined with 'functions'")), false;
  take_offered(std::move(offered), std::move(choice), chat, calling);
  calling.parallel = false;
  return true;
}

void read_thinking_budget(Fields& fields, std::optional<int>& out) {
  for (const char* name : {"thinking_budget", "thinking_token_budget"}) {
    if (!fields.has(name)) continue;
    int n = 0;
    fields.integer(name, n);
    if (n < 0) return fields.fail(name, n, "0 or more");
    if (out && *out != n)
      return fields.fail(name, n, "the value of 'thinking_budget', which means the same");
    out = n;
  }
}

bool is_older_message(const Json& message) {
  const auto role = message.find("role"), call = message.find("function_call");
  return (role != message.end() && is_text(*role, "function")) ||
         (call != message.end() && call->is_object());
}

Result<Json> newer_message(const Json& message, size_t& n_calls) {
  Json out = message;
  out.erase("function_call");
  const Fields fields(message);
  if (const Json* call = fields.find("function_call"); call != nullptr && call->is_object()) {
    if (fields.has("tool_calls") && !message["tool_calls"].empty())
      return invalid_field("function_call", "cannot be combined with 'tool_calls'");
    const Fields of_call(*call);
    const Json *name = of_call.find("name"), *arguments = of_call.find("arguments");
    if (name == nullptr || !name->is_string() || is_text(*name, ""))
      return wrong_part("function_call.name", name, "the name of a function");
    if (arguments != nullptr && !arguments->is_string() && !arguments->is_object())
      return wrong_part("function_call.arguments", arguments, "a string or an object");
    out["tool_calls"] =
        Json::array({{{"id", call_id(++n_calls)}, {"type", "function"}, {"function", *call}}});
  }
  if (is_text(out["role"], "function")) {
    out["role"] = "tool";
    if (n_calls > 0 && !fields.has("tool_call_id")) out["tool_call_id"] = call_id(n_calls);
  }
  return out;
}

}  // namespace pando::ask
