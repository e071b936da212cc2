// A checkpoint in shards: model.safetensors.index.json and two safetensors files; and, where there
// is a fourth part, a quantization_config.
#include <fmt/format.h>

#include "fuzz/weights.h"

using namespace pando;

namespace {

constexpr std::string_view kConfig =
    R"({"model_type": "llama", "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 8, "rms_norm_eps": 1e-5,
        "max_position_embeddings": 64, "rope_theta": 10000.0, "tie_word_embeddings": true)";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::string_view> files = fuzz::files_of(fuzz::text_of(data, size), 4);
  files.resize(4);
  const std::string quantization =
      files[3].empty() ? "" : fmt::format(", \"quantization_config\": {}", files[3]);
  const auto path =
      fuzz::folder().write("config.json", fmt::format("{}{}}}", kConfig, quantization));
  fuzz::folder().write("model.safetensors.index.json", files[0]);
  fuzz::folder().write("a.safetensors", files[1]);
  fuzz::folder().write("b.safetensors", files[2]);
  const auto config = model::ModelConfig::load(path.parent_path());
  if (!config) fuzz::check_error(config.error());
  const auto checkpoint =
      model::Checkpoint::open(path.parent_path(), config ? config->quantization : std::nullopt);
  if (!checkpoint) {
    fuzz::check_error(checkpoint.error());
    return 0;
  }
  for (const std::string& name : checkpoint->names()) {
    fuzz::demand(checkpoint->contains(name), "a tensor that is not found");
    const auto view = checkpoint->tensor(name, {8, 8});
    if (!view) fuzz::check_error(view.error());
  }
  fuzz::load_weights(path.parent_path());
  return 0;
}
