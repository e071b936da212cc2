// Peak memory of loading: the packed weights, and little beside them.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "exec/loaded_weights.h"
#include "model/gguf_files.h"
#include "model/make_model.h"
#include "model/test_files.h"

namespace pando::model {
namespace {

using namespace exec;
using namespace testing;

// A line of /proc/self/status, in bytes; 0 if there is none.
size_t memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    size_t kib = 0;
    if (word == name && status >> kib) return kib << 10;
  }
  return 0;
}

TEST(LoadMemory, PeakIsNearThePackedWeights) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have memory of their own";
#endif
  const TemporaryFolder folder;
  // The embedding table is most of the file: 82 of 113 MB.
  ASSERT_TRUE(make_model({.shape = "qwen3-0.6b",
                          .out = folder.path(),
                          .n_layers = 1,
                          .vocab = 40'000,
                          .n_threads = 2})
                  .ok());
  const auto file_bytes = std::filesystem::file_size(folder.path() / "model.safetensors");
  const size_t before = memory("VmRSS:");
  if (before == 0) GTEST_SKIP() << "no /proc here";
  ThreadPool pool(2);
  for (const std::optional<DType> type :
       {std::optional(DType::kQ4_0), std::optional(DType::kI8), std::optional<DType>()}) {
    const LoadedWeights weights = load_weights(folder.path(), type, pool).value();
    constexpr size_t kScratch = size_t{16} << 20;
    EXPECT_LE(memory("VmHWM:"), before + weights.bytes() + kScratch);
    EXPECT_LE(weights.bytes(), 1.2 * static_cast<double>(file_bytes));
  }
}

// Experts lie in many small tensors, or in few large ones of a GGUF file; each is held once.
TEST(LoadMemory, ExpertsAreHeldOnce) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have memory of their own";
#endif
  const TemporaryFolder folder;
  ModelConfig config = named_shape("qwen3-30b-a3b").value();  // 8 of its 128 experts
  config.experts.n_experts = 8;
  config.layers.resize(1);
  config.vocab = 512;
  config.bos_id.reset();
  config.eos_ids.clear();
  folder.write("model.gguf", testing::random_gguf(config, 1, DType::kQ4_K));
  const auto file_bytes = std::filesystem::file_size(folder.path() / "model.gguf");
  const size_t before = memory("VmRSS:");
  if (before == 0) GTEST_SKIP() << "no /proc here";
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak so far is forgotten
  if (memory("VmHWM:") > before + file_bytes / 2) GTEST_SKIP() << "an earlier peak counts";
  ThreadPool pool(2);
  const LoadedWeights weights = load_weights(folder.path() / "model.gguf", {}, pool).value();
  EXPECT_EQ(weights.layers[0].experts.size(), 8u);
  EXPECT_LE(weights.bytes(), 1.1 * static_cast<double>(file_bytes));
  EXPECT_LE(memory("VmHWM:") - before, 1.1 * static_cast<double>(file_bytes));
}

struct QuantizedFile {
  nlohmann::json quantization;
  // Tensors of a matrix [n, k]: last part of the name, type, bytes of an element, shape.
  struct Part {
    std::string name, dtype;
    int64_t size;
    std::vector<int64_t> shape;
  };
  std::function<std::vector<Part>(int64_t n, int64_t k)> parts;
};

// A model of one layer and zeros.
void write_zeros(const QuantizedFile& file, const TemporaryFolder& folder) {
  ModelConfig config = named_shape("llama-3.2-1b").value();
  config.layers.resize(1);
  config.vocab = 100;
  config.bos_id.reset();
  config.eos_ids.clear();
  nlohmann::json header;
  int64_t n_bytes = 0;
  for (const WeightSpec& spec : weight_specs(config)) {
    const bool is_plain = spec.shape.size() == 1 || spec.name == "model.embed_tokens.weight";
    const std::string module = spec.name.substr(0, spec.name.rfind('.'));
    const std::vector<QuantizedFile::Part> plain = {{"weight", "BF16", 2, spec.shape}};
    for (const auto& [name, dtype, size, shape] :
         is_plain ? plain : file.parts(spec.shape[0], spec.shape[1])) {
      int64_t n = size;
      for (const int64_t length : shape) n *= length;
      header[module + "." + name] = {
          {"dtype", dtype}, {"shape", shape}, {"data_offsets", {n_bytes, n_bytes + n}}};
      n_bytes += n;
    }
  }
  const std::string head = safetensors_bytes(header.dump(), "");
  std::filesystem::resize_file(folder.write("model.safetensors", head), head.size() + n_bytes);
  nlohmann::json object = nlohmann::json::parse(config.to_json(DType::kBF16));
  object["quantization_config"] = file.quantization;
  folder.write("config.json", object.dump());
}

TEST(LoadMemory, PeakIsNearTheWidenedWeights) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have memory of their own";
#endif
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins here
  const size_t before = memory("VmRSS:");
  if (before == 0) GTEST_SKIP() << "no /proc here";
  const QuantizedFile awq = {{{"quant_method", "awq"}},
                             [](int64_t n, int64_t k) -> std::vector<QuantizedFile::Part> {
                               return {{"qweight", "I32", 4, {k, n / 8}},
                                       {"qzeros", "I32", 4, {k / 128, n / 8}},
                                       {"scales", "F16", 2, {k / 128, n}}};
                             }};
  const QuantizedFile fp8 = {{{"quant_method", "fp8"}},
                             [](int64_t n, int64_t k) -> std::vector<QuantizedFile::Part> {
                               return {{"weight", "F8_E4M3", 1, {n, k}},
                                       {"weight_scale_inv", "BF16", 2, {n / 128, k / 128}}};
                             }};
  constexpr size_t kScratch = size_t{16} << 20, kMatrix = 8192 * 2048 / 2;  // of AWQ
  ThreadPool pool(2);
  for (const auto& [file, most] : {std::pair(awq, kScratch + kMatrix), {fp8, kScratch}}) {
    const TemporaryFolder folder;
    write_zeros(file, folder);
    const Result<LoadedWeights> weights = load_weights(folder.path(), std::nullopt, pool);
    ASSERT_TRUE(weights.ok()) << weights.error().message();
    EXPECT_GE(weights->bytes(), size_t{37} << 20);
    EXPECT_LE(memory("VmHWM:"), before + weights->bytes() + most);
  }
}

}  // namespace
}  // namespace pando::model
