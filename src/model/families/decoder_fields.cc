#include "model/families/decoder_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "base/errors.h"
#include "base/json.h"

namespace pando::model {
namespace {

using json = Json;

constexpr const char *kActivation = "hidden_act", *kGeluByErf = "gelu";
constexpr std::string_view kGelusByTanh[] = {"gelu_pytorch_tanh", "gelu_new", "gelu_fast"};

bool is_by_tanh(std::string_view name) {
  return std::ranges::find(kGelusByTanh, name) != std::end(kGelusByTanh);
}

// Sets the activation. Returns the name in the file, or `usual` if the file has none or another.
std::string read_gelu(Fields& fields, const char* usual, ModelConfig& config) {
  const std::string found = fields.string(kActivation, usual);
  const std::string name = found == kGeluByErf || is_by_tanh(found) ? found : usual;
  config.activation = is_by_tanh(name) ? Activation::kUngatedGeluTanh : Activation::kUngatedGelu;
  return name;
}

// Everything that would change the computation and is not offered.
void refuse_other_features(Fields& fields, const DecoderFields& usual, ModelConfig& config) {
  if (fields.boolean("mlp_bias", false))
    fields.refuse("mlp_bias", "false", ErrorCode::kUnsupported);
  if (!usual.attention_bias && fields.boolean("attention_bias", false))
    fields.refuse("attention_bias", fmt::format("false for {}", config.family->name),
                  ErrorCode::kUnsupported);
  const std::string activation =
      usual.gelus ? read_gelu(fields, usual.activation, config) : usual.activation;
  const bool is_older = usual.older_activation != nullptr &&
                        fields.string(kActivation, activation) == usual.older_activation;
  for (const char* name : {kActivation, "hidden_activation"})  // in some files both
    if (fields.string(name, activation) != activation && !(is_older && name == kActivation))
      fields.refuse(name, fmt::format("\"{}\"", activation), ErrorCode::kUnsupported);
}

int read_head_dim(Fields& fields, int usual, const ModelConfig& config) {
  int64_t fallback = usual;
  if (fallback == 0 && config.d_model % config.n_heads == 0) {
    fallback = config.d_model / config.n_heads;
  } else if (fallback == 0 && fields.find("head_dim") == nullptr) {
    fields.refuse("num_attention_heads",
                  fmt::format("a divisor of 'hidden_size' {}, or 'head_dim'", config.d_model));
  }
  return static_cast<int>(fields.integer("head_dim", kHeadSizes, std::max(fallback, int64_t{1})));
}

void read_special_tokens(Fields& fields, ModelConfig& config) {
  const int64_t last = int64_t{config.vocab} - 1;
  if (fields.find("bos_token_id") != nullptr)
    config.bos_id = static_cast<int32_t>(fields.integer("bos_token_id", 0, last));
  const json* eos = fields.find("eos_token_id");
  if (eos != nullptr && eos->is_array()) {
    for (size_t i = 0; i < eos->size(); ++i) {
      const std::string name = place_in("eos_token_id", i);
      const json one = {{name, (*eos)[i]}};
      Fields element(one, fields.source());
      config.eos_ids.push_back(static_cast<int32_t>(element.integer(name, 0, last)));
      fields.fail(element.status());
    }
  } else if (eos != nullptr) {
    config.eos_ids = {static_cast<int32_t>(fields.integer("eos_token_id", 0, last))};
  }
}

}  // namespace

void read_decoder(Fields& fields, const DecoderFields& usual, ModelConfig& config) {
  const auto integer = [&](const char* name, const WholeRange& range) {
    return static_cast<int>(fields.integer(name, range));
  };
  refuse_other_features(fields, usual, config);
  config.vocab = integer("vocab_size", kVocabSizes);
  config.d_model = integer("hidden_size", kHiddenSizes);
  config.layers.resize(usual.n_layers > 0 ? usual.n_layers
                                          : integer("num_hidden_layers", kLayerCounts));
  config.n_heads = integer("num_attention_heads", kHeadCounts);
  config.n_kv_heads = usual.kv_heads_as_heads && !fields.find("num_key_value_heads")
                          ? config.n_heads
                          : integer("num_key_value_heads", kHeadCounts);
  config.head_dim = read_head_dim(fields, usual.head_dim, config);
  config.d_ff = integer(usual.d_ff_name, usual.d_ff_sizes);
  config.max_positions = integer("max_position_embeddings", kPositionCounts);
  config.rms_eps = static_cast<float>(fields.real(usual.rms_eps_name, kEpsilons, usual.rms_eps));
  config.rotations = {read_rope(fields, usual.rope, config.head_dim, config.max_positions)};
  config.tied_embeddings = fields.boolean("tie_word_embeddings", usual.tied);
  if (usual.attention_bias && fields.boolean("attention_bias", false))
    config.qkv_bias = config.o_bias = true;
  read_special_tokens(fields, config);
}

void write_gelu(const ModelConfig& config, nlohmann::ordered_json& object) {
  const bool by_erf = config.activation == Activation::kUngatedGelu;
  object[kActivation] = by_erf ? kGeluByErf : kGelusByTanh[0];
}

}  // namespace pando::model
