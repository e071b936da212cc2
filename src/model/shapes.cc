// The named shapes of make_model.h.
#include "base/errors.h"
#include "model/make_model.h"

namespace pando::model {
namespace {

struct NamedShape {
  std::string_view name;
  ModelConfig config;
};

// Sizes that most shapes have in common are arguments; the rest is set where a shape is named.
ModelConfig shape(Family family, int vocab, int d_model, int n_layers, int n_heads, int n_kv_heads,
                  int d_ff) {
  ModelConfig config = ModelConfig::of_family(family);
  config.vocab = vocab;
  config.d_model = d_model;
  config.n_layers = n_layers;
  config.n_heads = n_heads;
  config.n_kv_heads = n_kv_heads;
  config.head_dim = 128;
  config.d_ff = d_ff;
  return config;
}

ModelConfig qwen3(int d_model, int n_layers, int n_heads, int d_ff, bool tied) {
  ModelConfig config = shape(Family::kQwen3, 151936, d_model, n_layers, n_heads, 8, d_ff);
  config.rms_eps = 1e-6f;
  config.rope.theta = 1e6;
  config.max_positions = 40960;
  config.tied_embeddings = tied;
  config.bos_id = 151643;
  config.eos_ids = {151645, 151643};
  return config;
}

ModelConfig qwen2_7b() {
  ModelConfig config = shape(Family::kQwen2, 152064, 3584, 28, 28, 4, 18944);
  config.rms_eps = 1e-6f;
  config.rope.theta = 1e6;
  config.max_positions = 131072;
  config.bos_id = 151643;
  config.eos_ids = {151643};
  return config;
}

ModelConfig llama2(int vocab, int d_model, int n_layers, int n_heads, int d_ff, double theta,
                   int max_positions) {
  ModelConfig config = shape(Family::kLlama, vocab, d_model, n_layers, n_heads, n_heads, d_ff);
  config.rms_eps = 1e-5f;
  config.rope.theta = theta;
  config.max_positions = max_positions;
  config.bos_id = 1;
  config.eos_ids = {2};
  return config;
}

ModelConfig mistral_7b() {
  ModelConfig config = shape(Family::kMistral, 32000, 4096, 32, 32, 8, 14336);
  config.rms_eps = 1e-5f;
  config.max_positions = 32768;
  config.sliding_window = 4096;
  config.bos_id = 1;
  config.eos_ids = {2};
  return config;
}

ModelConfig llama3(int d_model, int n_layers, int head_dim, int d_ff, int max_positions,
                   bool tied) {
  ModelConfig config = shape(Family::kLlama, 128256, d_model, n_layers, 32, 8, d_ff);
  config.head_dim = head_dim;
  config.rms_eps = 1e-5f;
  config.rope.theta = 5e5;
  config.max_positions = max_positions;
  config.tied_embeddings = tied;
  config.bos_id = 128000;
  config.eos_ids = {128001};
  return config;
}

ModelConfig llama3_2_1b() {
  ModelConfig config = llama3(2048, 16, 64, 8192, 131072, true);
  config.rope.type = RopeType::kLlama3;
  config.rope.factor = 32;
  config.rope.original_positions = 8192;
  return config;
}

ModelConfig tiny(Family family, int n_layers, int head_dim, int d_ff, bool tied) {
  ModelConfig config = shape(family, 1024, 64, n_layers, 4, 2, d_ff);
  config.head_dim = head_dim;
  config.rms_eps = 1e-6f;
  config.max_positions = 4096;
  config.tied_embeddings = tied;
  config.bos_id = 1;
  config.eos_ids = {2};
  return config;
}

ModelConfig tiny_mistral() {
  ModelConfig config = tiny(Family::kMistral, 2, 16, 176, false);
  config.sliding_window = 40;
  return config;
}

// The first layer sees all.
ModelConfig tiny_qwen2() {
  ModelConfig config = tiny(Family::kQwen2, 3, 16, 160, true);
  config.sliding_window = 24;
  config.windowed_layers = {false, true, true};
  return config;
}

ModelConfig tiny_phi3() {
  ModelConfig config = tiny(Family::kPhi3, 2, 16, 144, true);
  config.rope.type = RopeType::kLongRope;
  config.rope.rotary_share = 0.75;
  config.rope.original_positions = 1024;
  config.rope.attention_factor = 1.09375;
  config.rope.short_factor = {1, 1, 1.05, 1.1, 1.5, 2};
  config.rope.long_factor = {1, 1.2, 2.5, 4, 9.5, 32};
  return config;
}

// Linearly stretched as well, which no published file is.
ModelConfig tiny_olmo2() {
  ModelConfig config = tiny(Family::kOlmo2, 2, 16, 152, false);
  config.rope.type = RopeType::kLinear;
  config.rope.factor = 2;
  return config;
}

ModelConfig olmo2_7b() {
  ModelConfig config = shape(Family::kOlmo2, 100352, 4096, 32, 32, 32, 11008);
  config.rms_eps = 1e-6f;
  config.rope.theta = 5e5;
  config.max_positions = 4096;
  config.eos_ids = {100257};
  return config;
}

// As published.
const std::vector<NamedShape>& shapes() {
  static const std::vector<NamedShape> all = {
      {"qwen3-0.6b", qwen3(1024, 28, 16, 3072, true)},
      {"qwen3-1.7b", qwen3(2048, 28, 16, 6144, true)},
      {"qwen3-4b", qwen3(2560, 36, 32, 9728, true)},
      {"qwen3-8b", qwen3(4096, 36, 32, 12288, false)},
      {"qwen2.5-7b", qwen2_7b()},
      {"llama-2-7b", llama2(32000, 4096, 32, 32, 11008, 1e4, 4096)},
      {"llama-2-13b", llama2(32000, 5120, 40, 40, 13824, 1e4, 4096)},
      {"sheared-llama-1.3b", llama2(32000, 2048, 24, 16, 5504, 1e4, 4096)},
      {"llama-3-8b", llama3(4096, 32, 128, 14336, 8192, false)},
      {"llama-3.2-1b", llama3_2_1b()},
      {"codellama-13b", llama2(32016, 5120, 40, 40, 13824, 1e6, 16384)},
      {"mistral-7b", mistral_7b()},
      {"olmo-2-7b", olmo2_7b()},
      {"tiny-qwen3", tiny(Family::kQwen3, 2, 32, 192, true)},
      {"tiny-llama", tiny(Family::kLlama, 3, 16, 176, false)},
      {"tiny-mistral", tiny_mistral()},
      {"tiny-qwen2", tiny_qwen2()},
      {"tiny-phi3", tiny_phi3()},
      {"tiny-olmo2", tiny_olmo2()},
  };
  return all;
}

}  // namespace

std::vector<std::string_view> shape_names() {
  std::vector<std::string_view> names;
  for (const NamedShape& shape : shapes()) names.push_back(shape.name);
  return names;
}

Result<ModelConfig> named_shape(std::string_view name) {
  for (const NamedShape& shape : shapes())
    if (shape.name == name) return shape.config;
  return invalid_argument("shape is '{}', expected one of {}", name,
                          fmt::join(shape_names(), ", "));
}

}  // namespace pando::model
