#include "ask/anthropic_draft.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ask/errors.h"
#include "base/errors.h"
#include "base/fields.h"
#include "text/chat/media.h"

namespace pando::ask {
namespace {

// The fields after "output_format" change no answer.
constexpr DoorField kAnthropicFields[] = {{"max_tokens", "max_tokens"},
                                          {"stop_sequences", "stop"},
                                          {"stream", "stream"},
                                          {"messages"},
                                          {"system"},
                                          {"tools"},
                                          {"tool_choice"},
                                          {"thinking"},
                                          {"output_config"},
                                          {"output_format"},
                                          {"cache_control"},
                                          {"context_management"},
                                          {"diagnostics"},
                                          {"inference_geo"},
                                          {"metadata"},
                                          {"service_tier"},
                                          {"speed"},
                                          {"user_profile_id"},
                                          {"workspace_id"}};

// Fields of blocks and tools that change no answer.
constexpr std::string_view kIgnoredInBlocks[] = {
    "type",         "cache_control",   "citations",     "caller",
    "toolset_name", "allowed_callers", "defer_loading", "eager_input_streaming"};

// Refuses fields besides these and `own`.
void only_in_block(Fields& fields, std::initializer_list<std::string_view> own) {
  std::vector<std::string_view> known(own);
  known.insert(known.end(), std::begin(kIgnoredInBlocks), std::end(kIgnoredInBlocks));
  fields.only(known);
}

// Reads an object; its errors get the place.
template <class Read>
Status read_object(const std::string& place, const Json& json, const Read& read) {
  if (!json.is_object()) return invalid_field(place, "is {}, expected an object", found_text(json));
  Fields fields(json);
  read(fields);
  return fields.status() ? Status() : in_part(place, fields.status().error());
}

std::string needed_text(Fields& fields, const char* name) {
  std::string text;
  fields.text(name, text);
  if (!fields.has(name)) fields.refuse(name, "a string");
  return text;
}

Json needed_object(Fields& fields, const char* name) {
  Json object = Json::object();
  fields.object(name, object);
  if (!fields.has(name)) fields.refuse(name, "an object");
  return object;
}

std::string needed_name(Fields& fields, const char* name,
                        std::initializer_list<std::string_view> names) {
  std::string found;
  fields.text(name, found);
  if (std::ranges::find(names, found) == names.end())
    fields.refuse(name, one_of_these({names.begin(), names.size()}));
  return found;
}

void add_text(Json& message, const std::string& text) {
  message["content"].push_back({{"type", "text"}, {"text", text}});
}

class AnthropicTranslator {
 public:
  explicit AnthropicTranslator(const Json& body) : body_(body), fields_(body) {}

  Result<AnthropicDraft> run(AnthropicCall call) {
    if (Status status = draft().copy(body_, kAnthropicFields); !status) return status.error();
    if (call == AnthropicCall::kMessage && !fields_.has("max_tokens"))
      return missing_field("max_tokens");
    if (fields_.has("system"))
      fields_.fail(read_content({"system", "system"}, "system", fields_["system"]));
    read_each("messages", [this](const std::string& place, const Json& message) {
      return read_message(place, message);
    });
    read_each("tools", [this](const std::string& place, const Json& tool) {
      return read_tool(place, tool);
    });
    read_part("tool_choice", [this](Fields& fields) { read_tool_choice(fields); });
    read_part("thinking", [this](Fields& fields) { read_thinking(fields); });
    read_part("output_config", [this](Fields& fields) { read_output(fields); });
    read_format("output_format", fields_);
    if (!fields_.has("messages") || fields_["messages"].empty())
      fields_.refuse("messages", "a non-empty list");
    if (fields_.status()) continue_last();
    if (!fields_.status()) return fields_.status().error();
    for (Json& message : messages())  // a content of one text is that text
      if (message.contains("content") && message["content"].size() == 1)
        message["content"] = Json(message["content"][0]["text"]);
    return std::move(out_);
  }

 private:
  ChatDraft& draft() { return out_.draft; }
  Json& chat() { return out_.draft.chat; }
  Json& messages() { return chat()["messages"]; }

