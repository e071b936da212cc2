// Models and engines of pando.h.
#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "base/errors.h"
#include "base/json.h"
#include "base/model_path.h"
#include "capi/handles.h"
#include "capi/options.h"
#include "capi/status.h"

using namespace pando;
using namespace pando::capi;

namespace pando::capi {
namespace {

std::string info_json(const Model& model) {
  const ModelInfo info = model.info();
  return Json{{"family", info.family},
              {"n_parameters", info.n_parameters},
              {"n_layers", info.n_layers},
              {"d_model", info.d_model},
              {"vocab", info.vocab},
              {"max_positions", info.max_positions},
              {"weight_type", info.weight_type},
              {"weight_bytes", info.weight_bytes},
              {"has_tokenizer", model.has_tokenizer()}}
      .dump();
}

std::string options_json(const GenerationConfig& config) {
  Json json = Json::object();
  for (const auto& [option, value] : config.options)
    if (std::holds_alternative<int SamplingOptions::*>(option->member))
      json[option->name] = static_cast<int>(value);
    else
      json[option->name] = value;
  if (!config.stop.empty()) json["stop"] = config.stop;
  return json.dump();
}

std::string stats_json(const EngineStats& s) {
  return Json{{"arrived_tokens", s.arrived_tokens},
              {"arrived_shared", s.arrived_shared},
              {"requests", s.requests},
              {"prompt_tokens", s.prompt_tokens},
              {"generated_tokens", s.generated_tokens},
              {"prefill_rows", s.prefill_rows},
              {"decode_rows", s.decode_rows},
              {"recomputed_rows", s.recomputed_rows},
              {"steps", s.steps},
              {"preemptions", s.preemptions},
              {"evicted_pages", s.evicted_pages},
              {"evicted_places", s.evicted_places},
              {"places", s.places},
              {"place_bytes", s.place_bytes},
              {"kv_bytes_peak", s.kv_bytes_peak},
              {"step_s", s.step_s},
              {"linear_s", s.linear_s},
              {"attention_s", s.attention_s},
              {"row_ops_s", s.row_ops_s},
              {"sampling_s", s.sampling_s},
              {"planning_s", s.planning_s},
              {"attention_bytes", s.attention_bytes},
              {"linear_flops", s.linear_flops}}
      .dump();
}

// As far as there is room; says how much there is.
template <class T>
pando_status give(std::span<const T> values, T* out, size_t capacity, size_t* n) {
  if (n == nullptr) return fail(null_argument("the number"));
  if (out == nullptr) capacity = 0;
  std::copy_n(values.begin(), std::min(values.size(), capacity), out);
  *n = values.size();
  return PANDO_OK;
}

}  // namespace
}  // namespace pando::capi

pando_status pando_model_load(const char* path, const char* options, pando_model** model) {
  return guarded([&] {
    if (path == nullptr) return fail(null_argument("path"));
    if (model == nullptr) return fail(null_argument("model"));
    const Result<ModelOptions> read = read_model_options(or_empty(options));
    if (!read) return fail(read.error());
    const ModelPath files(std::filesystem::path{path});
    Result<std::shared_ptr<const Model>> loaded = Model::load(files, *read);
    if (!loaded) return fail(loaded.error());
    std::string info = info_json(**loaded);
    *model = new pando_model{std::move(*loaded), std::move(info), read_generation_config(files)};
    return PANDO_OK;
  });
}

void pando_model_free(pando_model* model) { delete model; }

const char* pando_model_info(const pando_model* model) {
  return model == nullptr ? "" : model->info.c_str();
}

pando_status pando_encode(const pando_model* model, const char* text, size_t size, int add_bos,
                          int32_t* tokens, size_t capacity, size_t* n_tokens) {
  return guarded([&] {
    if (model == nullptr) return fail(null_argument("model"));
    if (text == nullptr && size > 0) return fail(null_argument("text"));
    const Result<std::vector<Token>> encoded =
        model->model->encode(std::string_view(text, size), add_bos != 0);
    if (!encoded) return fail(encoded.error());
    return give<int32_t>(*encoded, tokens, capacity, n_tokens);
  });
}

pando_status pando_decode(const pando_model* model, const int32_t* tokens, size_t n_tokens,
                          char* text, size_t capacity, size_t* size) {
  return guarded([&] {
    if (model == nullptr) return fail(null_argument("model"));
    if (tokens == nullptr && n_tokens > 0) return fail(null_argument("tokens"));
    const Result<std::string> decoded = model->model->decode(std::span(tokens, n_tokens));
    if (!decoded) return fail(decoded.error());
    return give<char>(*decoded, text, capacity, size);
  });
}

pando_status pando_sampling_defaults(const pando_model* model, char* text, size_t capacity,
                                     size_t* size) {
  return guarded([&] {
    if (model == nullptr) return fail(null_argument("model"));
    const Result<GenerationConfig>& config = model->defaults;
    if (!config && config.error().code != ErrorCode::kNotFound) return fail(config.error());
    return give<char>(config ? options_json(*config) : "{}", text, capacity, size);
  });
}

pando_status pando_engine_open(const pando_model* model, const char* options,
                               pando_engine** engine) {
  return guarded([&] {
    if (model == nullptr) return fail(null_argument("model"));
    if (engine == nullptr) return fail(null_argument("engine"));
    const Result<EngineOptions> read = read_engine_options(or_empty(options));
    if (!read) return fail(read.error());
    Result<std::unique_ptr<Engine>> opened = Engine::open(model->model, *read);
    if (!opened) return fail(opened.error());
    *engine = new pando_engine{std::move(*opened)};
    return PANDO_OK;
  });
}

void pando_engine_free(pando_engine* engine) {
  if (is_here(engine)) delete engine;
}

pando_status pando_engine_stats(const pando_engine* engine, char* text, size_t capacity,
                                size_t* size) {
  return guarded([&] {
    if (Status status = check_handle(engine, "engine"); !status) return fail(status.error());
    return give<char>(stats_json(engine->engine->stats()), text, capacity, size);
  });
}
