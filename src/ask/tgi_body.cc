// Bodies of Hugging Face's text-generation-inference, and their answers.
#include "ask/tgi_body.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "api/model_access.h"
#include "ask/door_body.h"
#include "ask/logprobs.h"
#include "ask/openai_response.h"
#include "base/errors.h"
#include "base/fields.h"

namespace pando::ask {
namespace {

constexpr int kTgiTokens = 100;  // of an answer without a given length
constexpr DoorField kTgiFields[] = {
    {"inputs", "prompt"}, {"stream", "stream"}, {"parameters"}, {"options"}};
constexpr DoorField kTgiParameters[] = {{"max_new_tokens", "max_tokens"},
                                        {"stop", "stop"},
                                        {"truncate", "truncate_prompt_tokens"},
                                        {"top_n_tokens", "logprobs"},
                                        {"details"},
                                        {"do_sample"},
                                        {"grammar"},
                                        {"return_full_text"},
                                        {"typical_p"},
                                        {"best_of", "", "1"},
                                        {"decoder_input_details", "", "false"},
                                        {"watermark", "", "false"}};

enum class TgiAnswer { kObject, kList };

struct TgiAsked {
  TgiAnswer answer = TgiAnswer::kObject;
  bool details = false;
  bool returns_prompt = false;  // before the answer's text
  bool has_typical_p = false;
};

class TgiBody : public DoorBody {
 public:
  TgiBody(const BodyContext& context, ChatDraft draft, TgiAsked asked)
      : DoorBody(context, std::move(draft)), model_(context.model), asked_(asked) {
    if (asked_.has_typical_p) warn("parameters.typical_p", "has no effect");
  }

  std::string write_event(size_t, const Event& event) override {
    if (event.completion) {
      const Completion& all = *event.completion;
      const TokenLogprob last = all.logprobs.empty() ? TokenLogprob() : all.logprobs.back();
      Json json = token_event(last, event.text + all.stop_text);
      json["generated_text"] = text_of(all);
      json["details"] = counts_of(all);
      json["details"]["input_length"] = all.prompt_tokens;
      add_warnings(json);
      return stream_event(json);
    }
    return event.logprob ? stream_event(token_event(*event.logprob, event.text)) : std::string();
  }

  Json answer() override {
    const Completion& completion = completed();
    Json json = {{"generated_text", text_of(completion)}};
    if (asked_.details) {
      json["details"] = counts_of(completion);
      json["details"]["prefill"] = Json::array();
      Json& tokens = json["details"]["tokens"] = Json::array();
      Json tops = Json::array();
      for (const TokenLogprob& token : completion.logprobs) {
        tokens.push_back(token_json(token.token, token.logprob));
        tops.push_back(tops_of(token));
      }
      if (has_tops()) json["details"]["top_tokens"] = std::move(tops);
    }
    add_notes(json);
    return asked_.answer == TgiAnswer::kList ? Json::array({std::move(json)}) : json;
  }

 private:
  bool has_tops() const { return requests[0].sampling.top_logprobs > 0; }

  // The stop text belongs to the answer here.
  std::string text_of(const Completion& completion) const {
    const std::string prompt = asked_.returns_prompt ? echoed_prompt(requests[0], model_) : "";
    return prompt + completion.text + completion.stop_text;
  }

  Json counts_of(const Completion& completion) const {
    const char* reason = !completion.stop_text.empty()                     ? "stop_sequence"
                         : completion.finish_reason == FinishReason::kStop ? "eos_token"
                                                                           : "length";
    const std::optional<uint64_t>& seed = requests[0].sampling.seed;
    return {{"finish_reason", reason},
            {"generated_tokens", completion.tokens.size()},
            {"seed", seed ? Json(*seed) : Json(nullptr)}};
  }

  Json token_json(Token token, float logprob) const {
    const Tokenizer* tokenizer = tokenizer_of(model_);
    const Result<std::string> text = model_.piece(token);
    const bool special = tokenizer != nullptr &&
                         !tokenizer->token_bytes(token, /*skip_special=*/false).empty() &&
                         tokenizer->token_bytes(token, /*skip_special=*/true).empty();
    return {{"id", token},
            {"text", text ? *text : std::string()},
            {"logprob", printed(logprob)},
            {"special", special}};
  }

  Json tops_of(const TokenLogprob& token) const {
    Json list = Json::array();
    for (const auto& [top, logprob] : token.top) list.push_back(token_json(top, logprob));
    return list;
  }

  // The token has the text that it adds to the answer, so that these join to the whole.
  Json token_event(const TokenLogprob& token, const std::string& text) {
    Json json = {{"index", ++n_tokens_}, {"token", token_json(token.token, token.logprob)}};
    json["token"]["text"] = text;
    if (has_tops()) json["top_tokens"] = tops_of(token);
    json["generated_text"] = nullptr;
    json["details"] = nullptr;
    return json;
  }

