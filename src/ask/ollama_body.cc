// Chats and generations of Ollama's API.
#include "ask/ollama_body.h"

#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

#include "api/model_access.h"
#include "ask/door_body.h"
#include "base/errors.h"
#include "base/fields.h"

namespace pando::ask {
namespace {

constexpr DoorField kOllamaChatFields[] = {{"messages", "messages"},
                                           {"tools", "tools"},
                                           {"stream", "stream"},
                                           {"think"},
                                           {"format"},
                                           {"options"},
                                           {"logprobs", "", "false"},
                                           {"top_logprobs", "", "0"},
                                           {"keep_alive"}};
constexpr DoorField kOllamaGenerateFields[] = {{"prompt"},
                                               {"suffix", "suffix"},
                                               {"system"},
                                               {"raw"},
                                               {"stream", "stream"},
                                               {"think"},
                                               {"format"},
                                               {"options"},
                                               {"template", "", "\"\""},
                                               {"images", "", "[]"},
                                               {"context", "", "[]"},
                                               {"logprobs", "", "false"},
                                               {"top_logprobs", "", "0"},
                                               {"keep_alive"}};
// The fields after "typical_p" change no answer.
constexpr DoorField kOllamaOptions[] = {{"num_predict", "max_tokens"},
                                        {"stop", "stop"},
                                        {"repeat_penalty", "repetition_penalty"},
                                        {"mirostat", "", "0"},
                                        {"tfs_z", "", "1"},
                                        {"typical_p", "", "1"},
                                        {"mirostat_eta"},
                                        {"mirostat_tau"},
                                        {"repeat_last_n"},
                                        {"penalize_newline"},
                                        {"num_ctx"},
                                        {"num_keep"},
                                        {"num_batch"},
                                        {"num_gpu"},
                                        {"main_gpu"},
                                        {"num_thread"},
                                        {"numa"},
                                        {"low_vram"},
                                        {"use_mmap"},
                                        {"use_mlock"}};

enum class OllamaCall { kChat, kGenerate };

class OllamaBody : public DoorBody {
 public:
  OllamaBody(const BodyContext& context, ChatDraft draft, OllamaCall call)
      : DoorBody(context, std::move(draft)), call_(call) {}

  const char* stream_type() const override { return "application/x-ndjson"; }

  std::string write_event(size_t, const Event& event) override {
    if (event.text.empty() && event.reasoning.empty() && event.calls.empty()) return {};
    return json_text(said(event, /*done=*/false)) + "\n";
  }

  std::string write_answers(size_t) override { return json_text(ended(Event())) + "\n"; }

  Json answer() override {
    const Completion& completion = completed();
    return ended(
        {.text = completion.text, .reasoning = completion.reasoning, .calls = completion.calls});
  }

 private:
  Json said(const Event& event, bool done) const {
    Json json = {{"model", envelope_.model}, {"created_at", ollama_time(envelope_.created)}};
    const bool is_chat = call_ == OllamaCall::kChat;
    if (is_chat) json["message"] = {{"role", "assistant"}};
    Json& to = is_chat ? json["message"] : json;
    to[is_chat ? "content" : "response"] = event.text;
    if (!event.reasoning.empty()) to["thinking"] = event.reasoning;
    for (const ToolCall& call : event.calls)
      to["tool_calls"].push_back(
          {{"id", call.id},
           {"function", {{"name", call.name}, {"arguments", written_json(call.arguments)}}}});
    json["done"] = done;
    return json;
  }

  Json ended(const Event& event) const {
    const Completion& completion = completed();
    Json json = said(event, /*done=*/true);
    json["done_reason"] = completion.finish_reason == FinishReason::kStop ? "stop" : "length";
    json["prompt_eval_count"] = completion.prompt_tokens;
    json["eval_count"] = completion.tokens.size();
    add_notes(json);
    return json;
  }

