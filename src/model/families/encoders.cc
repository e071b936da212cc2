// Hooks read the configurations of encoders.
#include <algorithm>

#include "base/errors.h"
#include "base/json.h"
#include "model/config_ranges.h"
#include "model/families/hooks.h"
#include "model/families/layer_list.h"

namespace pando::model {
namespace {

using json = Json;

constexpr WholeRange kTypeCounts = {0, 256};
constexpr const char *kTypes = "type_vocab_size", *kPad = "pad_token_id",
                     *kPositions = "max_position_embeddings", *kParameters = "rope_parameters",
                     *kTheta = "rope_theta", *kLocal = "local_attention";

int whole(Fields& fields, const char* name, const WholeRange& range, int absent) {
  return static_cast<int>(fields.integer(name, range, absent));
}

void erase_rotation(ordered_json& object) {
  for (const char* name : {kTheta, "rope_scaling", "partial_rotary_factor"}) object.erase(name);
}

// Positions come from a table alone.
void read_positions(Fields& fields, int offset, ModelConfig& config) {
  config.rotations = {RopeConfig{.rotary_share = 0.0}};
  config.n_learned_positions = config.max_positions;
  config.position_offset = offset;
  config.max_positions -= offset;
  if (config.max_positions < 1) fields.refuse(kPositions, fmt::format("more than {}", offset));
}

// Names of the modules of an attention.
struct AttentionNames {
  const char *q, *k, *v, *o;
};

void add_attention(LayerSpecs& specs, const ModelConfig& config, const AttentionNames& names) {
  const int64_t d = config.d_model, n = config.q_dim();
  const auto add = [&](const char* name, const char* gguf, int64_t rows, int64_t columns,
                       Role weight, Role bias) {
    specs.add(fmt::format("{}.weight", name).c_str(), fmt::format("{}.weight", gguf).c_str(),
              {rows, columns}, weight);
    specs.add(fmt::format("{}.bias", name).c_str(), fmt::format("{}.bias", gguf).c_str(), {rows},
              bias);
  };
  add(names.q, "attn_q", n, d, Role::kQkv, Role::kQkvBias);
  add(names.k, "attn_k", n, d, Role::kQkv, Role::kQkvBias);
  add(names.v, "attn_v", n, d, Role::kQkv, Role::kQkvBias);
  add(names.o, "attn_output", d, n, Role::kO, Role::kOBias);
}

}  // namespace

std::string_view beside_encoder(const ModelConfig& /*config*/, std::string_view tensor) {
  constexpr std::string_view kRoot = "model.";
  if (tensor.starts_with(kRoot)) tensor.remove_prefix(kRoot.size());
  constexpr std::pair<std::string_view, std::string_view> kParts[] = {
      {"pooler.", "pooler"},
      {"classifier", "classifier"},
      {"pre_classifier.", "classifier"},
      {"score.", "classifier"},
      {"cls.", "head"},
      {"head.", "head"},
      {"lm_head.", "head of masked tokens"},
      {"decoder.", "head of masked tokens"},
      {"vocab_transform.", "head of masked tokens"},
      {"vocab_layer_norm.", "head of masked tokens"},
      {"vocab_projector.", "head of masked tokens"},
      {"qa_outputs.", "head of answers"},
      {"sparse_linear.", "head of tokens"},
      {"colbert_linear.", "head of tokens"},
      {"dense_2.", "head"},
      {"dense_3.", "head"},
      {"embeddings.position_ids", "buffer"},
      {"embeddings.token_type_ids", "buffer"}};
  for (const auto& [beginning, part] : kParts)
    if (tensor.starts_with(beginning)) return part;
  return {};
}

// BERT, RoBERTa and DistilBERT.

void read_bert(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  config.n_token_types = whole(fields, kTypes, kTypeCounts, 2);
  read_positions(fields, 0, config);
}

void write_bert(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  erase_rotation(object);
  object.erase("attention_bias");
  object[kPositions] = config.n_learned_positions;
  object[kTypes] = config.n_token_types;
}

void read_roberta(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  config.n_token_types = whole(fields, kTypes, kTypeCounts, 2);
  config.pad_token = whole(fields, kPad, {0, kMaxPositions}, 1);
  read_positions(fields, 1 + *config.pad_token, config);
}

void write_roberta(const ModelConfig& config, ordered_json& object) {
  write_bert(config, object);
  object[kPad] = config.position_offset - 1;
}

void read_distilbert(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  read_positions(fields, 0, config);
}

bool add_bert_attention(LayerSpecs& specs, const ModelConfig& config, int /*layer*/) {
  add_attention(specs, config,
                {"attention.self.query", "attention.self.key", "attention.self.value",
                 "attention.output.dense"});
  return true;
}

bool add_distilbert_attention(LayerSpecs& specs, const ModelConfig& config, int /*layer*/) {
  add_attention(specs, config,
                {"attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"});
  return true;
}

// Nomic BERT. Published files have other names than those that the library writes.

void read_nomic_bert(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  config.n_token_types = whole(fields, kTypes, kTypeCounts, 2);
  if (fields.has("rotary_scaling_factor"))
    fields.refuse("rotary_scaling_factor", "null", ErrorCode::kUnsupported);
}

void write_nomic_bert(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  object[kTypes] = config.n_token_types;
}

std::vector<WeightSpec> nomic_bert_layer(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  const int64_t d = config.d_model, n = config.q_dim(), n_ff = config.d_ff_of(layer);
  using Parts = std::vector<std::pair<const char*, int64_t>>;
  const auto add = [&](const char* name, const char* gguf, std::vector<int64_t> shape, Role role,
                       const Parts& parts) {
    WeightSpec& spec = specs.add(name, gguf, std::move(shape), role);
    for (const auto& [part, n_rows] : parts)
      spec.parts.push_back({layer_weight_name(layer, part), n_rows});
  };
  add("attn.Wqkv.weight", "attn_qkv.weight", {3 * n, d}, Role::kQkv,
      {{"self_attn.q_proj.weight", n},
       {"self_attn.k_proj.weight", n},
       {"self_attn.v_proj.weight", n}});
  add("attn.out_proj.weight", "attn_output.weight", {d, n}, Role::kO,
      {{"self_attn.o_proj.weight", d}});
  add("norm1.weight", "attn_output_norm.weight", {d}, Role::kAttentionSumNorm,
      {{"post_attention_layernorm.weight", d}});
  add("norm1.bias", "attn_output_norm.bias", {d}, Role::kAttentionSumNorm,
      {{"post_attention_layernorm.bias", d}});
  add("mlp.fc12.weight", "ffn_gate.weight", {n_ff, d}, Role::kGateUp,
      {{"mlp.gate_proj.weight", n_ff}});
  add("mlp.fc11.weight", "ffn_up.weight", {n_ff, d}, Role::kGateUp, {{"mlp.up_proj.weight", n_ff}});
  add("mlp.fc2.weight", "ffn_down.weight", {d, n_ff}, Role::kDown, {{"mlp.down_proj.weight", d}});
  add("norm2.weight", "layer_output_norm.weight", {d}, Role::kFeedForwardSumNorm,
      {{"post_mlp_layernorm.weight", d}});
  add("norm2.bias", "layer_output_norm.bias", {d}, Role::kFeedForwardSumNorm,
      {{"post_mlp_layernorm.bias", d}});
  return specs.take();
}

// ModernBERT.

namespace {

// The rotation of layers of a type; older files have one field for each.
RopeConfig modernbert_rotation(Fields& fields, const char* type, const char* older, double theta,
                               const ModelConfig& config) {
  const double of_file = fields.real(older, kThetas, theta);
  const json* parameters = fields.find(kParameters);
  if (parameters == nullptr || !parameters->contains(type)) return {.theta = of_file};
  return read_rope_of(fields, type, {.theta = of_file}, config.head_dim, config.max_positions);
}

}  // namespace

void read_modernbert(Fields& fields, ModelConfig& config) {
  DecoderFields decoder = config.family->decoder;
  decoder.rope.layer_type = kFullAttention;
  read_usual(fields, decoder, config);
  config.rotations = {
      modernbert_rotation(fields, kFullAttention, "global_rope_theta", 160000.0, config),
      modernbert_rotation(fields, "sliding_attention", "local_rope_theta", 10000.0, config)};
  // A row sees half of these on each side, and itself.
  const int window = whole(fields, kLocal, {2, kMaxPositions}, 128) / 2 + 1;
  const int interval = whole(fields, "global_attn_every_n_layers", {1, kMaxLayers}, 3);
  const json* types = fields.find("layer_types");
  constexpr std::string_view kWords[] = {"full_attention", "sliding_attention"};
  if (types != nullptr && !is_layer_list(fields, "layer_types", config.layers.size(), kWords))
    return;
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const bool slides = types != nullptr ? (*types)[i] == kWords[1] : i % interval != 0;
    config.layers[i].window = slides ? window : 0;
    config.layers[i].rotation = slides ? 1 : 0;
  }
}

void write_modernbert(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  erase_rotation(object);
  object[kParameters][kFullAttention] = rope_parameters(config.rotations[0]);
  object[kParameters]["sliding_attention"] = rope_parameters(config.rotations[1]);
  for (const LayerConfig& layer : config.layers) {
    object["layer_types"].push_back(layer.window > 0 ? "sliding_attention" : "full_attention");
    if (layer.window > 0) object[kLocal] = 2 * (layer.window - 1);
  }
}

std::vector<WeightSpec> modernbert_layer(const ModelConfig& config, int layer) {
  std::vector<WeightSpec> specs = usual_layer(config, layer);
  if (layer == 0)
    std::erase_if(specs, [](const WeightSpec& spec) { return spec.role == Role::kAttentionNorm; });
  return specs;
}

void add_modernbert_feed_forward(LayerSpecs& specs, const ModelConfig& config, int layer) {
  const int64_t d = config.d_model, n = config.d_ff_of(layer);
  specs.add("mlp.Wi.weight", "ffn_up.weight", {2 * n, d}, Role::kGateUp);
  specs.add("mlp.Wo.weight", "ffn_down.weight", {d, n}, Role::kDown);
}

}  // namespace pando::model