  const Model& model_;
  const TgiAsked asked_;
  size_t n_tokens_ = 0;  // of a stream
};

// A form: {"type": "json", "value": schema}, "json_schema" with a named one, or "regex".
Status read_grammar_of(const Json& grammar, ChatDraft& draft) {
  const auto type = grammar.find("type"), value = grammar.find("value");
  const bool has_both = grammar.is_object() && type != grammar.end() && value != grammar.end();
  const bool is_regex = has_both && is_text(*type, "regex");
  const bool is_json = has_both && is_text(*type, "json");
  if (!is_regex && !is_json && !(has_both && is_text(*type, "json_schema")))
    return invalid_field("parameters.grammar", "is {}, expected {}", found_text(grammar),
                         "{\"type\": \"json\", \"json_schema\" or \"regex\", \"value\": ...}");
  const std::string field = is_regex ? "guided_regex" : is_json ? "guided_json" : "response_format";
  draft.chat[field] =
      is_regex || is_json ? *value : Json{{"type", "json_schema"}, {"json_schema", *value}};
  draft.set_origin(field, "parameters.grammar");
  return {};
}

// Without any of these the likeliest token is taken. A value that has no effect does not count.
bool is_sampled(const Fields& parameters) {
  constexpr std::pair<const char*, double> kOff[] = {
      {"do_sample", 0}, {"temperature", 1}, {"top_k", 0}, {"top_p", 1}, {"typical_p", 1}};
  return std::ranges::any_of(kOff, [&](const auto& off) {
    const Json* value = parameters.find(off.first);
    return value != nullptr && *value != Json(off.second) && *value != Json(false);
  });
}

enum class TgiStream { kNever, kAlways, kAsAsked };

Result<std::unique_ptr<Body>> read_tgi(const Json& json, const BodyContext& context,
                                       TgiAnswer answer, TgiStream stream) {
  DoorDraft door{.endpoint = Endpoint::kCompletions};
  ChatDraft& draft = door.draft;
  if (Status status = draft.copy(json, kTgiFields); !status) return status.error();
  const auto given = json.find("parameters");
  const Json parameters = given == json.end() || given->is_null() ? Json::object() : *given;
  if (Status status = draft.copy("parameters", parameters, kTgiParameters); !status)
    return status.error();
  Fields fields(parameters);
  TgiAsked asked{.answer = answer, .has_typical_p = fields.has("typical_p")};
  fields.flag("details", asked.details);
  fields.flag("return_full_text", asked.returns_prompt);
  bool samples = false;
  fields.flag("do_sample", samples);
  double typical_p = 1;  // changes nothing
  fields.number("typical_p", typical_p);
  if (!fields.status()) return in_part("parameters", fields.status().error());
  Fields outer(json);
  bool may_stream = false;  // POST / alone reads it
  outer.flag("stream", may_stream);
  if (!outer.status()) return outer.status().error();
  if (fields.has("grammar"))
    if (Status status = read_grammar_of(parameters["grammar"], draft); !status)
      return status.error();
  if (!is_sampled(fields)) draft.chat["temperature"] = 0;
  if (!fields.has("max_new_tokens")) draft.chat["max_tokens"] = kTgiTokens;
  if (stream != TgiStream::kAsAsked) draft.chat["stream"] = stream == TgiStream::kAlways;
  const bool streams = draft.chat.contains("stream") && draft.chat["stream"] == Json(true);
  if ((streams || asked.details) && !fields.has("top_n_tokens")) draft.chat["logprobs"] = 0;
  return read_door<TgiBody>(std::move(door), context, asked);
}

Json tgi_error(const HttpError& error) {
  const bool is_full = error.status == 429 || error.status == 503;
  const char* type = is_full ? "overloaded" : error.status < 500 ? "validation" : "generation";
  return {{"error", error.message}, {"error_type", type}};
}

}  // namespace

Result<std::unique_ptr<Body>> read_tgi_body(const Json& json, const BodyContext& context) {
  return read_tgi(json, context, TgiAnswer::kObject, TgiStream::kNever);
}

Result<std::unique_ptr<Body>> read_tgi_stream_body(const Json& json, const BodyContext& context) {
  return read_tgi(json, context, TgiAnswer::kObject, TgiStream::kAlways);
}

constexpr const char* kOfEmbeddings[] = {"normalize", "truncate", "truncation_direction",
                                         "prompt_name", "dimensions"};

// Texts to embed come in a list, with a field of embeddings, or to a model whose files say how it
// embeds.
Result<std::unique_ptr<Body>> read_inference_body(const Json& json, const BodyContext& context) {
  const Fields fields(json);
  const bool generates = fields.has("parameters") || fields.has("stream");
  const Json* inputs = fields.find("inputs");
  const Result<model::EmbeddingForm>& form = embedding_form_of(context.model);
  const auto& head = classifier_head_of(context.model);
  if (!generates && head && *head) return read_tei_predict_body(json, context);
  const bool embeds = form && form->pooling != Pooling::kNone;
  const bool asks_for_vectors =
      (inputs != nullptr && inputs->is_array()) ||
      std::ranges::any_of(kOfEmbeddings, [&](const char* name) { return fields.has(name); });
  if (!generates && (asks_for_vectors || embeds)) return read_tei_body(json, context);
  return read_tgi(json, context, TgiAnswer::kList, TgiStream::kAsAsked);
}

const ErrorForm kTgiErrors = {.body = tgi_error, .last_events = [](const HttpError& error) {
                                return stream_event(tgi_error(error));
                              }};

}  // namespace pando::ask
