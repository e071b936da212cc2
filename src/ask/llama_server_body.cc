// Bodies of llama-server's own API, and their answers.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ask/door_body.h"
#include "base/errors.h"
#include "base/fields.h"
#include "text/fim.h"

namespace pando::ask {
namespace {

// The fields after "xtc_probability" change no answer. Samplers run in the order of
// docs/answers.md.
constexpr DoorField kLlamaFields[] = {{"prompt", "prompt"},
                                      {"max_tokens", "max_tokens"},
                                      {"n_predict", "max_tokens"},  // comes later, so it counts
                                      {"stop", "stop"},
                                      {"stream", "stream"},
                                      {"repeat_penalty", "repetition_penalty"},
                                      {"grammar", "grammar"},
                                      {"json_schema", "json_schema"},
                                      {"input_prefix"},
                                      {"input_suffix"},
                                      {"input_extra"},
                                      {"return_tokens"},
                                      {"response_fields"},
                                      {"n_probs", "", "0"},
                                      {"mirostat", "", "0"},
                                      {"typical_p", "", "1"},
                                      {"dynatemp_range", "", "0"},
                                      {"dry_multiplier", "", "0"},
                                      {"xtc_probability", "", "0"},
                                      {"id_slot"},
                                      {"n_cache_reuse"},
                                      {"n_indent"},
                                      {"n_keep"},
                                      {"penalty_last_n"},
                                      {"repeat_last_n"},
                                      {"return_progress"},
                                      {"samplers"},
                                      {"timings_per_token"},
                                      {"t_max_predict_ms"},
                                      {"t_max_prompt_ms"}};
constexpr std::string_view kInfillOnly[] = {"input_prefix", "input_suffix", "input_extra"};

struct LlamaAsked {
  bool returns_tokens = false;
  bool is_empty = false;            // of an answer of no tokens, whose prompt is computed
  std::vector<Token> ends = {};     // that end it, besides the model's own
  std::vector<std::string> fields;  // of the answer, "a/b" for `b` in `a`; empty: all
};

class LlamaBody : public DoorBody {
 public:
  LlamaBody(const BodyContext& context, ChatDraft draft, LlamaAsked asked)
      : DoorBody(context, std::move(draft)), asked_(std::move(asked)) {}

  Status take(OpenAiRequest read, const BodyContext& context) {
    SamplingOptions& sampling = read.requests[0].sampling;
    if (!sampling.ignore_eos)
      sampling.stop_tokens.insert(sampling.stop_tokens.end(), asked_.ends.begin(),
                                  asked_.ends.end());
    return DoorBody::take(std::move(read), context);
  }

  std::string write_event(size_t, const Event& event) override {
    if (event.completion || event.text.empty() || asked_.is_empty) {
      last_text_ = event.text;
      return {};
    }
    return stream_event({{"index", 0},
                         {"content", event.text},
                         {"tokens", Json::array()},
                         {"stop", false},
                         {"tokens_predicted", event.n_tokens},
                         {"tokens_evaluated", requests[0].tokens.size()}});
  }

  std::string write_answers(size_t) override { return stream_event(ended(last_text_)); }

  Json answer() override {
    Json all = ended(completed().text);
    if (asked_.fields.empty()) return all;
    Json chosen = Json::object();
    for (const std::string& path : asked_.fields)
      if (const Json* value = member(all, path)) chosen[path] = *value;
    return chosen;
  }

 private:
  // Null: there is no such member.
  static const Json* member(const Json& json, std::string_view path) {
    const Json* at = &json;
    do {
      const std::string name(path.substr(0, path.find('/')));
      path.remove_prefix(std::min(path.size(), name.size() + 1));
      if (!at->is_object() || !at->contains(name)) return nullptr;
      at = &(*at)[name];
    } while (!path.empty());
    return at;
  }

