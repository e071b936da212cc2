#include "engine/exactness_models.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "model/gguf_files.h"
#include "model/make_model.h"

namespace pando::testing {
namespace {

bool has_window(const model::LayerConfig& layer) { return layer.window > 0; }

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

Result<model::Weights> load_made(const CaseModel& model, CaseWeights kind,
                                 const std::filesystem::path& directory,
                                 const model::Share& share) {
  model::MakeModelOptions options;
  options.shape = model.shape;
  options.out = directory / model.name();
  options.dtype = kind == CaseWeights::kF32   ? DType::kF32
                  : kind == CaseWeights::kF16 ? DType::kF16
                                              : DType::kBF16;
  options.seed = 7;
  options.n_layers = 2;
  options.vocab = kCaseVocab;
  options.max_positions = kCaseContext;
  if (!std::filesystem::exists(options.out)) {
    if (Status status = model::make_model(options); !status) return status.error();
    std::ofstream(options.out / "config.json") << config_of(model).to_json(options.dtype);
  }
  ThreadPool pool(1);
  return model::Weights::load(options.out, requantised(kind), kernel::best_kernels(), pool, share);
}

// With rows of whole blocks, where only `o_proj` has others.
Result<model::Weights> load_blocks(const CaseModel& model, DType type,
                                   const std::filesystem::path& directory,
                                   const model::Share& share) {
  model::ModelConfig config = config_of(model);
  config.d_model = config.d_ff = 256;
  model::ModelConfig known = config;  // a GGUF file cannot say every rotation and window
  known.rotations = {{}};
  for (model::LayerConfig& layer : known.layers) layer = {};
  const std::filesystem::path path = directory / (model.name() + ".gguf");
  std::ofstream(path, std::ios::binary) << random_gguf(known, 7, type);
  ThreadPool pool(1);
  Result<model::Weights> loaded =
      model::Weights::load(path, {}, kernel::best_kernels(), pool, share);
  if (loaded) loaded->config = std::move(config);
  return loaded;
}

}  // namespace

std::string CaseModel::name() const {
  return fmt::format("{}-w{}-r{}", shape, window, static_cast<int>(rope));
}

model::ModelConfig config_of(const CaseModel& model) {
  model::ModelConfig config = model::named_shape(model.shape).value();
  config.layers.resize(2);
  config.vocab = kCaseVocab;
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
  if (rope.type > model::RopeType::kLinear) rope.original_positions = kCaseOriginal;
  return config;
}

CaseModels::CaseModels(CaseWeights kind) : kind_(kind) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "pando-exactness-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw std::runtime_error("cannot make a temporary directory");
  directory_ = pattern;
}

CaseModels::~CaseModels() { std::filesystem::remove_all(directory_); }

bool CaseModels::in_blocks() const { return testing::in_blocks(kind_).has_value(); }

std::unique_ptr<model::Weights> CaseModels::load(const CaseModel& model,
                                                 const model::Share& share) const {
  const std::optional<DType> blocks = testing::in_blocks(kind_);
  Result<model::Weights> loaded = blocks ? load_blocks(model, *blocks, directory_, share)
                                         : load_made(model, kind_, directory_, share);
  if (!loaded) throw std::runtime_error(loaded.error().message);
  return std::make_unique<model::Weights>(std::move(*loaded));
}

const model::Weights& CaseModels::weights(const CaseModel& model) {
  std::unique_ptr<model::Weights>& entry = weights_[model];
  if (!entry) entry = load(model, {});
  return *entry;
}

const model::Weights& CaseModels::share(const CaseModel& model, const model::Share& share) {
  std::unique_ptr<model::Weights>& entry =
      shares_[{model, share.stage, share.n_stages, share.rank, share.n_ranks}];
  if (!entry) entry = load(model, share);
  return *entry;
}

const reference::Model& CaseModels::reference(const CaseModel& model, DType kv_type,
                                              const CaseSizes& sizes, int context) {
  constexpr size_t kMostKept = 100;  // half a megabyte each
  if (references_.size() >= kMostKept) references_.clear();
  std::unique_ptr<reference::Model>& entry =
      references_[{model, kv_type, sizes, context > kCaseOriginal}];
  if (!entry) {
    const model::Weights& w = weights(model);
    Result<reference::Model> loaded = reference::Model::load(w.config, w.checkpoint,
                                                             {.weights = requantised(kind_),
                                                              .kv_dtype = kv_type,
                                                              .tile_len = sizes.tile_len,
                                                              .span_len = sizes.span_len,
                                                              .context = context});
    if (!loaded) throw std::runtime_error(loaded.error().message);
    entry = std::make_unique<reference::Model>(std::move(*loaded));
  }
  return *entry;
}

}  // namespace pando::testing
