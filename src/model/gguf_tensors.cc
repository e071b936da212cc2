#include "model/gguf_tensors.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/errors.h"
#include "kernel/blocks.h"
#include "model/gguf_config.h"
#include "model/safetensors.h"

namespace pando::model {
namespace {

// The types of ggml by number. Gaps are types that were withdrawn.
constexpr std::array<const char*, 41> kTypeNames = {
    "F32",     "F16",   "Q4_0",   "Q4_1",  "Q4_2",  "Q4_3",   "Q5_0", "Q5_1",    "Q8_0",
    "Q8_1",    "Q2_K",  "Q3_K",   "Q4_K",  "Q5_K",  "Q6_K",   "Q8_K", "IQ2_XXS", "IQ2_XS",
    "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",   "I16",     "I32",
    "I64",     "F64",   "IQ1_M",  "BF16",  "",      "",       "",     "TQ1_0",   "TQ2_0",
    "",        "",      "",       "MXFP4", ""};

std::string type_name(uint32_t type) {
  return type < kTypeNames.size() && *kTypeNames[type] != '\0' ? kTypeNames[type]
                                                               : fmt::format("type {}", type);
}

std::optional<DType> dtype_of(uint32_t type) {
  switch (type) {
    case 0:
      return DType::kF32;
    case 1:
      return DType::kF16;
    case 2:
      return DType::kQ4_0;
    case 8:
      return DType::kQ8_0;
    case 12:
      return DType::kQ4_K;
    case 14:
      return DType::kQ6_K;
    case 30:
      return DType::kBF16;
    default:
      return std::nullopt;
  }
}

// Bytes of the tensor's elements. Its inner dimension is whole blocks.
std::optional<uint64_t> bytes_of(const GgufTensor& tensor, DType type) {
  uint64_t blocks = static_cast<uint64_t>(tensor.shape.back() / kernel::block_len(type)), bytes = 0;
  for (size_t i = 0; i + 1 < tensor.shape.size(); ++i)
    if (__builtin_mul_overflow(blocks, static_cast<uint64_t>(tensor.shape[i]), &blocks))
      return std::nullopt;
  if (__builtin_mul_overflow(blocks, kernel::block_bytes(type), &bytes)) return std::nullopt;
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
    const std::optional<DType> type = dtype_of(tensor.type);
    if (!type)
      return unsupported("{} is {}, expected F32, F16, BF16, Q8_0, Q4_0, Q4_K or Q6_K", where,
                         type_name(tensor.type));
    if (tensor.shape.back() % kernel::block_len(*type) != 0)
      return bad_file("{} has rows of {}, expected a multiple of {} for {}", where,
                      tensor.shape.back(), kernel::block_len(*type), type_name(tensor.type));
    if (dtype_size(*type) != 0 && tensor.offset % dtype_size(*type) != 0)
      return unsupported("{} begins at byte {}, expected a multiple of {}", where, tensor.offset,
                         dtype_size(*type));
    const std::optional<uint64_t> bytes = bytes_of(tensor, *type);
    if (!bytes || *bytes > tensor.available)
      return bad_file(
          "{} of shape {} needs {} bytes of {}, expected at most the {} to the end: "
          "the file is cut short",
          where, shape_text(tensor.shape), bytes ? std::to_string(*bytes) : "2^64",
          type_name(tensor.type), tensor.available);
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
  view.dtype = *dtype_of(tensor.type);
  view.shape = tensor.shape;
  view.data = gguf_.file().data() + tensor.offset;
  view.n_bytes = *bytes_of(tensor, view.dtype);
  if (name.find(".q_proj.") != name.npos || name.find(".k_proj.") != name.npos)
    view.paired_head_dim = paired_head_dim_;
  return view;
}

}  // namespace pando::model
