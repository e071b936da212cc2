#include "model/config.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/errors.h"
#include "base/fields.h"
#include "base/is_there.h"
#include "base/json.h"
#include "base/numbers/weight_types.h"
#include "base/python_json.h"
#include "model/checkpoint.h"
#include "model/config_ranges.h"
#include "model/family.h"
#include "model/gguf_config.h"
#include "model/quantization_file.h"
#include "model/rope_config.h"
#include "model/text_part.h"
#include "model/unoffered.h"
#include "model/weight_specs.h"

namespace pando::model {
namespace {

using json = Json;

// True if `name` is the class of the family in the transformers library, with its head or without.
bool is_class_of(const Family& family, std::string_view name) {
  const std::string_view kHeaded = family.fixed.both_ways ? "Model" : "ForCausalLM";
  const std::string_view headed = family.architecture;
  if (name == headed) return true;
  if (family.older_architecture != nullptr && name == family.older_architecture) return true;
  PANDO_CHECK(headed.ends_with(kHeaded));
  const std::string_view stem = headed.substr(0, headed.size() - kHeaded.size());
  if (!name.starts_with(stem)) return false;
  const std::string_view rest = name.substr(stem.size());
  if (family.fixed.both_ways) return rest.starts_with("For") && rest != "ForCausalLM";
  return rest == "Model" || rest == "TextModel" || rest == "ForSequenceClassification";
}

// Lists the values that `model_type` may have.
std::string known_types() {
  std::vector<std::string_view> names;
  for (const Family* family : families()) names.push_back(family->name);
  return fmt::format("{}; or a model whose text part is read: {}", fmt::join(names, ", "),
                     fmt::join(types_with_text_part(), ", "));
}

// Null if the file names no known family; `fields` has the error then.
const Family* read_family(Fields& fields) {
  const auto all = families();
  const json* architectures = fields.find("architectures");
  const std::string model_type = fields.string("model_type", "");
  const Family* typed = find_family(model_type);
  if (typed == nullptr && (!model_type.empty() || architectures == nullptr))
    fields.refuse("model_type", known_types(), ErrorCode::kUnsupported);
  if (architectures == nullptr) return typed;
  const bool one =
      architectures->is_array() && architectures->size() == 1 && architectures->front().is_string();
  const std::string listed = one ? architectures->front().get<std::string>() : "";
  const auto named =
      std::ranges::find_if(all, [&](const Family* family) { return is_class_of(*family, listed); });
  if (named == all.end()) {
    std::vector<std::string_view> names;
    for (const Family* family : all) names.emplace_back(family->architecture);
    fields.refuse("architectures", fmt::format("{}", fmt::join(names, ", ")),
                  ErrorCode::kUnsupported);
    return nullptr;
  }
  if (typed != nullptr && typed != *named)
    fields.refuse("architectures", "the architecture of 'model_type'");
  return *named;
}

// The fields by their usual names, with those that the family has a value for where they are
// absent.
json with_absent(const Family& family, const json& object) {
  json whole = object;
  for (const auto& [other, usual] : family.other_names)
    if (whole.contains(other) && !whole.contains(usual)) whole[usual] = whole[other];
  if (family.absent == nullptr) return whole;
  const json absent = json::parse(family.absent);
  for (const auto& [name, value] : absent.items())
    if (!whole.contains(name) || whole[name].is_null()) whole[name] = value;
  return whole;
}

struct Size {
  const char* field;
  int64_t value;
  WholeRange range;
};

Status check_sizes(std::span<const Size> sizes, std::string_view source) {
  for (const auto& [field, value, range] : sizes)
    if (!range.contains(value))
      return in_file(source, bad_file("'{}' is {}, expected {}", field, value, range.text()));
  return {};
}

struct Number {
  const char* field;
  double value;
  RealRange range;
};

// A value that underflows or overflows in f32 would silently be another model.
Status check_numbers(std::span<const Number> numbers, std::string_view source) {
  for (const auto& [field, value, range] : numbers)
    if (!range.contains(value))
      return in_file(source, bad_file("'{}' is {}, expected {}", field, value, range.text));
  return {};
}

// Rows of other families than encoders may see what is behind them too.
void read_both_ways(Fields& fields, ModelConfig& config) {
  const bool is_causal = fields.boolean("is_causal", true);
  // "vision": the tokens of images alone, which are not supported anyway.
  constexpr const char* kBothWays = "use_bidirectional_attention";
  const json* both_ways = fields.find(kBothWays);
  const bool says_so = both_ways != nullptr && *both_ways == true;
  if (both_ways != nullptr && !both_ways->is_boolean() && *both_ways != "vision")
    return fields.refuse(kBothWays, "true or false", ErrorCode::kUnsupported);
  if (config.both_ways || (is_causal && !says_so)) return;
  const auto reads_keys = [](const LayerConfig& layer) { return layer.keys_back > 0; };
  if (config.n_recurrent_layers() > 0 || config.has_latent() || config.layer_input_dim > 0 ||
      std::ranges::any_of(config.layers, reads_keys))
    return fields.refuse(says_so ? kBothWays : "is_causal", says_so ? "false" : "true",
                         ErrorCode::kUnsupported);
  config.both_ways = true;
  // The library puts half of the window on each side of a row, or with is_causal all of it.
  for (LayerConfig& layer : config.layers)
    if (layer.window > 0) layer.window = 1 + (is_causal ? layer.window / 2 : layer.window);
}

// Refuses an adapter: its base model alone computes something else.
Status refuse_adapter(const std::filesystem::path& directory) {
  constexpr const char* kName = "adapter_config.json";
  if (!is_there(directory / kName)) return {};
  return in_file((directory / kName).string(),
                 unsupported("is an adapter, expected a complete model"));
}

}  // namespace

ModelConfig ModelConfig::of_family(const Family& family) {
  ModelConfig config = {family.fixed};
  config.family = &family;
  config.family_name = family.name;
  return config;
}

Result<ModelConfig> ModelConfig::load(const ModelPath& directory) {
  if (is_gguf(directory.path())) {
    const auto gguf = directory.gguf();
    if (!gguf) return gguf.error();
    return read_gguf_config(**gguf);
  }
  if (Status status = refuse_adapter(directory.path()); !status) return status.error();
  const ModelPath path = directory / "config.json";
  std::error_code failure;
  if (!is_there(path.path()) && std::filesystem::is_directory(directory.path(), failure))
    return in_file(
        directory.string(),
        not_found(
            "holds no model, expected a config.json with safetensors beside it, or a GGUF file"));
  const Result<std::string_view> text = path.text();
  if (!text) return text.error();
  Result<json> object = parse_python_object(*text, path.string());
  if (!object) return object.error();
  if (Status status = add_quantization(directory, *object); !status) return status.error();
  return from_json(*object, path.string());
}

Result<ModelConfig> ModelConfig::parse(std::string_view text, std::string_view source) {
  const Result<json> object = parse_python_object(text, source);
  if (!object) return object.error();
  return from_json(*object, source);
}

Result<ModelConfig> ModelConfig::from_json(const json& file, std::string_view source,
                                           ConfigOrigin origin) {
  const Result<json> object = text_part(file, source);
  if (!object) return object.error();
  Fields named(*object, source);
  const Family* family = read_family(named);
  if (family == nullptr || !named.status()) return named.status().error();
  const json whole = with_absent(*family, *object);
  Fields fields(whole, source);
  ModelConfig config = of_family(*family);
  config.origin = origin;
  config.origin.has_text_part = has_text_part(file);
  family->read(fields, config);
  read_both_ways(fields, config);
  config.quantization = read_quantization(fields);
  refuse_unoffered(fields, config.head_dim, family->offered());
  if (Status status = fields.status(); !status) return status.error();
  if (Status status = config.validate(source); !status) return status.error();
  return config;
}

Status ModelConfig::validate(std::string_view source) const {
  for (const LayerConfig& layer : layers)
    PANDO_CHECK(layer.window >= 0 && layer.rotation >= 0 && layer.rotation < std::ssize(rotations));
  if (Status status = validate_latent(source); !status) return status;
  const Size sizes[] = {{"vocab_size", vocab, kVocabSizes},
                        {"hidden_size", d_model, kHiddenSizes},
                        {"num_hidden_layers", n_layers(), kLayerCounts},
                        {"num_attention_heads", n_heads, kHeadCounts},
                        {"num_key_value_heads", n_kv_heads, kHeadCounts},
                        {"head_dim", head_dim, kHeadSizes},
                        {"intermediate_size", d_ff, kFeedForwardSizes},
                        {"max_position_embeddings", max_positions, kPositionCounts}};
  if (Status status = check_sizes(sizes, source); !status) return status;
  if (n_attention_layers() == 0)
    return in_file(source, unsupported("none of the {} layers has attention, expected at least one",
                                       n_layers()));
  if (n_heads % n_kv_heads != 0)
    return in_file(
        source,
        bad_file("'num_attention_heads' is {}, expected a multiple of 'num_key_value_heads' {}",
                 n_heads, n_kv_heads));
  if (int64_t{n_heads} * head_dim > kMaxWidth)
    return in_file(source, bad_file("'num_attention_heads' x 'head_dim' is {}, expected at most {}",
                                    int64_t{n_heads} * head_dim, kMaxWidth));
  std::vector<Number> numbers = {{"rms_norm_eps", rms_eps, kEpsilons},
                                 {"embedding_multiplier", embedding_scale, kScales},
                                 {"residual_multiplier", residual_scale, kScales},
                                 {"logits_scaling", logit_divisor, kScales},
                                 {"logit_scale", logit_scale, kScales}};
  for (const auto& [field, value] : {std::pair{"final_logit_softcapping", logit_cap},
                                     {"attn_logit_softcapping", score_cap},
                                     {"attention_multiplier", attention_scale}})
    if (value != 0.0f) numbers.push_back({field, value, kScales});
  for (const RopeConfig& rope : rotations) numbers.push_back({"rope_theta", rope.theta, kThetas});
  if (Status status = check_numbers(numbers, source); !status) return status;
  if (Status status = validate_layers(source); !status) return status;
  if (Status status = validate_experts(source); !status) return status;
  return validate_states(source);
}

Status ModelConfig::validate_latent(std::string_view source) const {
  if (!has_latent()) return {};
  const LatentConfig& l = latent;
  const Size sizes[] = {{"kv_lora_rank", l.rank, {1, kMaxWidth, 4}},
                        {"q_lora_rank", l.query_rank, {0, kMaxWidth, 2}},
                        {"qk_nope_head_dim", l.still_dim, {1, kMaxWidth, 2}},
                        {"qk_rope_head_dim", l.rope_dim, {1, kMaxWidth, 4}},
                        {"v_head_dim", l.value_dim, {1, kMaxWidth, 2}}};
  if (Status status = check_sizes(sizes, source); !status) return status;
  PANDO_CHECK(n_kv_heads == 1 && head_dim == l.rank + l.rope_dim && attention_scale > 0.0f);
  const int64_t widest = int64_t{n_heads} * std::max(l.query_dim(), l.up_dim()) + head_dim;
  if (widest > kMaxWidth)
    return in_file(
        source,
        bad_file(
            "'num_attention_heads' is {} with heads of {} and {} channels, expected projections of "
            "at most {} outputs",
            n_heads, l.query_dim(), l.up_dim(), kMaxWidth));
  return {};
}

Status ModelConfig::validate_experts(std::string_view source) const {
  if (!has(FeedForward::kExperts)) return {};
  const ExpertsConfig& e = experts;
  const Size sizes[] = {
      {"num_experts", e.n_experts, {1, kMaxExperts, 1}},
      {"num_experts_per_tok", e.n_used, {1, std::min<int64_t>(e.n_experts, kMaxUsedExperts), 1}},
      {"moe_intermediate_size", e.d_ff, {1, kMaxWidth, 2}},
      {"shared_expert_intermediate_size", e.shared_d_ff, {0, kMaxWidth, 2}},
      {"n_group", e.n_groups, {1, std::max(e.n_experts, 1), 1}},
      {"topk_group", e.n_groups_used, {1, std::max(e.n_groups, 1), 1}}};
  if (Status status = check_sizes(sizes, source); !status) return status;
  if (e.n_experts % e.n_groups != 0)
    return in_file(source, bad_file("'num_experts' is {}, expected a multiple of 'n_group' {}",
                                    e.n_experts, e.n_groups));
  const int in_group = e.n_experts / e.n_groups;
  if (e.n_groups > 1 && in_group < e.n_group_best)
    return in_file(source,
                   bad_file("'n_group' is {}, expected at least {} of the {} experts in each group",
                            e.n_groups, e.n_group_best, e.n_experts));
  if (in_group * e.n_groups_used < e.n_used)
    return in_file(
        source,
        bad_file("'num_experts_per_tok' is {}, expected at most the {} experts of {} groups",
                 e.n_used, in_group * e.n_groups_used, e.n_groups_used));
  if (e.scores == RouterScores::kSparseMixer && e.n_used != 2)
    return in_file(source, unsupported("'num_experts_per_tok' is {}, expected 2 for {}", e.n_used,
                                       family->name));
  if (!(e.weight_scale > 0.0f && e.weight_scale <= 1e6f))
    return in_file(source, bad_file("'routed_scaling_factor' is {}, expected a number in (0, 1e6]",
                                    e.weight_scale));
  return {};
}

// The names are those of Gemma 4.
Status ModelConfig::validate_layers(std::string_view source) const {
  for (int i = 0; i < n_layers(); ++i) {
    const LayerConfig& layer = layers[i];
    const auto& [n, n_kv, dim] = heads(i);
    const Size sizes[] = {{"num_global_key_value_heads", n_kv, {1, kMaxWidth, 1}},
                          {"global_head_dim", dim, {1, kMaxWidth, 4}},
                          {"intermediate_size",
                           d_ff_of(i),
                           {layer.feed_forward == FeedForward::kDense, kMaxWidth, 2}}};
    if (Status status = check_sizes(sizes, source); !status) return status;
    if (n % n_kv != 0)
      return in_file(
          source,
          bad_file(
              "'num_attention_heads' is {}, expected a multiple of 'num_global_key_value_heads' {}",
              n, n_kv));
    if (int64_t{n} * dim > kMaxWidth)
      return in_file(
          source, bad_file("'num_attention_heads' x 'global_head_dim' is {}, expected at most {}",
                           int64_t{n} * dim, kMaxWidth));
    PANDO_CHECK(layer.keys_back >= 0 && layer.keys_back <= i);
    const int from = i - layer.keys_back;
    PANDO_CHECK(layer.keys_back == 0 ||
                (layers[from].keys_back == 0 && heads(from) == heads(i) &&
                 layers[from].window == layer.window && layers[from].mixer == layer.mixer));
  }
  if (layer_input_dim == 0) return {};
  const Size sizes[] = {{"hidden_size_per_layer_input", layer_input_dim, {2, kMaxWidth, 2}},
                        {"vocab_size_per_layer_input", layer_input_vocab, {vocab, kMaxVocab, 1}},
                        {"num_hidden_layers' x 'hidden_size_per_layer_input",
                         int64_t{n_layers()} * layer_input_dim,
                         {1, kMaxWidth, 1}}};
  return check_sizes(sizes, source);
}

// The names are those of the first family that has the field.
Status ModelConfig::validate_states(std::string_view source) const {
  if (n_recurrent_layers() == 0) return {};
  const RecurrentConfig& r = recurrent;
  const bool states = !has(Mixer::kShortConv), delta = has(Mixer::kDeltaNet);
  const auto named = [&](const char* of_delta, const char* of_mamba) {
    return delta ? of_delta : of_mamba;
  };
  const Size sizes[] = {
      {states ? named("linear_conv_kernel_dim", "mamba_d_conv") : "conv_L_cache", r.conv_taps,
       kConvTaps},
      {named("linear_num_key_heads", "mamba_n_groups"), r.n_key_heads, kHeadCounts},
      {named("linear_num_value_heads", "mamba_n_heads"), r.n_heads, kHeadCounts},
      {named("linear_key_head_dim", "mamba_d_state"), r.key_dim, kHeadSizes},
      {named("linear_value_head_dim", "mamba_d_head"), r.value_dim, kHeadSizes}};
  const auto checked = std::span(sizes).first(states ? 5 : 1);
  if (Status status = check_sizes(checked, source); !status) return status;
  if (!states) return {};
  if (r.n_heads % r.n_key_heads != 0)
    return in_file(source, bad_file("'{}' is {}, expected a multiple of '{}' {}", sizes[2].field,
                                    r.n_heads, sizes[1].field, r.n_key_heads));
  // Before anything multiplies them in 32 bits.
  const int64_t keys = int64_t{r.n_key_heads} * r.key_dim;
  const int64_t values = int64_t{r.n_heads} * r.value_dim;
  const int64_t widest = 2 * keys + values * 2 + 2 * int64_t{r.n_heads};  // of all projections
  if (keys > kMaxWidth || values > kMaxWidth || widest > kMaxWidth)
    return in_file(
        source,
        bad_file(
            "'{}' x '{}' is {} and '{}' x '{}' is {}, expected projections of at most {} outputs",
            sizes[1].field, sizes[3].field, keys, sizes[2].field, sizes[4].field, values,
            kMaxWidth));
  return {};
}

int64_t ModelConfig::n_parameters() const {
  int64_t total = 0;
  for (const WeightSpec& spec : weight_specs(*this)) total += spec.n_elements();
  return total;
}

std::string ModelConfig::to_json(DType dtype) const {
  using nlohmann::ordered_json;
  ordered_json object = {{"architectures", {family->architecture}},
                         {"model_type", family->name},
                         {"vocab_size", vocab},
                         {"hidden_size", d_model},
                         {"num_hidden_layers", n_layers()},
                         {"num_attention_heads", n_heads},
                         {"num_key_value_heads", n_kv_heads},
                         {"head_dim", head_dim},
                         {"intermediate_size", d_ff},
                         {"hidden_act", "silu"},
                         {"attention_bias", o_bias},
                         // The shortest decimal that reads back as this f32.
                         {"rms_norm_eps", ordered_json::parse(fmt::format("{}", rms_eps))}};
  write_rope(rotations[0], object);
  object["max_position_embeddings"] = max_positions;
  object["tie_word_embeddings"] = tied_embeddings;
  object["torch_dtype"] = info_of(dtype).torch;
  ModelConfig as_written = *this;
  if (both_ways && !family->fixed.both_ways) {
    object["is_causal"] = false;
    for (LayerConfig& layer : as_written.layers) layer.window = std::max(layer.window - 1, 0);
  }
  family->write(as_written, object);
  object["bos_token_id"] = bos_id ? ordered_json(*bos_id) : nullptr;
  object["eos_token_id"] = eos_ids.empty()       ? ordered_json(nullptr)
                           : eos_ids.size() == 1 ? ordered_json(eos_ids.front())
                                                 : ordered_json(eos_ids);
  return object.dump(2) + "\n";
}

}  // namespace pando::model
