#include "model/gguf_tensors.h"

#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "kernel/weight_types.h"
#include "model/gguf_config.h"
#include "model/safetensors.h"

namespace pando::model {
namespace {

std::optional<uint64_t> bytes_of(const GgufTensor& tensor, const kernel::WeightTypeInfo& type) {
  uint64_t blocks = static_cast<uint64_t>(tensor.shape.back() / type.block_len), bytes = 0;
  for (size_t i = 0; i + 1 < tensor.shape.size(); ++i)
    if (__builtin_mul_overflow(blocks, static_cast<uint64_t>(tensor.shape[i]), &blocks))
      return std::nullopt;
  if (__builtin_mul_overflow(blocks, type.block_bytes, &bytes)) return std::nullopt;
  return bytes;
}

struct Name {
  std::string_view gguf, checkpoint;
};
constexpr Name kNames[] = {{"token_embd.weight", "model.embed_tokens.weight"},
                           {"output_norm.weight", "model.norm.weight"},
                           {"output.weight", "lm_head.weight"}};
// Below "blk.N." and "model.layers.N.", before ".weight" or ".bias".
constexpr Name kLayerNames[] = {{"attn_norm", "input_layernorm"},
                                {"attn_q", "self_attn.q_proj"},
                                {"attn_k", "self_attn.k_proj"},
                                {"attn_v", "self_attn.v_proj"},
                                {"attn_qkv", "self_attn.qkv_proj"},
                                {"attn_q_norm", "self_attn.q_norm"},
                                {"attn_k_norm", "self_attn.k_norm"},
                                {"attn_output", "self_attn.o_proj"},
                                {"ffn_norm", "post_attention_layernorm"},
                                {"post_attention_norm", "post_attention_layernorm"},
                                {"post_ffw_norm", "post_feedforward_layernorm"},
                                {"ffn_gate", "mlp.gate_proj"},
                                {"ffn_up", "mlp.up_proj"},
                                {"ffn_down", "mlp.down_proj"}};

// Part of the configuration: gguf_config.cc reads them.
constexpr std::string_view kRopeNames[] = {"rope_freqs.weight", "rope_factors_long.weight",
                                           "rope_factors_short.weight"};

// "blk.3.attn_q.weight" is "model.layers.3.self_attn.q_proj.weight". Other names stay.
std::string checkpoint_name(std::string_view name, bool fused) {
  for (const Name& known : kNames)
    if (name == known.gguf) return std::string(known.checkpoint);
  constexpr std::string_view kPrefix = "blk.";
  const size_t part = name.find('.', kPrefix.size()), suffix = name.rfind('.');
  if (!name.starts_with(kPrefix) || part == name.npos || suffix <= part) return std::string(name);
  const std::string_view layer = name.substr(kPrefix.size(), part - kPrefix.size());
  const std::string_view middle = name.substr(part + 1, suffix - part - 1);
  for (const Name& known : kLayerNames) {
    if (middle != known.gguf) continue;
    const std::string_view to = fused && middle == "ffn_up" ? "mlp.gate_up_proj" : known.checkpoint;
    return fmt::format("model.layers.{}.{}{}", layer, to, name.substr(suffix));
  }
  return std::string(name);
}

Status check(const GgufFile& gguf) {
  const std::string source = gguf.file().path().string();
  std::vector<std::pair<const GgufTensor*, uint64_t>> order;  // with their bytes
  for (const GgufTensor& tensor : gguf.tensors()) {
    const std::string where = fmt::format("{}: tensor '{}'", source, tensor.name);
    const kernel::WeightTypeInfo* type = kernel::find_gguf_type(tensor.type);
    if (type == nullptr)
      return unsupported("{} is {}, expected {}", where, kernel::gguf_type_name(tensor.type),
                         one_of_these(kernel::gguf_type_names()));
    if (tensor.shape.back() % type->block_len != 0)
      return bad_file("{} has rows of {}, expected a multiple of {} for {}", where,
                      tensor.shape.back(), type->block_len, kernel::gguf_type_name(tensor.type));
    if (type->block_len == 1 && tensor.offset % type->block_bytes != 0)
      return unsupported("{} begins at byte {}, expected a multiple of {}", where, tensor.offset,
                         type->block_bytes);
    const std::optional<uint64_t> bytes = bytes_of(tensor, *type);
    if (!bytes || *bytes > tensor.available)
      return bad_file(
          "{} of shape {} needs {} bytes of {}, expected at most the {} to the end: "
          "the file is cut short",
          where, shape_text(tensor.shape), bytes ? std::to_string(*bytes) : "2^64",
          kernel::gguf_type_name(tensor.type), tensor.available);
    order.emplace_back(&tensor, *bytes);
  }
  std::ranges::sort(order, {}, [](const auto& item) { return item.first->offset; });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i - 1].first->offset + order[i - 1].second > order[i].first->offset)
      return bad_file("{}: tensors '{}' and '{}' share bytes, expected bytes of their own", source,
                      order[i - 1].first->name, order[i].first->name);
  return {};
}

}  // namespace

Result<GgufTensors> GgufTensors::open(const std::filesystem::path& path) {
  Result<GgufFile> gguf = GgufFile::open(path);
  if (!gguf) return gguf.error();
  if (Status status = check(*gguf); !status) return status.error();
  const Result<ModelConfig> config = read_gguf_config(*gguf);
  if (!config) return config.error();
  GgufTensors tensors(std::move(*gguf));
  const auto architecture = tensors.gguf_.string("general.architecture");
  // Writers of llama files turn pairs of neighbours, so they put the rows that are turned together
  // side by side; the other architectures keep the order of checkpoints.
  if (*architecture == "llama") tensors.paired_head_dim_ = config->head_dim;
  const bool fused = *architecture == "phi3";
  for (size_t i = 0; i < tensors.gguf_.tensors().size(); ++i) {
    const std::string_view name = tensors.gguf_.tensors()[i].name;
    if (std::ranges::find(kRopeNames, name) != std::end(kRopeNames)) continue;
    std::string known = checkpoint_name(name, fused);
    if (!tensors.tensor_of_.emplace(known, i).second)
      return bad_file("{}: tensor '{}' is a second '{}'", path.string(), name, known);
  }
  return tensors;
}

std::vector<std::string> GgufTensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, index] : tensor_of_) names.push_back(name);
  return names;
}

TensorView GgufTensors::tensor(std::string_view name) const {
  const GgufTensor& tensor = gguf_.tensors()[tensor_of_.find(name)->second];
  TensorView view;
  const kernel::WeightTypeInfo& type = *kernel::find_gguf_type(tensor.type);
  view.dtype = type.type;
  view.shape = tensor.shape;
  view.data = gguf_.file().data() + tensor.offset;
  view.n_bytes = *bytes_of(tensor, type);
  if (name.find(".q_proj.") != name.npos || name.find(".k_proj.") != name.npos)
    view.paired_head_dim = paired_head_dim_;
  return view;
}

}  // namespace pando::model
