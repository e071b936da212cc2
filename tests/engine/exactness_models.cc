#include "engine/exactness_models.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "base/half.h"
#include "exec/loaded_weights.h"
#include "model/gguf_files.h"
#include "model/make_model.h"
#include "model/safetensors.h"

namespace pando::testing {
namespace {

bool has_window(const model::LayerConfig& layer) { return layer.window > 0; }
bool reads_another(const model::LayerConfig& layer) { return layer.keys_back > 0; }

std::optional<DType> requantised(CaseWeights kind) {
  switch (kind) {
    case CaseWeights::kQ8_0:
      return DType::kQ8_0;
    case CaseWeights::kQ4_0:
      return DType::kQ4_0;
    case CaseWeights::kInt8:
      return DType::kI8;
    case CaseWeights::kBF16Dot:
      return DType::kBF16Dot;
    default:
      return std::nullopt;
  }
}

// The blocks of a GGUF file; nothing for other cases.
std::optional<DType> in_blocks(CaseWeights kind) {
  switch (kind) {
    case CaseWeights::kQ4_K:
      return DType::kQ4_K;
    case CaseWeights::kQ4_1:
      return DType::kQ4_1;
    case CaseWeights::kQ5_0:
      return DType::kQ5_0;
    case CaseWeights::kQ5_1:
      return DType::kQ5_1;
    case CaseWeights::kQ5_K:
      return DType::kQ5_K;
    case CaseWeights::kQ6_K:
      return DType::kQ6_K;
    case CaseWeights::kIQ4_NL:
      return DType::kIQ4_NL;
    case CaseWeights::kIQ4_XS:
      return DType::kIQ4_XS;
    case CaseWeights::kMXFP4:
      return DType::kMXFP4;
    default:
      return std::nullopt;
  }
}

// Neighbouring experts get the same logits, so that ties are common.
void repeat_rows(std::vector<float>& router, const model::ModelConfig& config) {
  for (int expert = 1; expert < config.experts.n_experts; expert += 2)
    std::copy_n(router.begin() + (expert - 1) * config.d_model, config.d_model,
                router.begin() + expert * config.d_model);
}

Status write_model(const model::ModelConfig& config, DType dtype,
                   const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  std::vector<model::SafetensorsWriter::Tensor> tensors;
  const std::vector<model::WeightSpec> specs = model::checkpoint_specs(config);
  for (const model::WeightSpec& spec : specs)
    tensors.push_back({spec.name, dtype, spec.checkpoint_shape()});
  Result<model::SafetensorsWriter> writer =
      model::SafetensorsWriter::create(directory / "model.safetensors", tensors);
  if (!writer) return writer.error();
  for (const model::WeightSpec& spec : specs) {
    std::vector<float> values(spec.n_elements());
    model::random_weights(/*seed=*/7, spec, 0, values);
    if (spec.role == model::Role::kRouter) repeat_rows(values, config);
    std::vector<uint16_t> halves(values.size());
    std::ranges::transform(values, halves.begin(), dtype == DType::kF16 ? f32_to_f16 : f32_to_bf16);
    const auto bytes =
        dtype == DType::kF32 ? std::as_bytes(std::span(values)) : std::as_bytes(std::span(halves));
    if (Status status = writer->append(bytes); !status) return status;
  }
  std::ofstream(directory / "config.json") << config.to_json(dtype);
  return writer->finish();
}

auto loader_of(CaseDevice device) {
  using exec::gpu::ThreadOrder;
  constexpr decltype(&load_model) kLoaders[] = {
      load_model,
      load_scalar_model,
      load_emulated_model<ThreadOrder::kForward>,
      load_emulated_model<ThreadOrder::kBackward>,
      load_emulated_model<ThreadOrder::kShuffled>,
      load_driver_model<exec::gpu::open_cuda, exec::cuda_device>,
      load_driver_model<exec::gpu::open_opencl, exec::opencl_device>};
  return kLoaders[static_cast<size_t>(device)];
}

Result<LoadedModel> load_made(const CaseModel& model, CaseWeights kind, CaseDevice device,
                              const std::filesystem::path& directory, const ModelShare& share) {
  const std::filesystem::path path = directory / model.name();
  const DType dtype = kind == CaseWeights::kF32   ? DType::kF32
                      : kind == CaseWeights::kF16 ? DType::kF16
                                                  : DType::kBF16;
  if (!std::filesystem::exists(path))
    if (Status status = write_model(config_of(model), dtype, path); !status) return status.error();
  ThreadPool pool(1);
  return loader_of(device)(path, requantised(kind), pool, share, {});
}

// Loads the model with rows of whole blocks; only `o_proj` has others.
Result<LoadedModel> load_blocks(const CaseModel& model, DType type, CaseDevice device,
                                const std::filesystem::path& directory, const ModelShare& share) {
  model::ModelConfig config = config_of(model);
  if (is_family(config, "gpt_neox") || is_family(config, "glm4v_text")) {
    // Their files cannot say that heads are shorter than rows of whole blocks make them. A model
    // with as many keys and values stands in.
    CaseModel other = model;
    other.shape = "tiny-phi";
    const int n_kv_heads = config.n_kv_heads;
    config = config_of(other);
    config.n_kv_heads = n_kv_heads;
  }
  const bool shares_d_ff = config.experts.shared_d_ff == config.d_ff;  // Gemma 4
  const bool has_whole_experts = config.experts.shared_d_ff % std::max(config.experts.d_ff, 1) == 0;
  config.d_model = config.d_ff = 256;
  if (config.has(model::FeedForward::kExperts)) {
    config.experts.d_ff = 256;
    if (config.experts.shared_d_ff > 0 && (has_whole_experts || shares_d_ff))
      config.experts.shared_d_ff = 256;
    for (model::LayerConfig& layer : config.layers)
      layer.feed_forward = model::FeedForward::kExperts;
  }
  for (model::LayerConfig& layer : config.layers)
    if (layer.d_ff > 0) layer.d_ff = 512;
  model::ModelConfig known = config;
  const auto has_own_heads = [](const model::LayerConfig& layer) { return layer.head_dim > 0; };
  if (std::ranges::none_of(known.layers, has_own_heads)) {
    // A GGUF file cannot say every rotation and window.
    known.rotations = {{}};
    for (model::LayerConfig& layer : known.layers) layer = {.feed_forward = layer.feed_forward};
  }
  const std::filesystem::path path = directory / (model.name() + ".gguf");
  std::ofstream(path, std::ios::binary) << random_gguf(known, 7, type);
  ThreadPool pool(1);
  return loader_of(device)(path, {}, pool, share, config);
}

}  // namespace

std::string CaseModel::name() const {
  return fmt::format("{}-w{}-r{}{}", shape, window, static_cast<int>(rope), wide ? "-wide" : "");
}

model::ModelConfig config_of(const CaseModel& model) {
  model::ModelConfig config = model::named_shape(model.shape).value();
  const std::vector<model::LayerConfig> layers = config.layers;
  // Layers that read the keys of others stay the last ones.
  const auto n_sharing = static_cast<size_t>(std::ranges::count_if(layers, reads_another));
  const size_t n_own = layers.size() - n_sharing;
  const bool takes_all = n_sharing > 0 || config.has(model::Mixer::kNone);
  config.layers.resize(model.wide ? 8 : takes_all ? layers.size() : 2);
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const size_t n_left = config.layers.size() - i;
    config.layers[i] = n_left > n_sharing ? layers[i % n_own] : layers[layers.size() - n_left];
  }
  if (model.wide) {
    model::RecurrentConfig& recurrent = config.recurrent;
    if (config.has(model::Mixer::kDeltaNet)) {
      recurrent.n_heads = recurrent.n_heads / recurrent.n_key_heads * config.n_heads;
      recurrent.n_key_heads = config.n_heads;
    } else if (config.has(model::Mixer::kMamba2)) {  // two ranks share a group
      recurrent.value_dim = recurrent.value_width() / 8;
      recurrent.n_heads = 8;
    }
  }
  config.vocab = kCaseVocab;
  if (config.bos_id && *config.bos_id >= kCaseVocab) config.bos_id = {};
  std::erase_if(config.eos_ids, [](int32_t id) { return id >= kCaseVocab; });
  if (config.layer_input_dim > 0) config.layer_input_vocab = kCaseVocab;
  config.max_positions = kCaseContext;
  const bool some = std::ranges::any_of(config.layers, has_window);
  for (model::LayerConfig& layer : config.layers)
    if (model.window > 0 && (has_window(layer) || !some)) layer.window = model.window;
  model::RopeConfig& rope = config.rotations[0];
  if (model.rope != model::RopeType::kDefault) {
    rope.type = model.rope;
    rope.factor = 4.0;
    if (model.rope == model::RopeType::kYarn) rope.attention_factor = 1.140625;
  }
  if (rope.type > model::RopeType::kLinear && rope.type != model::RopeType::kProportional)
    rope.original_positions = kCaseOriginal;
  return config;
}

