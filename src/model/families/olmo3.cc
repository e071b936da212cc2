// OLMo 3: OLMo 2 with a window in most layers, whose rotation is not scaled as the others' is.
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/olmo2.h"
#include "model/families/shapes.h"
#include "model/families/typed_rotations.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr int kInterval = 4;  // every fourth layer sees all, where nothing else is said
constexpr RopeFields kRope = {.theta = 5e5, .layer_type = kFullAttention};
constexpr std::string_view kOffers[] = {kSlidingBase};

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.kv_heads_as_heads = true, .rms_eps = 1e-5, .attention_bias = true, .rope = kRope},
               config);
  read_mixed_windows(fields, /*absent=*/4096, kInterval, config);
  read_typed_rotations(fields, kRope, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_typed_rotations(config, object);
  write_mixed_windows(config, object);
}

// OLMo 2's files have the same architecture and no window.
bool owns(const GgufFile& gguf) { return has_gguf_window(gguf, "olmo2"); }

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.layer_windows(kInterval);
  gguf.attention_bias();
  translate_typed_rotations(gguf, std::nullopt);
}

ModelConfig olmo3_7b() {
  ModelConfig config = shape_of(kOlmo3, {.vocab = 100278,
                                         .d_model = 4096,
                                         .n_layers = 32,
                                         .n_heads = 32,
                                         .n_kv_heads = 32,
                                         .d_ff = 11008});
  config.rms_eps = 1e-6f;
  config.rotations = {{.type = RopeType::kYarn,
                       .theta = 5e5,
                       .factor = 8.0,
                       .attention_factor = 1.2079441541679836,
                       .original_positions = 8192},
                      {.theta = 5e5}};
  config.max_positions = 65536;
  config.eos_ids = {100257};
  set_windows(4096, kInterval, config);
  set_typed_rotations(config);
  return config;
}

ModelConfig tiny_olmo3() {
  ModelConfig config =
      tiny_shape(kOlmo3, {.n_layers = 3, .head_dim = 16, .d_ff = 152, .tied = false});
  config.rotations = {{.theta = 5e5}, {.theta = 1e4}};
  set_windows(24, 2, config);
  set_typed_rotations(config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"olmo-3-7b", olmo3_7b()}, {"tiny-olmo3", tiny_olmo3()}};
}

}  // namespace

const Family kOlmo3 = {.name = "olmo3",
                       .architecture = "Olmo3ForCausalLM",
                       .gguf_architecture = "olmo2",
                       .offers = kOffers,
                       .fix = fix_olmo2,
                       .read = read,
                       .write = write,
                       .owns = owns,
                       .translate = translate,
                       .layer_weights = olmo2_layer,
                       .shapes = shapes};

}  // namespace pando::model
