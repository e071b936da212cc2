#include "model/make_model.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "base/half.h"
#include "base/mix.h"
#include "base/numbers/weight_types.h"
#include "base/thread_pool.h"
#include "base/write_file.h"
#include "model/config_ranges.h"
#include "model/safetensors.h"
#include "model/weight_specs.h"

namespace pando::model {
namespace {

namespace fs = std::filesystem;

uint64_t hash_name(std::string_view name) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

Result<ModelConfig> chosen_config(const MakeModelOptions& options) {
  Result<ModelConfig> config = named_shape(options.shape);
  if (!config) return config;
  if (options.n_layers) {
    if (!kLayerCounts.contains(*options.n_layers))
      return invalid_option("layers", "is {}, expected {}", *options.n_layers, kLayerCounts.text());
    const auto first = std::ranges::find_if(
        config->layers, [](const LayerConfig& layer) { return layer.mixer == Mixer::kAttention; });
    if (const auto least = first - config->layers.begin() + 1; *options.n_layers < least)
      return invalid_option(
          "layers",
          "is {}, expected at least {}: layer {} of '{}' is its first layer with attention",
          *options.n_layers, least, least, options.shape);
    config->layers.resize(static_cast<size_t>(*options.n_layers), config->layers.back());
    // The kind of a layer may depend on the number of layers.
    config = ModelConfig::parse(config->to_json(options.dtype), "make-model");
    if (!config) return with_code(ErrorCode::kInvalidArgument, config.error());
  }
  config->vocab = options.vocab.value_or(config->vocab);
  if (options.vocab && config->layer_input_vocab > 0) config->layer_input_vocab = config->vocab;
  if (options.max_positions && !kPositionCounts.contains(*options.max_positions))
    return invalid_option("context", "is {}, expected {}", *options.max_positions,
                          kPositionCounts.text());
  config->max_positions = options.max_positions.value_or(config->max_positions);
  if (config->n_learned_positions > 0)
    config->n_learned_positions = config->max_positions + config->position_offset;
  if (options.eos_id) {
    config->eos_ids = {*options.eos_id};
    config->bos_id.reset();
  }
  if (config->bos_id && *config->bos_id >= config->vocab) config->bos_id.reset();
  std::erase_if(config->eos_ids, [&](int32_t id) { return id >= config->vocab; });
  if (Status status = config->validate("make-model"); !status)
    return with_code(ErrorCode::kInvalidArgument, status.error());
  return config;
}

// One weight at a time, in pieces that fit a cache, a few MB between two writes.
class WeightStream {
 public:
  WeightStream(SafetensorsWriter& writer, const MakeModelOptions& options)
      : writer_(writer), options_(options), pool_(std::max(1, options.n_threads)) {}

  Status write(const WeightSpec& spec) {
    const int64_t n_elements = spec.n_elements();
    const int64_t size = static_cast<int64_t>(dtype_size(options_.dtype));
    for (int64_t first = 0; first < n_elements; first += kElements) {
      const int64_t n = std::min(kElements, n_elements - first);
      pool_.parallel_for((n + kPiece - 1) / kPiece, [&](int64_t piece, int) {
        const int64_t begin = piece * kPiece;
        fill(spec, first, begin, std::min(kPiece, n - begin));
      });
      if (Status status = writer_.append(std::span(bytes_).first(n * size)); !status) return status;
    }
    return {};
  }

 private:
  static constexpr int64_t kElements = int64_t{1} << 20;
  static constexpr int64_t kPiece = int64_t{1} << 14;

  void fill(const WeightSpec& spec, int64_t first, int64_t begin, int64_t n) {
    const auto values = std::span(values_).subspan(begin, n);
    random_weights(options_.seed, spec, first + begin, values);
    std::byte* out = bytes_.data() + begin * static_cast<int64_t>(dtype_size(options_.dtype));
    if (options_.dtype == DType::kF32) {
      std::copy_n(values.data(), n, reinterpret_cast<float*>(out));
    } else if (options_.dtype == DType::kBF16) {
      std::transform(values.begin(), values.end(), reinterpret_cast<uint16_t*>(out), f32_to_bf16);
    } else {
      std::transform(values.begin(), values.end(), reinterpret_cast<uint16_t*>(out), f32_to_f16);
    }
  }

