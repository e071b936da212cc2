// Gemma 2: soft caps of scores and of logits; a window in every other layer.
#include <fmt/format.h>

#include "model/config_ranges.h"
#include "model/families/decoder_fields.h"
#include "model/families/gemma.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr const char *kScoreCap = "attn_logit_softcapping", *kLogitCap = "final_logit_softcapping";
constexpr std::string_view kOffers[] = {kGemmaScalar, kScoreCap, kLogitCap};
constexpr int kInterval = 2;  // every other layer sees all, where nothing else is said

void fix(ModelConfig& config) { config.activation = Activation::kGeluTanh; }

// Null: none.
float read_cap(Fields& fields, const char* name, double absent) {
  if (fields.contains(name) && !fields.has(name)) return 0.0f;
  return static_cast<float>(fields.real(name, kScales, absent));
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(
      fields,
      {.head_dim = 256, .activation = kGemmaActivation, .tied = true, .attention_bias = true},
      config);
  const int64_t interval = fields.integer("sliding_window_pattern", 1, kMaxLayers, kInterval);
  read_mixed_windows(fields, /*absent=*/4096, interval, config);
  config.score_cap = read_cap(fields, kScoreCap, 50.0);
  config.logit_cap = read_cap(fields, kLogitCap, 30.0);
  read_gemma(fields, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  const auto number = [](float cap) {
    return cap == 0.0f ? nlohmann::json(nullptr) : nlohmann::json::parse(fmt::format("{}", cap));
  };
  object[kScoreCap] = number(config.score_cap);
  object[kLogitCap] = number(config.logit_cap);
  write_gemma(config, object);
  write_mixed_windows(config, object);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.layer_windows(kInterval);
  gguf.attention_bias();
  for (const char* name : {kScoreCap, kLogitCap})
    gguf.fields().copy_real(name, name, gguf.config());
  translate_gemma(gguf, /*largest=*/46);
}

ModelConfig gemma2_2b() {
  ModelConfig config = shape_of(kGemma2, {.vocab = 256000,
                                          .d_model = 2304,
                                          .n_layers = 26,
                                          .n_heads = 8,
                                          .n_kv_heads = 4,
                                          .d_ff = 9216,
                                          .head_dim = 256});
  config.rms_eps = 1e-6f;
  config.max_positions = 8192;
  config.tied_embeddings = true;
  config.bos_id = 2;
  config.eos_ids = {1, 107};
  config.score_cap = 50.0f;
  config.logit_cap = 30.0f;
  scale_embeddings(config);
  set_windows(4096, kInterval, config);
  return config;
}

// Caps that are near to what they cap.
ModelConfig tiny_gemma2() {
  ModelConfig config =
      tiny_shape(kGemma2, {.n_layers = 2, .head_dim = 16, .d_ff = 152, .tied = false});
  config.score_cap = 1.5f;
  config.logit_cap = 4.0f;
  scale_embeddings(config);
  set_windows(24, kInterval, config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"gemma-2-2b", gemma2_2b()}, {"tiny-gemma2", tiny_gemma2()}};
}

}  // namespace

const Family kGemma2 = {.name = "gemma2",
                        .architecture = "Gemma2ForCausalLM",
                        .gguf_architecture = "gemma2",
                        .offers = kOffers,
                        .fix = fix,
                        .read = read,
                        .write = write,
                        .translate = translate,
                        .layer_weights = gemma_layer,
                        .last_norm = last_gemma_norm,
                        .shapes = shapes};

}  // namespace pando::model
