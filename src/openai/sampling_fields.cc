#include "openai/sampling_fields.h"

#include "base/errors.h"
#include "base/json.h"

namespace pando {
namespace {

constexpr std::string_view kMessageFields[] = {"role",  "content",       "refusal",   "annotations",
                                               "audio", "function_call", "tool_calls"};
// Answers have these, and come back as messages.
constexpr const char* kEmptyFields[] = {"refusal", "annotations", "audio", "function_call",
                                        "tool_calls"};
constexpr std::string_view kPartFields[] = {"type", "text"};

// A content in parts, of which only texts are known.
Status read_parts(const nlohmann::json& parts, size_t index, std::string& out) {
  for (const nlohmann::json& json : parts) {
    if (!json.is_object())
      return invalid_argument("a part of message {} is {}, expected an object", index,
                              found_text(json));
    Fields fields(json);
    std::string type, text;
    fields.text("type", type);
    if (type != "text")
      return invalid_argument("a part of message {} is of type '{}', expected 'text'", index, type);
    fields.only(kPartFields);
    fields.text("text", text);
    if (!fields.status()) return fields.status();
    out += text;
  }
  return {};
}

}  // namespace

void read_sampling(Fields& fields, SamplingOptions& sampling) {
  fields.integer("max_tokens", sampling.max_tokens);
  fields.number("temperature", sampling.temperature);
  fields.integer("top_k", sampling.top_k);
  if (sampling.top_k == -1) sampling.top_k = 0;  // off, as other servers write it
  fields.number("top_p", sampling.top_p);
  fields.number("min_p", sampling.min_p);
  fields.biases("logit_bias", sampling.logit_bias);
  fields.number("repetition_penalty", sampling.repetition_penalty);
  fields.number("presence_penalty", sampling.presence_penalty);
  fields.number("frequency_penalty", sampling.frequency_penalty);
  fields.seed("seed", sampling.seed);
  fields.integer("n", sampling.n);
  fields.texts("stop", sampling.stop);
  fields.flag("ignore_eos", sampling.ignore_eos);
}

size_t list_bytes(const SamplingOptions& sampling) {
  constexpr size_t kBytesPerBias = 64;  // a node of the map
  size_t n_bytes =
      sampling.logit_bias.size() * kBytesPerBias + sampling.stop_tokens.size() * sizeof(Token);
  for (const std::string& stop : sampling.stop) n_bytes += sizeof(stop) + stop.size();
  return n_bytes;
}

Result<std::vector<ChatMessage>> parse_messages(const nlohmann::json& messages) {
  if (!messages.is_array() || messages.empty())
    return invalid_argument("field 'messages' is {}, expected a list of one or more",
                            found_text(messages));
  std::vector<ChatMessage> out;
  for (const nlohmann::json& json : messages) {
    const size_t index = out.size();
    if (!json.is_object())
      return invalid_argument("message {} is {}, expected an object", index, found_text(json));
    ChatMessage message;
    Fields fields(json);
    fields.only(kMessageFields);
    fields.text("role", message.role);
    if (message.role == "developer") message.role = "system";  // its later name
    for (const char* name : kEmptyFields)
      if (fields.has(name) && fields[name] != nlohmann::json::array())
        fields.fail(name, fields[name], "null or []");
    for (const char* name : {"role", "content"})
      if (!fields.has(name)) fields.fail(invalid_argument("message {} has no '{}'", index, name));
    if (!fields.status()) return fields.status().error();
    if (fields["content"].is_array()) {
      if (Status status = read_parts(fields["content"], index, message.content); !status)
        return status.error();
    } else {
      fields.text("content", message.content);
    }
    if (!fields.status()) return fields.status().error();
    out.push_back(std::move(message));
  }
  return out;
}

}  // namespace pando