CaseModels::CaseModels(CaseWeights kind, CaseDevice device) : kind_(kind), device_(device) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "pando-exactness-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw std::runtime_error("cannot make a temporary directory");
  directory_ = pattern;
}

CaseModels::~CaseModels() { std::filesystem::remove_all(directory_); }

bool CaseModels::in_blocks() const { return testing::in_blocks(kind_).has_value(); }

std::unique_ptr<LoadedModel> CaseModels::load(const CaseModel& model,
                                              const ModelShare& share) const {
  const std::optional<DType> blocks = testing::in_blocks(kind_);
  Result<LoadedModel> loaded = blocks ? load_blocks(model, *blocks, device_, directory_, share)
                                      : load_made(model, kind_, device_, directory_, share);
  if (!loaded) throw std::runtime_error(loaded.error().message());
  return std::make_unique<LoadedModel>(std::move(*loaded));
}

const LoadedModel& CaseModels::whole(const CaseModel& model) {
  std::unique_ptr<LoadedModel>& entry = whole_[model];
  if (!entry) entry = load(model, {});
  return *entry;
}

const DeviceModel& CaseModels::share(const CaseModel& model, const ModelShare& share) {
  std::unique_ptr<LoadedModel>& entry = shares_[model][share];
  if (!entry) entry = load(model, share);
  return *entry->weights;
}

const reference::Model& CaseModels::reference(const CaseModel& model, DType kv_type,
                                              const CaseSizes& sizes, int context) {
  constexpr size_t kMostKept = 100;  // half a megabyte each
  if (references_.size() >= kMostKept) references_.clear();
  std::unique_ptr<reference::Model>& entry =
      references_[{model, kv_type, sizes, context > kCaseOriginal}];
  if (!entry) {
    const LoadedModel& w = whole(model);
    Result<reference::Model> loaded = reference::Model::load(w.config, w.files->checkpoint,
                                                             {.weights = requantised(kind_),
                                                              .kv_dtype = kv_type,
                                                              .tile_len = sizes.tile_len,
                                                              .span_len = sizes.span_len,
                                                              .context = context});
    if (!loaded) throw std::runtime_error(loaded.error().message());
    entry = std::make_unique<reference::Model>(std::move(*loaded));
  }
  return *entry;
}

}  // namespace pando::testing
