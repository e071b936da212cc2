#include "model/gguf_translator.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/counted.h"
#include "base/json.h"
#include "model/config.h"
#include "model/config_ranges.h"
#include "model/gguf_rope.h"
#include "model/unoffered.h"

namespace pando::model {
namespace {

using json = Json;

constexpr const char* kWindow = "attention.sliding_window";
constexpr const char* kPattern = "attention.sliding_window_pattern";

}  // namespace

std::string_view gguf_architecture_of(const GgufFile& gguf, const Family& family) {
  const char* const other = family.other_gguf_architecture;
  const auto name = gguf.string("general.architecture");
  const bool is_other = other != nullptr && name.ok() && *name == other;
  return is_other ? other : family.gguf_architecture;
}

int64_t block_of(std::string_view tensor) {
  constexpr std::string_view kBlock = "blk.";
  int64_t index = -1;
  if (tensor.starts_with(kBlock))
    std::from_chars(tensor.data() + kBlock.size(), tensor.data() + tensor.size(), index);
  return index;
}

bool has_gguf_window(const GgufFile& gguf, std::string_view architecture) {
  const auto window = gguf.integer(fmt::format("{}.{}", architecture, kWindow));
  return window.ok() && window->value_or(0) != 0;
}

GgufTranslator::GgufTranslator(const GgufFile& gguf, const Family& family)
    : family_(family),
      fields_(gguf, gguf_architecture_of(gguf, family)),
      offers_(family.offered()) {
  config_ = {{"architectures", {family.architecture}},
             {"model_type", family.name},
             {"hidden_act", "silu"}};
}

void GgufTranslator::decoder(const char* eps_key) {
  integer("embedding_length", "hidden_size");
  integer("block_count", "num_hidden_layers");
  integer("attention.head_count", "num_attention_heads");
  // Files without dense layers may have the width of experts only.
  constexpr const char *kWidth = "feed_forward_length",
                       *kExpertWidth = "expert_feed_forward_length";
  integer(fields_.has(kWidth) || !fields_.has(kExpertWidth) ? kWidth : kExpertWidth,
          "intermediate_size");
  integer("context_length", "max_position_embeddings");
  if (!fields_.status()) return;
  kv_heads();
  if (!fields_.copy_real(eps_key, "rms_norm_eps", config_)) fields_.refuse(eps_key, "a float");
  fields_.copy_real("rope.freq_base", "rope_theta", config_);
  heads();
  translate_rope(fields_, rotary_dim_, offers_, config_);
  embeddings();
  special_tokens();
  if (!family_.fixed.both_ways && !fields_.boolean("attention.causal").value_or(true))
    config_["is_causal"] = false;
  refuse_unoffered(fields_, config_.value("head_dim", int64_t{0}), offers_);
  constexpr std::string_view kExperts = "expert_count";
  const bool may_have_experts = std::ranges::find(offers_, kExperts) != offers_.end();
  if (!may_have_experts && fields_.integer(kExperts).value_or(0) != 0)
    fields_.refuse(kExperts, fmt::format("0 for {}", config_["model_type"].get<std::string>()),
                   ErrorCode::kUnsupported);
}

void GgufTranslator::window() {
  const int64_t window = fields_.integer(kWindow).value_or(0);
  fields_.comes_from_key("sliding_window", kWindow);
  config_["sliding_window"] = window == 0 ? json(nullptr) : json(window);
}

void GgufTranslator::no_window() {
  config_["sliding_window"] = nullptr;
  if (fields_.integer(kWindow).value_or(0) != 0)
    fields_.refuse(kWindow, "0", ErrorCode::kUnsupported);
}

void GgufTranslator::layer_windows(int64_t interval) {
  window();
  if (!fields_.status()) return;
  const auto n_layers = config_["num_hidden_layers"].get<int64_t>();
  const bool has_window = !config_["sliding_window"].is_null();
  if (n_layers > kMaxLayers) return;  // read() refuses it
  std::vector<int64_t> slides;
  const auto list = fields_.file().integers(fields_.key(kPattern));
  if (list && *list) {
    slides = **list;
    if (std::ssize(slides) != n_layers)
      return fields_.fail(
          in_file(fields_.source(),
                  bad_file("'{}' has {}, expected {}, one for each layer", fields_.key(kPattern),
                           counted(slides.size(), "entries"), n_layers)));
  } else {
    const int64_t n = fields_.integer(kPattern).value_or(interval);
    if (n < 0 || n > kMaxLayers)
      return fields_.refuse(kPattern, fmt::format("a whole number in [0, {}]", kMaxLayers));
    for (int64_t i = 0; i < n_layers; ++i) slides.push_back(n == 0 || (i + 1) % n != 0);
  }
  config_["layer_types"] = json::array();
  fields_.comes_from_key("layer_types", kPattern);
  for (const int64_t slide : slides)
    config_["layer_types"].push_back(has_window && slide != 0 ? "sliding_attention"
                                                              : "full_attention");
}

void GgufTranslator::attention_bias() { config_["attention_bias"] = has_tensor(".attn_q.bias"); }

bool GgufTranslator::has_tensor(std::string_view ending) const {
  return std::ranges::any_of(fields_.file().tensors(), [&](const GgufTensor& tensor) {
    return tensor.name.ends_with(ending);
  });
}

void GgufTranslator::integer(const char* name, const char* field) {
  if (!copy_first(name, field)) fields_.refuse(name, "a whole number");
}

// If layers may differ, copies the value of the first layer.
bool GgufTranslator::copy_first(const char* name, const char* field) {
  const auto list = fields_.file().integers(fields_.key(name));
  if (!differs_by_layer_ || !list || !*list || (*list)->empty())
    return fields_.copy_integer(name, field, config_);
  fields_.comes_from_key(field, name);
  config_[field] = (**list)[0];
  return true;
}

std::vector<int64_t> GgufTranslator::by_layer(const char* name) {
  if (!fields_.status()) return {};
  const auto n_layers = config_["num_hidden_layers"].get<int64_t>();
  if (!kLayerCounts.contains(n_layers)) {
    fields_.refuse("block_count", kLayerCounts.text());
    return {};
  }
  const auto list = fields_.file().integers(fields_.key(name));
  if (list && *list) {
    if (std::ssize(**list) == n_layers) return **list;
    fields_.fail(in_file(fields_.source(),
                         bad_file("'{}' has {}, expected {}, one for each layer", fields_.key(name),
                                  counted((*list)->size(), "entries"), n_layers)));
    return {};
  }
  const int64_t one = fields_.required_integer(name);
  if (!fields_.status()) return {};
  return std::vector<int64_t>(static_cast<size_t>(n_layers), one);
}

void GgufTranslator::same(const char* field, const char* other) {
  config_[field] = config_[other];
  fields_.comes_from_same(field, other);
}

void GgufTranslator::layers_by_kv_heads(const char* recurrent) { recurrent_ = recurrent; }

void GgufTranslator::kv_heads() {
  constexpr const char* kName = "attention.head_count_kv";
  const auto list = fields_.file().integers(fields_.key(kName));
  fields_.comes_from_key("num_key_value_heads", kName);
  if (recurrent_ == nullptr || !list || !*list) {
    if (!copy_first(kName, "num_key_value_heads"))
      same("num_key_value_heads", "num_attention_heads");
    return;
  }
  const std::vector<int64_t>& heads = **list;
  const int64_t most = heads.empty() ? 0 : *std::ranges::max_element(heads);
  json types = json::array();
  for (size_t i = 0; i < heads.size(); ++i) {
    const int64_t n = heads[i];
    if (n != 0 && n != most)
      return fields_.fail(in_file(
          fields_.source(),
          unsupported("'{}' is {}, expected 0 or {}", place_in(fields_.key(kName), i), n, most)));
    types.push_back(n == 0 ? recurrent_ : "full_attention");
  }
  config_["num_key_value_heads"] = most;
  config_["layer_types"] = std::move(types);
  fields_.comes_from_key("layer_types", kName);
}

int64_t GgufTranslator::multi_token_blocks() {
  if (!fields_.status()) return 0;
  constexpr const char* kName = "nextn_predict_layers";
  const int64_t n_blocks = config_["num_hidden_layers"], n = fields_.integer(kName).value_or(0);
  if (n < 0 || n >= n_blocks)
    fields_.refuse(kName, fmt::format("a whole number below {}, the number of blocks", n_blocks));
  for (const GgufTensor& tensor : fields_.file().tensors())
    if (block_of(tensor.name) >= n_blocks)
      fields_.refuse("block_count",
                     fmt::format("the number of blocks, of which '{}' is one", tensor.name));
  if (n <= 0) return 0;
  config_["num_hidden_layers"] = n_blocks - n;
  fields_.comes_from("num_hidden_layers",
                     fmt::format("'{}' - '{}'", fields_.key("block_count"), fields_.key(kName)));
  return n;
}

void GgufTranslator::sizes_of_latent() {
  constexpr const char *kRank = "attention.kv_lora_rank", *kRotated = "rope.dimension_count";
  integer(kRank, "kv_lora_rank");
  integer(kRotated, "qk_rope_head_dim");
  if (!fields_.copy_integer("attention.q_lora_rank", "q_lora_rank", config_))
    config_["q_lora_rank"] = nullptr;
  const int64_t rank = config_.value("kv_lora_rank", int64_t{0});
  rotary_dim_ = config_.value("qk_rope_head_dim", int64_t{0});
  const bool is_new = fields_.has("attention.key_length_mla");
  const char* key = is_new ? "attention.key_length_mla" : "attention.key_length";
  const char* value = is_new ? "attention.value_length_mla" : "attention.value_length";
  config_["qk_nope_head_dim"] = fields_.required_integer(key) - rotary_dim_;
  fields_.comes_from("qk_nope_head_dim",
                     fmt::format("'{}' - '{}'", fields_.key(key), fields_.key(kRotated)));
  integer(value, "v_head_dim");
  same("head_dim", "qk_rope_head_dim");
  same("num_key_value_heads", "num_attention_heads");
  if (!is_new) return;
  const std::pair<const char*, int64_t> lengths[] = {{"attention.key_length", rank + rotary_dim_},
                                                     {"attention.value_length", rank},
                                                     {"attention.head_count_kv", 1}};
  for (const auto& [name, expected] : lengths)
    if (fields_.integer(name).value_or(expected) != expected)
      fields_.refuse(name, fmt::format("{}", expected));
}

void GgufTranslator::heads() {
  if (latent_) return sizes_of_latent();
  const int64_t d_model = config_["hidden_size"], n = config_["num_attention_heads"];
  if (!fields_.copy_integer("attention.key_length", "head_dim", config_) && n > 0) {
    config_["head_dim"] = d_model / n;
    fields_.comes_from_quotient("head_dim", "embedding_length", "attention.head_count");
  }
  const int64_t head_dim = config_.value("head_dim", int64_t{0});
  if (fields_.integer("attention.value_length").value_or(head_dim) != head_dim)
    fields_.refuse("attention.value_length", fmt::format("the length of the keys, {}", head_dim),
                   ErrorCode::kUnsupported);
  if (head_dim > 0) rotated_channels(head_dim);
}

void GgufTranslator::rotated_channels(int64_t head_dim) {
  constexpr const char* kName = "rope.dimension_count";
  rotary_dim_ = fields_.integer(kName).value_or(head_dim);
  if (rotary_dim_ < 2 || rotary_dim_ > head_dim || rotary_dim_ % 2 != 0)
    return fields_.refuse(kName,
                          fmt::format("an even number up to the {} channels of a head", head_dim));
  if (rotary_dim_ == head_dim) return;
  // The next number where the quotient was rounded down: the product is cut to a whole number.
  const auto size = static_cast<double>(head_dim);
  double share = static_cast<double>(rotary_dim_) / size;
  if (static_cast<int64_t>(size * share) < rotary_dim_) share = std::nextafter(share, 1.0);
  config_["partial_rotary_factor"] = share;
  fields_.comes_from_quotient("partial_rotary_factor", kName, "attention.key_length");
}

// Fields that follow from the tensors and are not in the metadata.
void GgufTranslator::embeddings() {
  const GgufTensor* embedding = fields_.file().find_tensor("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2)
    return fields_.fail(in_file(fields_.source(), bad_file("has no matrix 'token_embd.weight'")));
  config_["vocab_size"] = embedding->shape[0];
  fields_.comes_from("vocab_size", "the number of rows of 'token_embd.weight'");
  config_["tie_word_embeddings"] = fields_.file().find_tensor("output.weight") == nullptr;
}

void GgufTranslator::special_tokens() {
  const auto key = [](const char* name) { return fmt::format("tokenizer.ggml.{}_token_id", name); };
  if (const auto bos = fields_.token_id(key("bos"))) config_["bos_token_id"] = *bos;
  fields_.comes_from("bos_token_id", fmt::format("'{}'", key("bos")));
  json eos = json::array();
  for (const char* name : {"eos", "eot", "eom"}) {
    const auto id = fields_.token_id(key(name));
    if (!id || std::find(eos.begin(), eos.end(), *id) != eos.end()) continue;
    fields_.comes_from(place_in("eos_token_id", eos.size()), fmt::format("'{}'", key(name)));
    eos.push_back(*id);
  }
  config_["eos_token_id"] = std::move(eos);
}

}  // namespace pando::model
