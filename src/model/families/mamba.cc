#include "model/families/mamba.h"

#include <algorithm>

#include "base/json.h"
#include "model/config_ranges.h"

namespace pando::model {

void read_mamba(Fields& fields, const MambaNames& names, ModelConfig& config, int64_t width) {
  const auto size = [&](const char* name, const WholeRange& range) {
    return static_cast<int>(fields.integer(name, range));
  };
  RecurrentConfig& r = config.recurrent;
  r.conv_taps = size(names.conv_taps, kConvTaps);
  r.n_key_heads = size(names.n_groups, kHeadCounts);
  r.n_heads = size(names.n_heads, kHeadCounts);
  r.key_dim = size(names.state_dim, kHeadSizes);
  const Json* head = fields.find(names.head_dim);
  const bool automatic = width > 0 && (head == nullptr || *head == "auto");
  r.value_dim = automatic ? static_cast<int>(std::min(width / r.n_heads, kMaxWidth))
                          : size(names.head_dim, kHeadSizes);
  r.conv_bias = fields.boolean(names.conv_bias, true);
}

void write_mamba(const MambaNames& names, const ModelConfig& config,
                 nlohmann::ordered_json& object) {
  const RecurrentConfig& r = config.recurrent;
  if (config.n_recurrent_layers() == 0) return;
  object[names.conv_taps] = r.conv_taps;
  object[names.n_groups] = r.n_key_heads;
  object[names.n_heads] = r.n_heads;
  object[names.state_dim] = r.key_dim;
  object[names.head_dim] = r.value_dim;
  object[names.conv_bias] = r.conv_bias;
}

void translate_mamba(GgufTranslator& gguf, const MambaNames& names) {
  GgufFields& fields = gguf.fields();
  constexpr const char *kHeads = "ssm.time_step_rank", *kWidth = "ssm.inner_size";
  gguf.integer("ssm.conv_kernel", names.conv_taps);
  gguf.integer("ssm.group_count", names.n_groups);
  gguf.integer("ssm.state_size", names.state_dim);
  const int64_t n_heads = fields.required_integer(kHeads), width = fields.required_integer(kWidth);
  if (n_heads < 1 || width % n_heads != 0)
    return fields.refuse(kWidth, fmt::format("a multiple of '{}' {}", kHeads, n_heads));
  gguf.config()[names.n_heads] = n_heads;
  gguf.config()[names.head_dim] = width / n_heads;
  gguf.config()[names.conv_bias] = gguf.has_tensor(".ssm_conv1d.bias");
  fields.comes_from_key(names.n_heads, kHeads);
  fields.comes_from_quotient(names.head_dim, kWidth, kHeads);
}

void refuse_time_limits(Fields& fields) {
  constexpr const char* kName = "time_step_limit";
  const Json* limits = fields.find(kName);
  if (limits == nullptr) return;
  const auto is_infinite = [](const Json& limit) {
    return limit == "Infinity" || limit == Json{{"__float__", "Infinity"}};
  };
  const bool none =
      limits->is_array() && limits->size() == 2 && (*limits)[0] == 0.0 && is_infinite((*limits)[1]);
  if (!none) fields.refuse(kName, "null", ErrorCode::kUnsupported);
}

void add_mamba(LayerSpecs& specs, const ModelConfig& c, const std::string& module) {
  const RecurrentConfig& r = c.recurrent;
  const int channels = c.conv_channels(Mixer::kMamba2), values = r.value_width();
  const auto add = [&](const char* part, const char* gguf_name, std::vector<int64_t> shape,
                       Role to) -> WeightSpec& {
    return specs.add((module + part).c_str(), gguf_name, std::move(shape), to);
  };
  add(".in_proj.weight", "ssm_in.weight", {values + channels + r.n_heads, c.d_model}, Role::kQkv);
  add(".conv1d.weight", "ssm_conv1d.weight", {channels, 1, r.conv_taps}, Role::kConv);
  if (r.conv_bias) add(".conv1d.bias", "ssm_conv1d.bias", {channels}, Role::kConvBias);
  add(".A_log", "ssm_a", {r.n_heads}, Role::kDecay).stored = Stored::kLogDecay;
  add(".dt_bias", "ssm_dt.bias", {r.n_heads}, Role::kDtBias);
  add(".D", "ssm_d", {r.n_heads}, Role::kSkip);
  add(".norm.weight", "ssm_norm.weight", {values}, Role::kStateNorm).gguf_shape = {
      r.n_key_heads, values / r.n_key_heads};
  add(".out_proj.weight", "ssm_out.weight", {c.d_model, values}, Role::kO);
}

}  // namespace pando::model