  template <class Read>
  void read_each(const char* name, const Read& read) {
    if (!fields_.has(name)) return;
    const Json& list = fields_[name];
    if (!list.is_array()) return fields_.fail(name, list, "a list");
    for (size_t i = 0; i < list.size() && fields_.status(); ++i)
      fields_.fail(read(place_in(name, i), list[i]));
  }
  template <class Read>
  void read_part(const char* name, const Read& read) {
    if (fields_.has(name)) fields_.fail(read_object(name, fields_[name], read));
  }

  Status read_message(const std::string& place, const Json& message) {
    return read_object(place, message, [&](Fields& fields) {
      fields.only(std::initializer_list<std::string_view>{"role", "content"});
      const std::string role = needed_name(fields, "role", {"user", "assistant", "system"});
      if (!fields.has("content")) fields.refuse("content", "a string or a list of blocks");
      if (fields.status()) fields.fail(read_content({role, place}, "content", fields["content"]));
    });
  }

  // A message of the draft, and where it comes from.
  struct Turn {
    std::string role, origin;
  };

  // The last message if it has this role, or a new one. Neighbours of one role are one message.
  Json& message_of(const Turn& turn) {
    Json& list = messages();
    if (list.empty() || !is_text(list.back()["role"], turn.role)) {
      draft().set_origin(place_in("messages", list.size()), turn.origin);
      list.push_back({{"role", turn.role}});
    }
    return list.back();
  }

  // Reads a text or a list of blocks.
  Status read_content(const Turn& turn, const std::string& place, const Json& content) {
    if (content.is_string() || (content.is_array() && content.empty())) {
      add_text(message_of(turn), content.is_string() ? content.get<std::string>() : "");
      return {};
    }
    if (!content.is_array())
      return invalid_field(place, "is {}, expected a string or a list of blocks",
                           found_text(content));
    const std::string list = turn.origin == place ? place : turn.origin + "." + place;
    for (size_t i = 0; i < content.size(); ++i) {
      const std::string origin = place_in(list, i);
      const auto read = [&](Fields& fields) {
        fields.fail(refuse_media(content[i], origin));
        if (fields.status()) read_block(turn, origin, fields);
      };
      if (Status status = read_object(place_in(place, i), content[i], read); !status) return status;
    }
    return {};
  }

  void read_block(const Turn& turn, const std::string& origin, Fields& fields) {
    const std::string type =
        turn.role == "user" ? needed_name(fields, "type", {"text", "tool_result"})
        : turn.role == "assistant"
            ? needed_name(fields, "type", {"text", "thinking", "redacted_thinking", "tool_use"})
            : needed_name(fields, "type", {"text"});
    if (!fields.status()) return;
    if (type == "tool_result") {
      read_tool_result(origin, fields);
    } else if (type == "tool_use") {
      read_tool_use(message_of(turn), origin, fields);
    } else if (type == "thinking") {
      only_in_block(fields, {"thinking", "signature"});
      Json& all = message_of(turn)["reasoning_content"];
      if (all.is_null()) all = "";
      all.get_ref<std::string&>() += needed_text(fields, "thinking");
    } else if (type == "redacted_thinking") {
      only_in_block(fields, {"data"});  // nobody here can read it
      message_of(turn);
    } else {
      only_in_block(fields, {"text"});
      add_text(message_of(turn), needed_text(fields, "text"));
    }
  }

  void read_tool_use(Json& message, const std::string& origin, Fields& fields) {
    only_in_block(fields, {"id", "name", "input"});
    Json& calls = message["tool_calls"];
    const std::string call =
        place_in(place_in("messages", messages().size() - 1) + ".tool_calls", calls.size());
    draft().set_origin(call, origin);
    draft().set_origin(call + ".function", origin);
    draft().set_origin(call + ".function.arguments", origin + ".input");
    calls.push_back(
        {{"id", needed_text(fields, "id")},
         {"type", "function"},
         {"function",
          {{"name", needed_text(fields, "name")}, {"arguments", needed_object(fields, "input")}}}});
  }

  // A template has no field for failures, so the text says it.
  void read_tool_result(const std::string& origin, Fields& fields) {
    only_in_block(fields, {"tool_use_id", "content", "is_error"});
    bool is_error = false;
    fields.flag("is_error", is_error);
    draft().set_origin(place_in("messages", messages().size()), origin);
    messages().push_back({{"role", "tool"}, {"tool_call_id", needed_text(fields, "tool_use_id")}});
    const Json content = fields.has("content") ? fields["content"] : Json("");
    fields.fail(read_content({"tool", origin}, "content", content));
    if (!is_error || !fields.status()) return;
    Json& text = messages().back()["content"][0]["text"];
    text = "Error: " + text.get<std::string>();
  }

