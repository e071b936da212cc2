#include "ask/responses_request.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ask/body.h"
#include "ask/errors.h"
#include "ask/responses_items.h"
#include "base/errors.h"
#include "base/fields.h"

namespace pando::ask {
namespace {

using NameList = std::initializer_list<std::string_view>;

// Fields besides those that any door takes. "service_tier", "safety_identifier", "metadata",
// "max_tool_calls" (of the provider's own tools) and the fields for caching change no answer.
constexpr DoorField kResponsesFields[] = {{"input"},
                                          {"instructions"},
                                          {"previous_response_id"},
                                          {"store"},
                                          {"max_output_tokens", "max_completion_tokens"},
                                          {"text"},
                                          {"reasoning"},
                                          {"thinking_budget", "thinking_budget"},
                                          {"thinking_token_budget", "thinking_token_budget"},
                                          {"tools"},
                                          {"tool_choice", "tool_choice"},
                                          {"parallel_tool_calls", "parallel_tool_calls"},
                                          {"top_logprobs", "top_logprobs"},
                                          {"include"},
                                          {"stream", "stream"},
                                          {"stream_options", "stream_options"},
                                          {"truncation"},
                                          {"metadata"},
                                          {"service_tier"},
                                          {"safety_identifier"},
                                          {"prompt_cache_key"},
                                          {"prompt_cache_retention"},
                                          {"prompt_cache_options"},
                                          {"max_tool_calls"},
                                          {"background"},
                                          {"context_management"},
                                          {"conversation"},
                                          {"moderation"},
                                          {"prompt"}};

// Parts of an answer that a body may ask for. Most belong to tools that only OpenAI has.
constexpr std::string_view kLogprobs = "message.output_text.logprobs";
constexpr std::string_view kIncludable[] = {kLogprobs,
                                            "reasoning.encrypted_content",
                                            "file_search_call.results",
                                            "web_search_call.results",
                                            "web_search_call.action.sources",
                                            "message.input_image.image_url",
                                            "computer_call_output.output.image_url",
                                            "code_interpreter_call.outputs"};

constexpr const char* kItemTypes =
    "\"message\", \"function_call\", \"function_call_output\", \"reasoning\" or "
    "\"item_reference\"";

// Items of a conversation take as many bytes as a body may.
constexpr size_t kMostConversationBytes = size_t{32} << 20;

// The object without its nulls and without one more member.
Json without(const Json& object, std::string_view name) {
  Json rest = Json::object();
  for (const auto& [key, value] : object.items())
    if (key != name && !value.is_null()) rest[key] = value;
  return rest;
}

// {"type": "function", "name", ...} as a chat has it.
Json nested_function(const Json& flat) {
  const bool is_function = flat.is_object() && text_member(flat, "type") == "function";
  if (!is_function) return flat;  // the reader of chats says what is wrong
  return {{"type", "function"}, {"function", without(flat, "type")}};
}

class ResponsesTranslator {
 public:
  ResponsesTranslator(const Json& body, const ResponsesContext& context)
      : fields_(body), body_(body), context_(context) {}

  Result<ResponsesRequest> run() {
    fields_.fail(out_.draft.copy(body_, kResponsesFields));
    read_unsupported();
    read_text();
    read_reasoning();
    read_tools();
    read_logprobs();
    read_truncation();
    fields_.flag("store", out_.is_stored);
    Json metadata = Json::object();
    fields_.object("metadata", metadata);
    if (fields_.status()) read_conversation();
    if (!fields_.status()) return fields_.status().error();
    return std::move(out_);
  }

 private:
  Json& chat() { return out_.draft.chat; }

  void read_unsupported() {
    for (const char* name :
         {"background", "context_management", "conversation", "moderation", "prompt"})
      if (fields_.has(name) && fields_[name] != Json(false))
        fields_.fail(invalid_field(
            name, "is not supported{}",
            name == std::string_view("conversation") ? " (hint: 'previous_response_id')" : ""));
    std::string ignored;
    for (const char* name : {"user", "service_tier", "safety_identifier", "prompt_cache_key",
                             "prompt_cache_retention"})
      fields_.text(name, ignored);
    int most_calls = 0;
    fields_.integer("max_tool_calls", most_calls);
  }