  SafetensorsWriter& writer_;
  const MakeModelOptions& options_;
  ThreadPool pool_;
  std::vector<float> values_ = std::vector<float>(kElements);
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kElements * sizeof(float));
};

struct Spread {
  float center;
  double deviation;
};

Spread spread_of(const WeightSpec& spec) {
  const std::string_view name = spec.name;
  // States that are forgotten over some ten tokens: exp(-exp(-2) * softplus(0)) is 0.91.
  if (spec.stored == Stored::kLogDecay) return {-2.0f, 0.5};
  if (name.ends_with(".dt_bias")) return {0.0f, 0.5};
  if (name.ends_with(".sinks")) return {0.0f, 1.0};
  if (spec.shape.size() == 1 || spec.role == Role::kChoiceBias)
    return {name.ends_with(".bias") || spec.stored == Stored::kOneLess ? 0.0f : 1.0f, 0.1};
  // A tied LM head prefers the token that it has just read, the more so the larger the embedding is
  // beside the layers' sums.
  const bool is_embedding =
      name == "model.embed_tokens.weight" || name == "model.embeddings.weight";
  const double gain = is_embedding ? 0.5 : 1.0;
  return {0.0f, gain / std::sqrt(static_cast<double>(spec.shape.back()))};
}

}  // namespace

void random_weights(uint64_t seed, const WeightSpec& spec, int64_t first, std::span<float> out) {
  // Four 16-bit uniforms, added: integers up to here, then one product and one sum in f32.
  constexpr double kDeviation = 37837.0;  // sqrt(4 / 12) * 65536
  const auto [center, deviation] = spread_of(spec);
  const float scale = static_cast<float>(deviation / kDeviation);
  const uint64_t key = mix64(seed ^ mix64(hash_name(spec.name)));
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t bits = mix64(key + (static_cast<uint64_t>(first) + i + 1) * 0x9e3779b97f4a7c15u);
    const int sum = static_cast<int>(bits & 0xffff) + static_cast<int>((bits >> 16) & 0xffff) +
                    static_cast<int>((bits >> 32) & 0xffff) + static_cast<int>(bits >> 48);
    const float product = static_cast<float>(sum - 131070) * scale;
    out[i] = center + product;
  }
}

Status make_model(const MakeModelOptions& options) {
  const Result<ModelConfig> config = chosen_config(options);
  if (!config) return config.error();
  if (info_of(options.dtype).safetensors.empty())
    return invalid_argument("dtype is {}, expected f32, f16 or bf16", dtype_name(options.dtype));
  std::error_code failure;
  for (const char* name : {"config.json", "model.safetensors"})
    if (fs::exists(options.out / name, failure))
      return invalid_argument("{} exists already, expected a directory without a model",
                              (options.out / name).string());
  fs::create_directories(options.out, failure);
  if (failure) return io_error("cannot create {}: {}", options.out.string(), failure.message());
  const std::vector<WeightSpec> specs = checkpoint_specs(*config);
  std::vector<SafetensorsWriter::Tensor> tensors;
  for (const WeightSpec& spec : specs)
    tensors.push_back({spec.name, options.dtype, spec.checkpoint_shape()});
  Result<SafetensorsWriter> writer =
      SafetensorsWriter::create(options.out / "model.safetensors", tensors);
  if (!writer) return writer.error();
  WeightStream stream(*writer, options);
  for (const WeightSpec& spec : specs)
    if (Status status = stream.write(spec); !status) return status;
  if (Status status = writer->finish(); !status) return status;
  return write_file(options.out / "config.json", config->to_json(options.dtype));
}

}  // namespace pando::model