  // An answer goes on with a last message of the assistant.
  void continue_last() {
    const Json& last = messages().back();
    if (!is_text(last["role"], "assistant")) return;
    const std::string place = place_in("messages", fields_["messages"].size() - 1);
    if (last.contains("tool_calls"))
      return fields_.fail(blame(place, invalid_argument("the last message calls a tool, expected a "
                                                        "'tool_result' in a message behind it")));
    chat()["continue_final_message"] = true;
    draft().set_origin("continue_final_message", place);
  }

  Status read_tool(const std::string& place, const Json& tool) {
    Json function = Json::object();
    Status status = read_object(place, tool, [&](Fields& fields) {
      std::string type = "custom";
      fields.text("type", type);
      if (type != "custom")
        fields.refuse("type", "\"custom\", because this server runs no tools of its own");
      only_in_block(fields, {"name", "description", "input_schema", "strict", "input_examples"});
      needed_object(fields, "input_schema");
      for (const auto& [name, value] : tool.items())
        if (std::ranges::find(kIgnoredInBlocks, name) == std::end(kIgnoredInBlocks))
          function[name == "input_schema" ? "parameters" : name] = value;
    });
    draft().set_origin(place + ".function", place);
    draft().set_origin(place + ".function.parameters", place + ".input_schema");
    chat()["tools"].push_back({{"type", "function"}, {"function", std::move(function)}});
    return status;
  }

  void read_tool_choice(Fields& fields) {
    fields.only(
        std::initializer_list<std::string_view>{"type", "name", "disable_parallel_tool_use"});
    const std::string type = needed_name(fields, "type", {"auto", "any", "tool", "none"});
    bool is_single = false;
    fields.flag("disable_parallel_tool_use", is_single);
    if (is_single) chat()["parallel_tool_calls"] = false;
    Json& choice = chat()["tool_choice"] = type == "any" ? "required" : type;
    if (type != "tool") return;
    choice = {{"type", "function"}, {"function", {{"name", needed_text(fields, "name")}}}};
    draft().set_origin("tool_choice.function", "tool_choice");
  }

  void read_thinking(Fields& fields) {
    fields.only(std::initializer_list<std::string_view>{"type", "budget_tokens", "display"});
    const std::string type = needed_name(fields, "type", {"enabled", "disabled", "adaptive"});
    if (fields.has("display"))
      out_.shows_thinking = needed_name(fields, "display", {"summarized", "omitted"}) != "omitted";
    if (type == "enabled") {
      const int64_t budget = fields.integer("budget_tokens", 1, std::numeric_limits<int>::max());
      chat()["thinking_budget"] = budget;
      draft().set_origin("thinking_budget", "thinking.budget_tokens");
    }
    out_.wants_thinking = type != "disabled";
    if (!out_.wants_thinking) draft().set_thinking(false, "thinking");
  }

  void read_output(Fields& fields) {
    fields.only(std::initializer_list<std::string_view>{"effort", "format"});
    read_format("format", fields, "output_config.");
    if (!fields.has("effort")) return;
    const Json& effort = fields["effort"];
    chat()["reasoning_effort"] = is_text(effort, "max") ? Json("xhigh") : effort;
    draft().set_origin("reasoning_effort", "output_config.effort");
  }

  // The form of answers, which older clients send outside of "output_config".
  void read_format(const char* name, Fields& fields, const std::string& inside = "") {
    if (!fields.has(name)) return;
    if (chat().contains("response_format"))
      return fields.fail(invalid_field(name, "cannot be combined with 'output_config.format'"));
    chat()["response_format"] = fields[name];
    draft().set_origin("response_format", inside + name);
  }

  const Json& body_;
  Fields fields_;
  AnthropicDraft out_;
};

}  // namespace

Result<AnthropicDraft> draft_of_anthropic(const Json& body, AnthropicCall call) {
  return AnthropicTranslator(body).run(call);
}

}  // namespace pando::ask