  void read_text() {
    Json text = Json::object();
    fields_.object("text", text);
    Fields inner(text);
    inner.only(NameList{"format", "verbosity"});
    if (inner.has("verbosity")) take("verbosity", text["verbosity"], "text.verbosity");
    if (inner.has("format")) {
      const Json& format = text["format"];
      const bool is_schema = format.is_object() && text_member(format, "type") == "json_schema";
      take("response_format",
           is_schema ? Json{{"type", "json_schema"}, {"json_schema", without(format, "type")}}
                     : format,
           "text.format");
      out_.draft.set_origin("response_format.json_schema", "text.format");
    }
    fields_.fail("text", inner);
  }

  // A summary of the reasoning is never made: the whole of it is in the answer. "context" and
  // "mode" change nothing.
  void read_reasoning() {
    Json reasoning = Json::object();
    fields_.object("reasoning", reasoning);
    Fields inner(reasoning);
    inner.only(NameList{"effort", "summary", "generate_summary", "context", "mode"});
    std::string ignored;
    for (const char* name : {"summary", "generate_summary", "context", "mode"})
      inner.text(name, ignored);
    if (inner.has("effort")) take("reasoning_effort", reasoning["effort"], "reasoning.effort");
    fields_.fail("reasoning", inner);
  }

  void read_tools() {
    if (!fields_.has("tools")) return;
    Json tools = body_["tools"];
    for (size_t i = 0; tools.is_array() && i < tools.size(); ++i) {
      tools[i] = nested_function(tools[i]);
      out_.draft.set_origin(place_in("tools", i) + ".function", place_in("tools", i));
    }
    take("tools", std::move(tools), "tools");
  }

  void read_logprobs() {
    std::vector<std::string> include;
    fields_.text_list("include", include);
    for (size_t i = 0; i < include.size(); ++i)
      if (std::ranges::find(kIncludable, include[i]) == std::end(kIncludable))
        fields_.fail(place_in("include", i), body_["include"][i], one_of_these(kIncludable));
    int n_top = 0;
    fields_.integer("top_logprobs", n_top);
    if (n_top > 0 || std::ranges::find(include, kLogprobs) != include.end())
      chat()["logprobs"] = true;
  }

  void read_truncation() {
    std::string truncation = "disabled";
    fields_.text("truncation", truncation);
    if (truncation == "auto") {
      chat()["truncate_prompt_tokens"] = -1;
    } else if (truncation != "disabled") {
      fields_.fail("truncation", body_["truncation"], "\"auto\" or \"disabled\"");
    }
  }

  void take(const char* chat_name, Json value, std::string origin) {
    chat()[chat_name] = std::move(value);
    out_.draft.set_origin(chat_name, std::move(origin));
  }

  void read_conversation() {
    ItemMessages messages(out_.draft);
    std::string instructions;
    fields_.text("instructions", instructions);
    if (!instructions.empty()) messages.add_instructions(instructions);
    fields_.text("previous_response_id", out_.previous);
    if (!out_.previous.empty()) add_earlier(messages);
    if (!fields_.status()) return;
    if (!fields_.has("input")) {
      if (out_.previous.empty()) fields_.fail(missing_field("input"));
      return;
    }
    const Json& input = body_["input"];
    if (input.is_string()) return add({{"role", "user"}, {"content", input}}, "input", messages);
    if (!input.is_array() || (input.empty() && out_.previous.empty()))
      return fields_.fail("input", input, "a string or a non-empty list of items");
    for (size_t i = 0; i < input.size() && fields_.status(); ++i)
      add(input[i], place_in("input", i), messages);
  }

  // The items of the response that is continued, and of those that it continues.
  void add_earlier(ItemMessages& messages) {
    constexpr const char* kField = "previous_response_id";
    std::vector<StoredResponse> chain;
    size_t n_bytes = 0;
    for (std::string id = out_.previous; !id.empty(); id = chain.back().previous) {
      Result<StoredResponse> found = find(id);
      if (!found) return fields_.fail(blame(kField, found.error()));
      n_bytes += found->input.size() + found->response.size() + sizeof *found;
      if (n_bytes > kMostConversationBytes)
        return fields_.fail(invalid_field(kField,
                                          "continues a conversation of more than {} MiB, expected "
                                          "a shorter one",
                                          kMostConversationBytes >> 20));
      chain.push_back(std::move(*found));
    }
    for (; !chain.empty() && fields_.status(); chain.pop_back())
      for (const Json& list : lists_of(chain.back()))
        for (const Json& item : list)
          fields_.fail(messages.add(item, text_member(item, "type"), kField));
  }

