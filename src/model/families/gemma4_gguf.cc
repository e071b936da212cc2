#include <fmt/format.h>

#include "base/errors.h"
#include "base/gguf.h"
#include "model/families/gemma4.h"
#include "model/families/typed_rotations.h"

namespace pando::model {
namespace {

using namespace gemma4;
using nlohmann::json;

// The heads of layers with a window have keys of their own in the file; the others' are the usual
// ones.
void translate_heads(GgufTranslator& gguf) {
  GgufFields& fields = gguf.fields();
  json& config = gguf.config();
  const std::vector<int64_t> n_kv = gguf.by_layer("attention.head_count_kv");
  if (n_kv.empty()) return;
  const auto dim = config.value("head_dim", int64_t{0});
  const int64_t sliding_dim = fields.required_integer("attention.key_length_swa");
  for (const char* name : {"attention.value_length_swa", kSlidingRotated})
    if (fields.integer(name).value_or(sliding_dim) != sliding_dim)
      fields.refuse(name, fmt::format("the length of the keys, {}", sliding_dim),
                    ErrorCode::kUnsupported);
  config["head_dim"] = sliding_dim;
  fields.comes_from_key("head_dim", "attention.key_length_swa");
  config[kPerLayer] = json::object();
  const json& types = config["layer_types"];
  bool has_values = false, found = false;
  for (size_t i = 0; i < n_kv.size(); ++i) {
    if (types[i] == kFullAttention) {
      config[kPerLayer][std::to_string(i)] = {{"head_dim", dim}, {"num_key_value_heads", n_kv[i]}};
      if (!found)
        has_values = fields.file().find_tensor(fmt::format("blk.{}.attn_v.weight", i)) != nullptr;
      found = true;
    } else {
      config["num_key_value_heads"] = n_kv[i];
    }
  }
  config[kKeysAsValues] = found && !has_values;
}

void translate_feed_forward(GgufTranslator& gguf) {
  constexpr const char* kWidth = "feed_forward_length";
  GgufFields& fields = gguf.fields();
  json& config = gguf.config();
  if (!fields.copy_integer("attention.shared_kv_layers", kShared, config)) config[kShared] = 0;
  fields.comes_from(kPerLayer, "heads of layers");
  const std::vector<int64_t> widths = gguf.by_layer(kWidth);
  if (widths.empty()) return;
  const int64_t n_own = static_cast<int64_t>(widths.size()) - config[kShared].get<int64_t>();
  const bool double_wide = widths.back() != widths.front();
  for (size_t i = 0; i < widths.size(); ++i) {
    const bool is_double = double_wide && static_cast<int64_t>(i) >= n_own;
    const int64_t expected = widths.front() * (is_double ? 2 : 1);
    if (widths[i] != expected)
      return fields.fail(unsupported("{}: '{}' is {}, expected {}", fields.source(),
                                     place_in(fields.key(kWidth), i), widths[i], expected));
  }
  config[kDoubleWide] = double_wide;
}

void translate_inputs(GgufTranslator& gguf) {
  GgufFields& fields = gguf.fields();
  constexpr const char *kKey = "embedding_length_per_layer_input",
                       *kTable = "per_layer_token_embd.weight";
  if (!fields.copy_integer(kKey, kInputDim, gguf.config())) gguf.config()[kInputDim] = 0;
  const GgufTensor* table = fields.file().find_tensor(kTable);
  if (table != nullptr) gguf.config()[kInputVocab] = table->shape[0];
  fields.comes_from(kInputVocab, fmt::format("the number of rows of '{}'", kTable));
}

}  // namespace

void translate_gemma4(GgufTranslator& gguf) {
  gguf.differ_by_layer();
  gguf.decoder();
  gguf.layer_windows(kInterval);
  gguf.attention_bias();
  GgufFields& fields = gguf.fields();
  if (!fields.status()) return;
  gguf.config().erase("hidden_act");
  fields.copy_real(kLogitCap, kLogitCap, gguf.config());
  constexpr const char* kFactors = "rope_freqs.weight";
  if (fields.file().find_tensor(kFactors) == nullptr)
    fields.fail(bad_file("{}: tensor '{}' is missing, expected factors of the rotation",
                         fields.source(), kFactors));
  translate_typed_rotations(gguf, kSlidingTheta);
  translate_heads(gguf);
  translate_feed_forward(gguf);
  translate_experts(gguf, kExperts.d_ff_name, kExperts.used_name);
  gguf.config()[kMixture] = gguf.config().value(kExperts.count_name, int64_t{0}) != 0;
  translate_inputs(gguf);
}

}  // namespace pando::model
