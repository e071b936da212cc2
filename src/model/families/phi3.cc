// Phi-3 and Phi-3.5: fused projections, longrope over part of a head, a sliding window.
#include <array>

#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

// What the first files call longrope.
constexpr std::array<std::string_view, 2> kLongRopeNames = {"su", "yarn"};

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.kv_heads_as_heads = true,
                .rms_eps = 1e-5,
                .rope = {.partial = true, .longrope_names = kLongRopeNames}},
               config);
  read_window(fields, /*absent=*/0, config);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.window();
  gguf.attention_bias();
}

// qkv_proj is queries, keys and values one behind the other; gate_up_proj is gate, then up.
std::vector<WeightSpec> layer_weights(const ModelConfig& c, int layer) {
  LayerSpecs specs(c, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.add("self_attn.qkv_proj.weight", "attn_qkv.weight", {c.q_dim() + 2 * c.kv_dim(), c.d_model},
            &LayerWeights::qkv);
  specs.output();
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.fused_gate_up();
  specs.down();
  return specs.take();
}

std::vector<NamedShape> shapes() {
  ModelConfig tiny = tiny_shape(kPhi3, {.n_layers = 2, .head_dim = 16, .d_ff = 144, .tied = true});
  tiny.rotations = {{.type = RopeType::kLongRope,
                     .rotary_share = 0.75,
                     .attention_factor = 1.09375,
                     .original_positions = 1024,
                     .short_factor = {1, 1, 1.05, 1.1, 1.5, 2},
                     .long_factor = {1, 1.2, 2.5, 4, 9.5, 32}}};
  return {{"tiny-phi3", tiny}};
}

}  // namespace

const Family kPhi3 = {.name = "phi3",
                      .architecture = "Phi3ForCausalLM",
                      .gguf_architecture = "phi3",
                      .read = read,
                      .write = write_window,
                      .translate = translate,
                      .layer_weights = layer_weights,
                      .shapes = shapes};

}  // namespace pando::model
