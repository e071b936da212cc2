// GPT-NeoX and Pythia: LayerNorm with biases; biases of all matrices; attention and feed-forward
// side by side, each with its own norm; queries, keys and values of a head in neighbouring rows of
// one tensor; a part of a head's channels rotates; a feed-forward without a gate, with GELU.
#include <array>
#include <string_view>

#include "base/errors.h"
#include "model/config_ranges.h"
#include "model/families/decoder_fields.h"
#include "model/families/gelu.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr double kShare = 0.25;
constexpr const char *kEps = "layer_norm_eps", *kParallel = "use_parallel_residual",
                     *kBias = "attention_bias", *kShareName = "rotary_pct",
                     *kThetaName = "rotary_emb_base", *kGelu = "gelu";
constexpr std::array<std::string_view, 1> kOffers = {kParallel};

void fix(ModelConfig& config) {
  config.norm = Norm::kLayer;
  config.norm_bias = true;
  config.parallel = true;
  config.feed_forward_bias = true;
  config.activation = Activation::kUngatedGelu;
}

// Of a rotation that goes by two names.
void refuse_other(Fields& fields, const char* name, double value, const char* other, double used) {
  if (fields.has(name) && fields.has(other) && value != used)
    fields.refuse(name, fmt::format("{}, as '{}' says", used, other));
}

void read(Fields& fields, ModelConfig& config) {
  const double share = fields.real(kShareName, {"a number in (0, 1]", 0, 1}, kShare);
  const double theta = fields.real(kThetaName, kThetas, 10000.0);
  const std::string activation = read_gelu(fields, kGelu, config);
  read_decoder(fields,
               {.kv_heads_as_heads = true,
                .rms_eps = 1e-5,
                .rms_eps_name = kEps,
                .activation = activation.c_str(),
                .attention_bias = true,
                .rope = {.partial = true, .theta = theta, .rotary_share = share}},
               config);
  refuse_window(fields, config);
  refuse_other(fields, kShareName, share, "partial_rotary_factor",
               config.rotations[0].rotary_share);
  refuse_other(fields, kThetaName, theta, "rope_theta", config.rotations[0].theta);
  if (config.n_kv_heads != config.n_heads)
    fields.refuse("num_key_value_heads", fmt::format("{}, the number of heads", config.n_heads),
                  ErrorCode::kUnsupported);
  if (int64_t{config.n_heads} * config.head_dim != config.d_model)
    fields.refuse(
        "head_dim",
        fmt::format("'hidden_size' {} / 'num_attention_heads' {}", config.d_model, config.n_heads),
        ErrorCode::kUnsupported);
  config.qkv_bias = config.o_bias = fields.boolean(kBias, true);
  config.parallel = fields.boolean(kParallel, true);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object[kEps] = object["rms_norm_eps"];
  object[kShareName] = config.rotations[0].rotary_share;
  object[kThetaName] = config.rotations[0].theta;
  for (const char* name : {"rms_norm_eps", "partial_rotary_factor", "rope_theta"})
    object.erase(name);
  object[kParallel] = config.parallel;
  write_gelu(config, object);
}

// Files do not say which GELU it is: that of Pythia.
void translate(GgufTranslator& gguf) {
  gguf.decoder("attention.layer_norm_epsilon");
  gguf.no_window();
  gguf.same(kEps, "rms_norm_eps");
  nlohmann::json& config = gguf.config();
  config["hidden_act"] = kGelu;
  config[kBias] = gguf.has_tensor(".attn_qkv.bias");
  if (!config.contains("partial_rotary_factor")) config["partial_rotary_factor"] = 1.0;
  const std::optional<bool> parallel = gguf.fields().boolean(kParallel);
  if (!parallel) gguf.fields().refuse(kParallel, "true or false");
  config[kParallel] = parallel.value_or(true);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& c, int layer) {
  LayerSpecs specs(c, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  const int64_t n = 3 * c.q_dim(), head_dim = c.head_dim;
  // A checkpoint has query, key and value of the first head, then those of the second.
  const RowOrder by_head = {0, c.n_heads, {head_dim, head_dim, head_dim}};
  specs
      .add("attention.query_key_value.weight", "attn_qkv.weight", {n, c.d_model},
           &LayerWeights::qkv)
      .rows = by_head;
  if (c.qkv_bias)
    specs.add("attention.query_key_value.bias", "attn_qkv.bias", {n}, &LayerWeights::qkv_bias)
        .rows = by_head;
  specs.output("attention.dense");
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.up_and_down("mlp.dense_h_to_4h", "mlp.dense_4h_to_h");
  return specs.take();
}

void last_norm(WeightSpec& spec) { spec.name = "model.final_layer_norm.weight"; }

// Which positions a position sees, as older files store it.
std::string_view passed_over(const ModelConfig&, std::string_view tensor) {
  return tensor.ends_with(".attention.bias") || tensor.ends_with(".attention.masked_bias")
             ? "attention mask"
             : "";
}

ModelConfig pythia_1_4b() {
  ModelConfig config = shape_of(kGptNeoX, {.vocab = 50304,
                                           .d_model = 2048,
                                           .n_layers = 24,
                                           .n_heads = 16,
                                           .n_kv_heads = 16,
                                           .d_ff = 8192});
  config.rotations[0].rotary_share = kShare;
  config.max_positions = 2048;
  config.qkv_bias = config.o_bias = true;
  config.bos_id = 0;
  config.eos_ids = {0};
  return config;
}

ModelConfig tiny_gpt_neox() {
  ModelConfig config =
      tiny_shape(kGptNeoX, {.n_layers = 2, .head_dim = 16, .d_ff = 152, .tied = false});
  config.n_kv_heads = config.n_heads;
  config.rotations[0].rotary_share = kShare;
  config.qkv_bias = config.o_bias = true;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"pythia-1.4b", pythia_1_4b()}, {"tiny-gpt-neox", tiny_gpt_neox()}};
}

}  // namespace

const Family kGptNeoX = {.name = "gpt_neox",
                         .architecture = "GPTNeoXForCausalLM",
                         .gguf_architecture = "gptneox",
                         .offers = kOffers,
                         .fix = fix,
                         .read = read,
                         .write = write,
                         .translate = translate,
                         .layer_weights = layer_weights,
                         .embedding = "model.embed_in.weight",
                         .last_norm = last_norm,
                         .passed_over = passed_over,
                         .shapes = shapes};

}  // namespace pando::model
