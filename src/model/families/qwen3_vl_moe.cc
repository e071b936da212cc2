// The text part of Qwen3-VL with mixtures of experts, which is like Qwen3-MoE. Its positions have
// three parts, which are equal for texts. Published checkpoints hold the matrices of experts
// transposed; checkpoints that the library saves do not.
#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

// Of the parts of a position, as mrope_section.
constexpr std::string_view kSections[] = {"rope.dimension_sections"};
constexpr auto kOffers = joined(kExpertOffers, kSections);
constexpr ExpertFields kExperts = {.n_experts = 60, .n_used = 4};

void fix(ModelConfig& config) { config.qk_norm = QkNorm::kPerHead; }

// In a checkpoint only the shape of a matrix says whether it is transposed.
void refuse_square_matrices(Fields& fields, const ModelConfig& config) {
  if (config.origin.is_gguf) return;
  const int d_ff = config.experts.d_ff;
  if (config.has(FeedForward::kExperts) && (d_ff == config.d_model || 2 * d_ff == config.d_model))
    fields.refuse("moe_intermediate_size",
                  fmt::format("neither 'hidden_size' {} nor half of it, because it cannot be told "
                              "whether a square matrix is transposed",
                              config.d_model),
                  ErrorCode::kUnsupported);
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(
      fields,
      {.kv_heads_as_heads = true, .attention_bias = true, .rope = {.sections = true, .theta = 5e5}},
      config);
  read_experts(fields, kExperts, config);
  read_dense_layers(fields, config);
  config.experts.renormalised = true;
  constexpr const char* kRenormalised = "norm_topk_prob";
  if (!fields.boolean(kRenormalised, true))
    fields.refuse(kRenormalised, "true", ErrorCode::kUnsupported);
  refuse_window(fields, config);
  refuse_square_matrices(fields, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_experts(config, kExperts, object);
  write_dense_layers(config, object);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  translate_experts(gguf);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer);
}

ModelConfig qwen3_vl_30b() {
  ModelConfig config = shape_of(kQwen3VlMoe, {.vocab = 151936,
                                              .d_model = 2048,
                                              .n_layers = 48,
                                              .n_heads = 32,
                                              .n_kv_heads = 4,
                                              .d_ff = 6144});
  config.rms_eps = 1e-6f;
  config.rotations[0].theta = 5e6;
  config.max_positions = 262144;
  config.bos_id = 151643;
  config.eos_ids = {151645};
  set_experts(config, 128, 8, 768);
  config.experts.renormalised = true;
  return config;
}

ModelConfig tiny_qwen3_vl_moe() {
  ModelConfig config =
      tiny_shape(kQwen3VlMoe, {.n_layers = 2, .head_dim = 16, .d_ff = 136, .tied = false});
  set_experts(config, 7, 3, 40);
  config.experts.renormalised = true;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"qwen3-vl-30b-a3b", qwen3_vl_30b()}, {"tiny-qwen3-vl-moe", tiny_qwen3_vl_moe()}};
}

}  // namespace

const Family kQwen3VlMoe = {.name = "qwen3_vl_moe_text",
                            .architecture = "Qwen3VLMoeForCausalLM",
                            .gguf_architecture = "qwen3vlmoe",
                            .wrapper = "qwen3_vl_moe",
                            .offers = kOffers,
                            .fix = fix,
                            .read = read,
                            .write = write,
                            .translate = translate,
                            .layer_weights = layer_weights,
                            .shapes = shapes};

}  // namespace pando::model
