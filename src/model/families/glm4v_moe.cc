// The part of GLM-4.5V that reads texts: GLM-4.5 without norms of queries and keys. Its positions
// have three parts, which are equal for texts.
#include "base/errors.h"
#include "base/gguf.h"
#include "model/families/experts.h"
#include "model/families/glm4_moe.h"
#include "model/families/list.h"
#include "model/families/routed_experts.h"
#include "model/families/sections.h"
#include "model/families/shapes.h"

namespace pando::model {
namespace {

constexpr std::string_view kOwnOffers[] = {kSections};
constexpr auto kOffers = joined(kRoutedFields, kOwnOffers);
constexpr const char *kBias = "attention_bias", *kNorms = "use_qk_norm";

void read(Fields& fields, ModelConfig& config) {
  read_glm4_moe(fields, {.sections = true}, config);
  config.qkv_bias = fields.boolean(kBias, true);
  if (fields.boolean(kNorms, false)) fields.refuse(kNorms, "false", ErrorCode::kUnsupported);
}

// GLM-4.5's own files have no parts of positions.
bool owns(const GgufFile& gguf) { return has_gguf_sections(gguf, "glm4moe"); }

ModelConfig glm4_5v() {
  ModelConfig config = shape_of(kGlm4vMoe, {.vocab = 151552,
                                            .d_model = 4096,
                                            .n_layers = 46,
                                            .n_heads = 96,
                                            .n_kv_heads = 8,
                                            .d_ff = 10944});
  config.rotations[0].rotary_share = kGlm4MoeShare;
  config.max_positions = 65536;
  config.qkv_bias = true;
  config.eos_ids = {151329, 151336, 151338};
  set_glm4_moe_experts(config);
  return config;
}

ModelConfig tiny_glm4v_moe() {
  ModelConfig config =
      tiny_shape(kGlm4vMoe, {.n_layers = 2, .head_dim = 24, .d_ff = 136, .tied = false});
  config.rotations[0].rotary_share = kGlm4MoeShare;
  config.qkv_bias = true;
  set_tiny_glm4_moe_experts(config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"glm-4.5v", glm4_5v()}, {"tiny-glm4v-moe", tiny_glm4v_moe()}};
}

}  // namespace

const Family kGlm4vMoe = {.name = "glm4v_moe_text",
                          .architecture = "Glm4vMoeForCausalLM",
                          .gguf_architecture = "glm4moe",
                          .wrapper = "glm4v_moe",
                          .offers = kOffers,
                          .absent = kGlm4MoeAbsent,
                          .read = read,
                          .write = write_glm4_moe,
                          .owns = owns,
                          .translate = translate_glm4_moe,
                          .layer_weights = glm4_moe_layer,
                          .passed_over = multi_token_layer,
                          .shapes = shapes};

}  // namespace pando::model
