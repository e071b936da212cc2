// Cohere's Command R7B and Command A: LayerNorm; attention and feed-forward of one norm; a window
// and rotation in most layers, neither in the others; the channels that turn together are
// neighbours.
#include "base/errors.h"
#include "model/config_ranges.h"
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr const char* kScale = "logit_scale";
constexpr std::string_view kOffers[] = {kScale};
constexpr int kInterval = 4;  // every fourth layer sees all, where nothing else is said

void fix(ModelConfig& config) {
  config.norm = Norm::kLayer;
  config.parallel = true;
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.kv_heads_as_heads = true,
                .rms_eps = 1e-5,
                .rms_eps_name = "layer_norm_eps",
                .tied = true,
                .attention_bias = true},
               config);
  config.logit_scale = static_cast<float>(fields.real(kScale, kScales, 0.0625));
  const int64_t interval = fields.integer("sliding_window_pattern", 1, kMaxLayers, kInterval);
  read_mixed_windows(fields, /*absent=*/4096, interval, config);
  rotate_in_windows(config);
  if (fields.positive("rotary_pct", 1.0) != 1.0)
    fields.refuse("rotary_pct", "1", ErrorCode::kUnsupported);
  if (!fields.boolean("use_parallel_block", true))
    fields.refuse("use_parallel_block", "true", ErrorCode::kUnsupported);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object["layer_norm_eps"] = object["rms_norm_eps"];
  object.erase("rms_norm_eps");
  object[kScale] = nlohmann::json::parse(fmt::format("{}", config.logit_scale));
  write_mixed_windows(config, object);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder("attention.layer_norm_epsilon");
  gguf.layer_windows(kInterval);
  gguf.attention_bias();
  gguf.same("layer_norm_eps", "rms_norm_eps");
  if (!gguf.fields().copy_real(kScale, kScale, gguf.config()))
    gguf.fields().refuse(kScale, "a float");
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer, RowPairs::kAll);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.output();
  specs.gate_and_up();
  specs.down();
  return specs.take();
}

ModelConfig command_r7b() {
  ModelConfig config = shape_of(kCohere2, {.vocab = 256000,
                                           .d_model = 4096,
                                           .n_layers = 32,
                                           .n_heads = 32,
                                           .n_kv_heads = 8,
                                           .d_ff = 14336});
  config.rotations[0].theta = 5e4;
  config.max_positions = 132096;
  config.tied_embeddings = true;
  config.bos_id = 5;
  config.eos_ids = {255001};
  config.logit_scale = 0.25f;
  set_windows(4096, kInterval, config);
  rotate_in_windows(config);
  return config;
}

ModelConfig tiny_cohere2() {
  ModelConfig config =
      tiny_shape(kCohere2, {.n_layers = 4, .head_dim = 16, .d_ff = 152, .tied = true});
  config.logit_scale = 0.5f;
  set_windows(24, 2, config);
  rotate_in_windows(config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"command-r7b", command_r7b()}, {"tiny-cohere2", tiny_cohere2()}};
}

}  // namespace

const Family kCohere2 = {.name = "cohere2",
                         .architecture = "Cohere2ForCausalLM",
                         .gguf_architecture = "cohere2",
                         .offers = kOffers,
                         .fix = fix,
                         .read = read,
                         .write = write,
                         .translate = translate,
                         .layer_weights = layer_weights,
                         .shapes = shapes};

}  // namespace pando::model