  const OllamaCall call_;
};

void translate_ollama_messages(Json& chat) {
  if (!chat.contains("messages") || !chat["messages"].is_array()) return;
  constexpr std::pair<const char*, const char*> kNames[] = {{"thinking", "reasoning_content"},
                                                            {"tool_name", "name"}};
  for (Json& message : chat["messages"]) {
    if (!message.is_object()) continue;
    if (message.contains("images") && message["images"].empty()) message.erase("images");
    for (const auto& [name, chat_name] : kNames) {
      if (!message.contains(name)) continue;
      Json value = std::move(message[name]);
      message.erase(name);
      message[chat_name] = std::move(value);
    }
  }
}

// Fields that chats and generations share.
Status read_ollama_common(const Json& json, const BodyContext& context, DoorDraft& door) {
  ChatDraft& draft = door.draft;
  if (!draft.chat.contains("stream")) draft.chat["stream"] = true;
  Fields fields(json);
  if (fields.has("options"))
    if (Status status = draft.copy("options", json["options"], kOllamaOptions); !status)
      return status;
  for (const char* name : {"max_tokens", "seed"}) draft.drop_negative(name);
  if (door.endpoint == Endpoint::kCompletions && !draft.chat.contains("max_tokens"))
    draft.chat["max_tokens"] = context.context;
  if (fields.has("format") && is_text(json["format"], "json")) {
    draft.chat["response_format"] = {{"type", "json_object"}};
  } else if (fields.has("format") && !is_text(json["format"], "")) {
    draft.chat["guided_json"] = json["format"];
  }
  draft.set_origin("response_format", "format");
  draft.set_origin("guided_json", "format");
  if (!fields.has("think")) return {};
  const Json& think = json["think"];
  if (!think.is_boolean() && !think.is_string())
    return invalid_field("think", "is {}, expected true, false, \"low\", \"medium\" or \"high\"",
                         found_text(think));
  door.thinks = think != Json(false);
  if (door.endpoint != Endpoint::kChat && door.thinks)
    return invalid_field("think", "is {}, expected false without a chat", found_text(think));
  if (!door.thinks && door.endpoint == Endpoint::kChat) draft.set_thinking(false, "think");
  if (think.is_string()) draft.chat["reasoning_effort"] = think;
  draft.set_origin("reasoning_effort", "think");
  return {};
}

// A chat of one message, unless the prompt is to stay as it is.
Status read_ollama_prompt(const Json& json, const BodyContext& context, DoorDraft& door) {
  Fields fields(json);
  std::string system, suffix, prompt;
  bool is_raw = false;
  fields.text("system", system);
  fields.text("suffix", suffix);
  fields.text("prompt", prompt);
  fields.flag("raw", is_raw);
  if (!fields.status()) return fields.status();
  if (prompt.empty()) return invalid_field("prompt", "is empty, expected at least one character");
  Json& chat = door.draft.chat;
  if (!is_raw && suffix.empty() && chat_template_of(context.model)) {
    chat.erase("suffix");
    Json messages = Json::array();
    if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
    messages.push_back({{"role", "user"}, {"content", prompt}});
    chat["messages"] = std::move(messages);
    door.draft.set_origin("messages", "prompt");
    return {};
  }
  if (!system.empty())
    return invalid_field("system",
                         "is there, expected none, because a plain prompt has no system message");
  door.endpoint = Endpoint::kCompletions;
  chat["prompt"] = std::move(prompt);
  return {};
}

Json ollama_error(const HttpError& error) { return {{"error", error.message}}; }

}  // namespace

Result<std::unique_ptr<Body>> read_ollama_chat_body(const Json& json, const BodyContext& context) {
  DoorDraft door;
  if (Status status = door.draft.copy(json, kOllamaChatFields); !status) return status.error();
  translate_ollama_messages(door.draft.chat);
  if (Status status = read_ollama_common(json, context, door); !status) return status.error();
  return read_door<OllamaBody>(std::move(door), context, OllamaCall::kChat);
}

Result<std::unique_ptr<Body>> read_ollama_generate_body(const Json& json,
                                                        const BodyContext& context) {
  DoorDraft door;
  if (Status status = door.draft.copy(json, kOllamaGenerateFields); !status) return status.error();
  if (Status status = read_ollama_prompt(json, context, door); !status) return status.error();
  if (Status status = read_ollama_common(json, context, door); !status) return status.error();
  return read_door<OllamaBody>(std::move(door), context, OllamaCall::kGenerate);
}

std::string ollama_time(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm utc{};
  gmtime_r(&time, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

const ErrorForm kOllamaErrors = {.body = ollama_error, .last_events = [](const HttpError& error) {
                                   return json_text(ollama_error(error)) + "\n";
                                 }};

}  // namespace pando::ask