  Json ended(const std::string& text) const {
    const Completion& completion = completed();
    const bool is_stop = completion.finish_reason == FinishReason::kStop;
    const size_t n_tokens = asked_.is_empty ? 0 : completion.tokens.size();
    const bool has_tokens = asked_.returns_tokens && !asked_.is_empty;
    const int n_cached = completion.shared_tokens;
    Json json = {{"index", 0},
                 {"content", asked_.is_empty ? std::string() : text},
                 {"tokens", has_tokens ? Json(completion.tokens) : Json::array()},
                 {"stop", true},
                 {"model", envelope_.model},
                 {"tokens_predicted", n_tokens},
                 {"tokens_evaluated", completion.prompt_tokens},
                 {"tokens_cached", n_cached},
                 {"has_new_line", text.find('\n') != std::string::npos},
                 {"truncated", false},
                 {"stop_type", !is_stop                       ? "limit"
                               : completion.stop_text.empty() ? "eos"
                                                              : "word"},
                 {"stopping_word", completion.stop_text},
                 {"timings",
                  {{"cache_n", n_cached},
                   {"prompt_n", completion.prompt_tokens - n_cached},
                   {"predicted_n", n_tokens}}}};
    add_notes(json);
    return json;
  }

  const LlamaAsked asked_;
  std::string last_text_;  // of a stream; comes with the end
};

// The parts of other files, then the gap, whose text `prompt` begins.
Result<std::string> infill_prompt(const Json& json, const FimForm& form) {
  Fields fields(json);
  std::string before, behind, begun, prompt;
  fields.text("input_prefix", before);
  fields.text("input_suffix", behind);
  fields.text("prompt", begun);
  if (!fields.status()) return fields.status().error();
  const Json none = Json::array();
  const Json& extra = fields.has("input_extra") ? json["input_extra"] : none;
  if (!extra.is_array())
    return invalid_field("input_extra", "is {}, expected a list", found_text(extra));
  for (size_t i = 0; i < extra.size(); ++i) {
    const std::string place = place_in("input_extra", i);
    if (!extra[i].is_object())
      return invalid_field(place, "is {}, expected an object", found_text(extra[i]));
    Fields part(extra[i]);
    std::string name, text;
    part.text("filename", name);
    part.text("text", text);
    if (!part.has("text")) part.refuse("text", "a string");
    if (!part.status()) return in_part(place, part.status().error());
    prompt += fim_file(form, name, text);
  }
  // If files have names, the file with the gap is one of them.
  if (!extra.empty() && !form.file.empty()) prompt += fim_file(form, "", "");
  return prompt + fim_prompt(form, before + begun, behind);
}

Result<LlamaAsked> read_llama_common(const Json& json, const BodyContext& context, Json& chat) {
  LlamaAsked asked;
  Fields fields(json);
  fields.flag("return_tokens", asked.returns_tokens);
  fields.text_list("response_fields", asked.fields);
  if (!fields.status()) return fields.status().error();
  if (!chat.contains("max_tokens")) chat["max_tokens"] = context.context;
  asked.is_empty = chat["max_tokens"] == Json(0);
  if (asked.is_empty) chat["max_tokens"] = 1;
  return asked;
}

Result<std::unique_ptr<Body>> read_llama(const Json& json, const BodyContext& context,
                                         const FimForm* form) {
  DoorDraft door{.endpoint = Endpoint::kCompletions};
  ChatDraft& draft = door.draft;
  if (Status status = draft.copy(json, kLlamaFields); !status) return status.error();
  for (const char* name : {"max_tokens", "seed"}) draft.drop_negative(name);
  Result<LlamaAsked> asked = read_llama_common(json, context, draft.chat);
  if (!asked) return asked.error();
  if (form != nullptr) {
    Result<std::string> prompt = infill_prompt(json, *form);
    if (!prompt) return prompt.error();
    draft.chat["prompt"] = std::move(*prompt);
    draft.set_origin("prompt", "input_prefix");
    asked->ends = form->ends;
  } else {
    for (const std::string_view name : kInfillOnly)
      if (Fields(json).has(name))
        return invalid_field(std::string(name), "is unknown, expected at /infill alone");
  }
  return read_door<LlamaBody>(std::move(door), context, std::move(*asked));
}

}  // namespace

Result<std::unique_ptr<Body>> read_llama_completion_body(const Json& json,
                                                         const BodyContext& context) {
  return read_llama(json, context, nullptr);
}

Result<std::unique_ptr<Body>> read_llama_infill_body(const Json& json, const BodyContext& context) {
  const Result<FimForm> form = fim_form_for(context.model);
  if (!form) return form.error();
  return read_llama(json, context, &*form);
}

}  // namespace pando::ask
