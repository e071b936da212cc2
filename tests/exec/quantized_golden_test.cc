// Quantised checkpoints against the packages that define their formats (tools/quantized_golden.py).
#include <gtest/gtest.h>

#include <algorithm>

#include "exec/loaded_weights.h"
#include "model/quantized_files.h"

namespace pando::model {
namespace {

using namespace exec;
using namespace testing;

struct QuantizedFixture {
  const char* name;
  DType kept;  // in memory, as stored
};

// FNV-1a.
std::string hash_of_bytes(const std::string& bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

class QuantizedGolden : public ::testing::TestWithParam<QuantizedFixture> {
 protected:
  static LoadedWeights load(const std::filesystem::path& directory, std::optional<DType> type) {
    ThreadPool pool(1);
    Result<LoadedWeights> weights = load_weights(directory, type, pool);
    EXPECT_TRUE(weights.ok()) << weights.error().message();
    return std::move(weights).value();
  }
};

TEST_P(QuantizedGolden, ValuesAreThePackages) {
  const std::filesystem::path directory = quantized_fixture(GetParam().name);
  const auto golden = nlohmann::json::parse(std::ifstream(directory / "golden.json"));
  const ModelConfig config = ModelConfig::load(directory).value();
  ASSERT_TRUE(config.quantization.has_value());
  const Checkpoint checkpoint = Checkpoint::open(directory, config.quantization).value();
  size_t n = 0;
  for (const WeightSpec& spec : weight_specs(config)) {
    const Result<TensorView> view = checkpoint.tensor(spec);
    ASSERT_TRUE(view.ok()) << view.error().message();
    ASSERT_EQ(view->quantized != nullptr, golden.contains(spec.name)) << spec.name;
    if (!view->quantized) continue;
    EXPECT_EQ(view->quantized->kept(), GetParam().kept) << dtype_name(view->quantized->kept());
    const std::vector<float> values = values_of(*view);
    const DType own = config.quantization->widened;
    EXPECT_EQ(hash_of_bytes(bytes_of_values(values, DType::kF32)), golden[spec.name]["f32"])
        << spec.name;
    EXPECT_EQ(hash_of_bytes(bytes_of_values(values, own)), golden[spec.name]["own"]) << spec.name;
    ++n;
  }
  EXPECT_EQ(n, golden.size());
}

// Whatever it is loaded as, to the bit.
TEST_P(QuantizedGolden, IsThePlainModelOfItsValues) {
  const std::filesystem::path directory = quantized_fixture(GetParam().name);
  const DType own = ModelConfig::load(directory).value().quantization->widened;
  const auto same = [](const kernel::PackedMatrix& x, const kernel::PackedMatrix& y) {
    return x.type() == y.type() && x.bytes() == y.bytes() &&
           std::memcmp(x.data(), y.data(), x.bytes()) == 0;
  };
  for (const DType type : {DType::kF32, own}) {
    const TemporaryFolder folder;
    const std::filesystem::path plain = write_plain(GetParam().name, type, folder);
    std::vector<std::optional<DType>> choices = {type};
    if (type == GetParam().kept) choices.emplace_back();
    if (type == DType::kF32) choices.emplace_back(DType::kI8);
    for (const std::optional<DType> choice : choices) {
      const LoadedWeights a = load(directory, choice), b = load(plain, choice);
      ASSERT_EQ(a.layers.size(), b.layers.size());
      for (size_t i = 0; i < a.layers.size(); ++i) {
        const LayerWeights &x = a.layers[i], &y = b.layers[i];
        ASSERT_EQ(x.qkv.size(), y.qkv.size());
        EXPECT_TRUE(std::ranges::equal(x.qkv, y.qkv, same));
        EXPECT_TRUE(std::ranges::equal(x.gate_up, y.gate_up, same));
        EXPECT_TRUE(same(x.o, y.o));
        EXPECT_TRUE(same(x.down, y.down));
        EXPECT_EQ(x.attention_norm, y.attention_norm);
      }
      EXPECT_TRUE(same(a.head, b.head));
    }
  }
}

TEST_P(QuantizedGolden, KeepsItsTypeInMemory) {
  const LoadedWeights weights = load(quantized_fixture(GetParam().name), std::nullopt);
  EXPECT_EQ(weights.layers[0].qkv[0].type(), GetParam().kept);
  EXPECT_EQ(weights.layers[0].qkv.size(), 1u);
  EXPECT_EQ(weights.layers[0].down.type(), GetParam().kept);
  EXPECT_EQ(weights.head.type(), weights.files->config.quantization->widened);
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantizedGolden,
                         ::testing::Values(QuantizedFixture{"fp8-blocks", DType::kBF16},
                                           QuantizedFixture{"fp8-tensor", DType::kBF16},
                                           QuantizedFixture{"compressed-float", DType::kBF16},
                                           QuantizedFixture{"compressed-int8", DType::kQ8_0},
                                           QuantizedFixture{"compressed-words4", DType::kQ4_0},
                                           QuantizedFixture{"compressed-zeros4", DType::kQ5_0},
                                           QuantizedFixture{"compressed-words8", DType::kQ8_0},
                                           QuantizedFixture{"awq", DType::kQ5_0},
                                           QuantizedFixture{"gptq-zeros", DType::kQ5_0},
                                           QuantizedFixture{"gptq-ordered", DType::kF16},
                                           QuantizedFixture{"gptq-v2-8", DType::kF16}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace pando::model