  // Counts among what the body asks for: it is read like a part of it.
  Result<StoredResponse> find(const std::string& id) {
    if (context_.store == nullptr) return not_found("there is no response '{}'", one_line(id));
    Result<StoredResponse> found = context_.store->find(context_.isolation_key, id);
    if (!found) return found;
    const Status status = context_.bounds.add(1, found->input.size() + found->response.size());
    if (!status) return status.error();
    return found;
  }

  // The items of a response: those that were asked, and its answer's.
  std::vector<Json> lists_of(const StoredResponse& stored) {
    const Result<Json> input = parse_json(stored.input, LargeNumbers::kKept);
    const Result<Json> response = parse_json(stored.response, LargeNumbers::kKept);
    if (!input || !response || !response->is_object() || !response->contains("output")) {
      fields_.fail(io_error("the response '{}' is stored in a form that cannot be read",
                            one_line(stored.id)));
      return {};
    }
    return {*input, (*response)["output"]};
  }

  // An item that an earlier request had, or an earlier answer. Its id has that of the response in
  // it: "msg_ID", "msg_ID_in2".
  Result<Json> referenced(const std::string& id) {
    const size_t begin = id.find('_');
    if (begin != std::string::npos) {
      const size_t end = id.find('_', begin + 1);
      Result<StoredResponse> stored =
          find("resp_" + id.substr(begin + 1, end == std::string::npos ? end : end - begin - 1));
      if (!stored && stored.error().code != ErrorCode::kNotFound) return stored.error();
      if (stored)
        for (const Json& list : lists_of(*stored))
          for (const Json& item : list)
            if (text_member(item, "id") == id) return item;
    }
    return not_found("there is no item '{}'", one_line(id));
  }

  void add(const Json& given, const std::string& origin, ItemMessages& messages) {
    if (!given.is_object()) return fields_.fail(origin, given, "an object");
    std::string type = text_member(given, "type");
    const bool has_type = given.contains("type") && !given["type"].is_null();
    if (!has_type) type = given.contains("role") ? "message" : "item_reference";
    Json item = given;
    if (type == "item_reference") {
      Fields reference(given);
      reference.only(NameList{"type", "id"});
      std::string id;
      reference.text("id", id);
      if (!reference.has("id")) reference.refuse("id", "the id of an item");
      if (!reference.status()) return fields_.fail(origin.c_str(), reference);
      Result<Json> found = referenced(id);
      if (!found) return fields_.fail(blame(origin + ".id", found.error()));
      item = std::move(*found);
      type = text_member(item, "type");
    }
    constexpr std::string_view kTypes[] = {"message", "function_call", "function_call_output",
                                           "reasoning"};
    if (std::ranges::find(kTypes, type) == std::end(kTypes)) {
      Fields unknown(item);
      unknown.refuse("type", kItemTypes);
      return fields_.fail(origin.c_str(), unknown);
    }
    fields_.fail(messages.add(item, type, origin));
    if (fields_.status()) keep(std::move(item), type);
  }

  // As GET /v1/responses/{response_id}/input_items tells it, where no two items have one id.
  void keep(Json item, const std::string& type) {
    const std::string_view kind = type == "message"         ? "msg"
                                  : type == "function_call" ? "fc"
                                  : type == "reasoning"     ? "rs"
                                                            : "fco";
    item["type"] = type;
    std::string id = text_member(item, "id");
    if (id.empty() || !ids_.insert(id).second)
      item["id"] = fmt::format("{}_{}_in{}", kind, context_.id, out_.input.size());
    if (text_member(item, "status").empty()) item["status"] = "completed";
    if (type == "message" && item["content"].is_string()) {
      Json part = {{"type", item["role"] == "assistant" ? "output_text" : "input_text"},
                   {"text", item["content"]}};
      if (item["role"] == "assistant") part["annotations"] = Json::array();
      item["content"] = Json::array({std::move(part)});
    }
    out_.input.push_back(std::move(item));
  }

  Fields fields_;
  const Json& body_;
  const ResponsesContext& context_;
  ResponsesRequest out_;
  std::unordered_set<std::string> ids_;  // that items of the body have
};

}  // namespace

Result<ResponsesRequest> translate_responses_body(const Json& body,
                                                  const ResponsesContext& context) {
  return ResponsesTranslator(body, context).run();
}

}  // namespace pando::ask
