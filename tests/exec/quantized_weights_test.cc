// Quantised checkpoints that differ from the fixtures: others that are read, and refusals.
#include <gtest/gtest.h>

#include <functional>

#include "exec/loaded_weights.h"
#include "model/make_model.h"
#include "model/quantized_files.h"

namespace pando::model {
namespace {

using namespace exec;
using namespace testing;

using Edit = std::function<void(EditedCheckpoint&)>;

Result<LoadedWeights> load_edited(const std::string& fixture, const Edit& edit,
                                  std::optional<DType> type = {}) {
  const TemporaryFolder folder;
  EditedCheckpoint checkpoint(quantized_fixture(fixture));
  edit(checkpoint);
  ThreadPool pool(1);
  return load_weights(checkpoint.write(folder), type, pool);
}

void expect_refused(const std::string& fixture, const Edit& edit,
                    std::initializer_list<const char*> words) {
  const Result<LoadedWeights> weights = load_edited(fixture, edit);
  ASSERT_FALSE(weights.ok());
  for (const char* word : words)
    EXPECT_NE(weights.error().message().find(word), std::string::npos)
        << word << " in: " << weights.error().message();
}

void expect_loaded(const std::string& fixture, const Edit& edit) {
  const Result<LoadedWeights> weights = load_edited(fixture, edit);
  EXPECT_TRUE(weights.ok()) << weights.error().message();
}

TEST(QuantizedWeights, RefusesMissingTensors) {
  const char* kMatrix = "'model.layers.0.mlp.up_proj.weight' is quantised";
  const struct {
    const char *fixture, *part;
  } cases[] = {{"fp8-blocks", "weight_scale_inv"},
               {"compressed-float", "weight_scale"},
               {"compressed-words4", "weight_scale"},
               {"compressed-zeros4", "weight_zero_point"},
               {"awq", "scales"},
               {"awq", "qzeros"},
               {"gptq-zeros", "scales"},
               {"gptq-zeros", "qzeros"}};
  for (const auto& [fixture, part] : cases)
    expect_refused(fixture,
                   [&](EditedCheckpoint& c) { c.erase(std::string("mlp.up_proj.") + part); },
                   {"model.safetensors", kMatrix,
                    part == std::string("weight_scale_inv") ? "weight_scale" : part});
}

TEST(QuantizedWeights, RefusesOtherShapesAndTypes) {
  // Parts of up_proj [96, 64].
  const struct {
    const char *fixture, *part, *expected;
  } shapes[] = {{"fp8-blocks", "weight_scale_inv", "[3, 2]"},
                {"compressed-float", "weight_scale", "[96, 1]"},
                {"compressed-words4", "weight_packed", "[96, 8]"},
                {"compressed-words4", "weight_scale", "[96, 2]"},
                {"compressed-zeros4", "weight_zero_point", "[12, 2]"},
                {"awq", "qweight", "[64, 12]"},
                {"awq", "qzeros", "[2, 12]"},
                {"awq", "scales", "[2, 96]"},
                {"gptq-zeros", "qweight", "[8, 96]"},
                {"gptq-zeros", "qzeros", "[2, 12]"},
                {"gptq-zeros", "g_idx", "[64]"}};
  for (const auto& [fixture, part, expected] : shapes) {
    const std::string name = std::string("mlp.up_proj.") + part;
    expect_refused(fixture,
                   [&](EditedCheckpoint& c) {  // one row more
                     EditedCheckpoint::Tensor& tensor = c.part(name);
                     tensor.bytes += tensor.bytes.substr(0, tensor.bytes.size() / tensor.shape[0]);
                     ++tensor.shape[0];
                   },
                   {part, "has shape", expected});
    expect_refused(fixture,
                   [&](EditedCheckpoint& c) {
                     std::string& dtype = c.part(name).dtype;  // of as many bytes
                     dtype = dtype == "I32" ? "F32" : "I16";
                   },
                   {part, "has dtype"});
  }
}

TEST(QuantizedWeights, RefusesContradictions) {
  expect_refused("gptq-ordered",
                 [](EditedCheckpoint& c) { c.part("mlp.up_proj.g_idx").bytes[4 * 7] = 2; },
                 {"up_proj.g_idx", "group 2 at element 7", "[0, 2)"});
  expect_refused("gptq-ordered",
                 [](EditedCheckpoint& c) { c.part("mlp.up_proj.g_idx").bytes[3] = '\xff'; },
                 {"up_proj.g_idx", "group -16777215 at element 0", "[0, 2)"});
  expect_refused("compressed-words4",
                 [](EditedCheckpoint& c) { c.part("mlp.up_proj.weight_shape").bytes[0] = 95; },
                 {"weight_shape", "[95, 64]", "[96, 64]"});
  expect_refused("awq", [](EditedCheckpoint& c) { c.quantization()["group_size"] = 64; },
                 {"scales", "[2, 64]", "[1, 64]"});
  // Without its codes a scale is an unread tensor.
  expect_refused("awq",
                 [](EditedCheckpoint& c) {
                   c.erase("mlp.up_proj.qweight");
                   c.part("mlp.up_proj.weight") = {"F16", {96, 64}, std::string(96 * 64 * 2, '\0')};
                 },
                 {"up_proj", "unknown"});
  expect_refused("compressed-int8",
                 [](EditedCheckpoint& c) { c.part("mlp.up_proj.weight").dtype = "F8_E4M3"; },
                 {"up_proj.weight", "'quantization_config' describes"});
  expect_refused("fp8-blocks",
                 [](EditedCheckpoint& c) { c.part("mlp.up_proj.weight").dtype = "F8_E5M2"; },
                 {"up_proj.weight", "F8_E5M2"});
  expect_refused(
      "fp8-blocks",
      [](EditedCheckpoint& c) {
        c.tensors["model.embed_tokens.weight"] = {"F8_E4M3", {24, 64}, std::string(24 * 64, '\0')};
      },
      {"model.embed_tokens.weight", "quantised", "BF16"});
}

TEST(QuantizedWeights, RefusesWeightsThatAreNotFinite) {
  const char* const kMessage = "up_proj.weight' holds NaN or infinity in row 1";
  expect_refused("fp8-blocks",
                 [](EditedCheckpoint& c) { c.part("mlp.up_proj.weight").bytes[64] = 0x7f; },
                 {kMessage});
  for (const char* fixture : {"compressed-words4", "compressed-zeros4"})
    expect_refused(fixture,
                   [](EditedCheckpoint& c) {
                     c.part("mlp.up_proj.weight_scale").bytes[2 * 2] = '\x80';
                     c.part("mlp.up_proj.weight_scale").bytes[2 * 2 + 1] = '\x7f';
                   },
                   {kMessage});
  // 60,000 times integers.
  expect_refused("gptq-ordered",
                 [](EditedCheckpoint& c) {
                   c.part("mlp.up_proj.scales").bytes[0] = '\x53';
                   c.part("mlp.up_proj.scales").bytes[1] = '\x7b';
                 },
                 {"up_proj.weight", "too large for f16"});
}

// A module that was left out is plain.
TEST(QuantizedWeights, ReadsPlainMatricesBesideQuantisedOnes) {
  const Result<LoadedWeights> weights = load_edited("awq", [](EditedCheckpoint& c) {
    for (const char* part : {"qweight", "qzeros", "scales"})
      c.erase(std::string("self_attn.k_proj.") + part);
    c.part("self_attn.k_proj.weight") = {"BF16", {32, 64}, std::string(32 * 64 * 2, '\0')};
  });
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  const Stack& qkv = weights->layers[0].qkv;
  ASSERT_EQ(qkv.size(), 3u);
  EXPECT_EQ(qkv[0].type(), DType::kQ5_0);
  EXPECT_EQ(qkv[1].type(), DType::kBF16);
  EXPECT_EQ(qkv[1].n(), 32);
  EXPECT_EQ(qkv[2].type(), DType::kQ5_0);
}

// Matrices of experts with codes and scales of their own. `first`: the expert that is the first one
// in the file, and changes places with it.
LoadedWeights experts_of_fp8(int first) {
  const TemporaryFolder made, folder;
  EXPECT_TRUE(make_model({.shape = "tiny-qwen3-moe", .out = made.path(), .dtype = DType::kBF16}));
  const EditedCheckpoint plain(made.path());
  EditedCheckpoint checkpoint(made.path());
  checkpoint.quantization() =
      EditedCheckpoint(quantized_fixture("fp8-blocks")).config["quantization_config"];
  size_t n_matrices = 0;
  for (const auto& [name, tensor] : plain.tensors) {
    constexpr std::string_view kExperts = ".mlp.experts.";
    const size_t at = name.find(kExperts);
    if (at == std::string::npos) continue;
    ++n_matrices;
    const size_t begin = at + kExperts.size(), end = name.find('.', begin);
    const int expert = std::stoi(name.substr(begin, end - begin));
    const int place = expert == first ? 0 : expert == 0 ? first : expert;
    std::string placed = name.substr(0, begin) + std::to_string(place);
    placed += name.substr(end);
    const int64_t n = tensor.shape[0], k = tensor.shape[1];
    std::string codes(static_cast<size_t>(n * k), '\0');
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<char>((i * 13 + static_cast<size_t>(expert) * 29) % 0x70);
    const std::vector<int64_t> blocks = {(n + 31) / 32, (k + 31) / 32};
    const std::vector<float> scales(static_cast<size_t>(blocks[0] * blocks[1]),
                                    0.25f * static_cast<float>(expert + 1));
    checkpoint.tensors[placed] = {"F8_E4M3", tensor.shape, codes};
    checkpoint.tensors[placed + "_scale_inv"] = {"F32", blocks,
                                                 bytes_of_values(scales, DType::kF32)};
  }
  EXPECT_GT(n_matrices, 0u);
  ThreadPool pool(1);
  return load_weights(checkpoint.write(folder), {}, pool).value();
}

bool same_bytes(const kernel::PackedMatrix& a, const kernel::PackedMatrix& b) {
  return a.type() == b.type() && a.bytes() == b.bytes() &&
         std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

TEST(QuantizedWeights, ReadsExpertsThatAreTensorsOfTheirOwn) {
  const LoadedWeights as_stored = experts_of_fp8(0), swapped = experts_of_fp8(2);
  for (size_t i = 0; i < as_stored.layers.size(); ++i) {
    const std::vector<ExpertWeights>& a = as_stored.layers[i].experts;
    const std::vector<ExpertWeights>& b = swapped.layers[i].experts;
    if (a.empty()) continue;
    EXPECT_FALSE(same_bytes(a[0].down, a[2].down));
    EXPECT_TRUE(same_bytes(a[0].down, b[2].down));
    EXPECT_TRUE(same_bytes(a[2].down, b[0].down));
    EXPECT_TRUE(same_bytes(a[1].down, b[1].down));
    EXPECT_TRUE(same_bytes(a[2].gate_up[0], b[0].gate_up[0]));
  }
}

// Integers of eight bits, with scales that f16 holds but for one expert of the second layer.
TEST(QuantizedWeights, ExpertsOfALayerGetOneType) {
  const TemporaryFolder made, folder;
  ASSERT_TRUE(make_model({.shape = "tiny-qwen3-moe", .out = made.path(), .dtype = DType::kBF16}));
  EditedCheckpoint checkpoint(made.path());
  checkpoint.quantization() =
      EditedCheckpoint(quantized_fixture("compressed-int8")).config["quantization_config"];
  for (const auto& [name, tensor] : EditedCheckpoint(made.path()).tensors) {
    if (name.find(".mlp.experts.") == name.npos) continue;
    const bool is_other = name.starts_with("model.layers.1.mlp.experts.5.");
    const int64_t n = tensor.shape[0], k = tensor.shape[1];
    std::string codes;
    for (int64_t i = 0; i < n * k; ++i) codes += static_cast<char>(i * 13 % 100);
    const std::vector<float> scales(static_cast<size_t>(n), is_other ? 0.1f : 0.25f);
    checkpoint.tensors[name] = {"I8", tensor.shape, codes};
    checkpoint.tensors[name + "_scale"] = {"F32", {n, 1}, bytes_of_values(scales, DType::kF32)};
  }
  ThreadPool pool(1);
  const auto load = [&](std::optional<DType> type) {
    return load_weights(folder.path(), type, pool).value();
  };
  checkpoint.write(folder);
  const LoadedWeights found = load({}), rounded = load(DType::kBF16);
  for (const ExpertWeights& expert : found.layers[0].experts)
    EXPECT_EQ(expert.gate_up.at(0).type(), DType::kQ8_0);
  for (size_t i = 0; i < found.layers[1].experts.size(); ++i) {
    ASSERT_EQ(found.layers[1].experts[i].gate_up.size(), 1u);
    EXPECT_TRUE(
        same_bytes(found.layers[1].experts[i].gate_up[0], rounded.layers[1].experts[i].gate_up[0]));
  }
}

TEST(QuantizedWeights, ReadsWhatOnlySaysHowActivationsAreQuantised) {
  const EditedCheckpoint::Tensor one = {"F32", {1}, std::string(4, '\0')};
  expect_loaded("compressed-float", [&](EditedCheckpoint& c) {
    c.part("mlp.up_proj.input_scale") = c.part("mlp.up_proj.output_scale") = one;
  });
  const Edit scales = [&](EditedCheckpoint& c) {
    c.part("self_attn.k_scale") = c.part("self_attn.v_scale") = one;
  };
  expect_refused("compressed-float", scales, {"self_attn.k_scale", "unknown"});
  const Result<LoadedWeights> weights = load_edited("compressed-float", [&](EditedCheckpoint& c) {
    scales(c);
    c.quantization()["kv_cache_scheme"] = {{"num_bits", 8}, {"type", "float"}};
  });
  ASSERT_TRUE(weights.ok()) << weights.error().message();
  EXPECT_TRUE(weights->files->config.quantization->has_keys_and_values);
  EXPECT_TRUE(weights->files->config.quantization->has_activations);
}

TEST(QuantizedWeights, PassesOverZeroPointsOfFloatsThatAreZero) {
  EditedCheckpoint::Tensor zeros = {"I8", {96, 1}, std::string(96, '\0')};
  const Edit add = [&](EditedCheckpoint& c) { c.part("mlp.up_proj.weight_zero_point") = zeros; };
  expect_loaded("compressed-float", add);
  zeros.bytes[95] = 1;
  expect_refused("compressed-float", add, {"up_proj.weight_zero_point", "not 0"});
}

// Some writers store a bias for every quantised matrix.
TEST(QuantizedWeights, PassesOverBiasesOfZeros) {
  EditedCheckpoint::Tensor bias = {"F16", {96}, std::string(96 * 2, '\0')};
  const Edit add = [&](EditedCheckpoint& c) { c.part("mlp.up_proj.bias") = bias; };
  expect_loaded("gptq-zeros", add);
  bias.bytes[5] = 1;
  expect_refused("gptq-zeros", add, {"up_proj.bias", "unknown"});
}

// A matrix without a file; its views are valid as long as it is.
class MadeMatrix {
 public:
  template <class T>
  MadeMatrix& with(const char* part, const char* dtype, std::vector<int64_t> shape,
                   const std::vector<T>& values) {
    Tensor& tensor = tensors_[part];
    tensor.entry = {.dtype = dtype, .shape = std::move(shape)};
    tensor.bytes.resize(values.size() * sizeof(T));
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    tensor.entry.n_bytes = tensor.bytes.size();
    return *this;
  }
  TensorView view(const Quantization& quantization, int64_t n, int64_t k,
                  const RowOrder& columns = {}) const {
    StoredParts parts;
    for (const auto& [part, tensor] : tensors_)
      parts[part] = {{"file", part}, &tensor.entry, tensor.bytes.data()};
    auto matrix = QuantizedMatrix::open({"file", "matrix"}, parts, quantization, n, k, columns);
    EXPECT_TRUE(matrix.ok()) << matrix.error().message();
    TensorView view;
    view.dtype = (*matrix)->dtype();
    view.shape = {n, k};
    view.quantized = *matrix;
    return view;
  }

 private:
  struct Tensor {
    TensorEntry entry;
    std::vector<std::byte> bytes;
  };
  std::map<std::string, Tensor> tensors_;
};

// The last blocks of rows and of columns are not whole.
TEST(QuantizedMatrix, ReadsBlocksAtTheEdges) {
  const int64_t n = 5, k = 8;
  std::vector<uint8_t> weights(n * k, 0x38);  // 1
  weights[0] = 0x01;                          // 2^-9
  weights[1] = 0x7e;                          // 448
  weights[2] = 0x80;                          // -0
  weights[3] = 0xb0;                          // -1/2
  const std::vector<float> scales = {1, 3, 0.1f, 0x1p-20f, 5, 6};
  const MadeMatrix matrix = MadeMatrix()
                                .with("weight", "F8_E4M3", {n, k}, weights)
                                .with("weight_scale_inv", "F32", {3, 2}, scales);
  const TensorView view =
      matrix.view({.schemes = {{.is_float = true, .block_rows = 2, .block_columns = 5}},
                   .widened = DType::kF16},
                  n, k);
  EXPECT_EQ(view.dtype, DType::kF32);
  EXPECT_EQ(view.quantized->kept(), DType::kF16);
  const std::vector<float> values = values_of(view);
  EXPECT_EQ(values[0], 0x1p-9f);
  EXPECT_EQ(values[1], 448.0f);
  EXPECT_TRUE(std::signbit(values[2]) && values[2] == 0.0f);
  EXPECT_EQ(values[3], -0.5f);
  for (int64_t row = 0; row < n; ++row)
    for (int64_t i = row == 0 ? 4 : 0; i < k; ++i)
      EXPECT_EQ(values[row * k + i], scales[row / 2 * 2 + i / 5]) << row << " " << i;
}

// A scale that f16 cannot hold; 32 weights of two groups; and rows that are not whole blocks.
TEST(QuantizedMatrix, WidensWhatNoTypeHolds) {
  Quantization quantization = {.schemes = {{.block_rows = 1}}};
  const auto kept = [&](float scale, int64_t k, int64_t group) {
    quantization.schemes[0].block_columns = group;
    std::vector<int8_t> weights(3 * k);
    for (int64_t i = 0; i < 3 * k; ++i) weights[i] = static_cast<int8_t>(i * 37);
    const int64_t n_groups = (k + group - 1) / group;
    std::vector<float> scales(3 * n_groups, 0.5f);
    scales.back() = scale;
    const MadeMatrix matrix = MadeMatrix()
                                  .with("weight", "I8", {3, k}, weights)
                                  .with("weight_scale", "F32", {3, n_groups}, scales);
    const TensorView view = matrix.view(quantization, 3, k);
    const std::vector<float> values = values_of(view);
    for (int64_t row = 0; row < 3; ++row)
      for (int64_t i = 0; i < k; ++i)
        EXPECT_EQ(values[row * k + i],
                  static_cast<float>(weights[row * k + i]) * scales[row * n_groups + i / group]);
    return view.quantized->kept();
  };
  EXPECT_EQ(kept(0.25f, 64, 32), DType::kQ8_0);
  EXPECT_EQ(kept(0x1p-24f, 64, 32), DType::kQ8_0);  // the least number of f16
  EXPECT_EQ(kept(0x1p-25f, 64, 32), DType::kBF16);
  EXPECT_EQ(kept(0.1f, 64, 32), DType::kBF16);
  EXPECT_EQ(kept(0.25f, 64, 16), DType::kBF16);
  EXPECT_EQ(kept(0.25f, 48, 48), DType::kBF16);
}

// Zero points of 15 that were stored minus 1 carry into the next, as GPTQModel reads them.
TEST(QuantizedMatrix, ReadsZeroPointsOfBothGptqFormats) {
  const auto first_row = [](bool less, uint32_t zeros) {
    const Quantization quantization = {
        .schemes = {{.layout = QuantizedLayout::kGptq, .bits = 4, .block_rows = 1}},
        .zeros_less_one = less};
    const MadeMatrix matrix =
        MadeMatrix()
            .with<uint32_t>("qweight", "I32", {1, 8}, std::vector<uint32_t>(8, 0x76543210u))
            .with<uint32_t>("qzeros", "I32", {1, 1}, {zeros})
            .with<float>("scales", "F32", {1, 8}, std::vector<float>(8, 2.0f));
    const std::vector<float> values = values_of(matrix.view(quantization, 8, 8));
    std::vector<float> zero_points;  // of each output
    for (int row = 0; row < 8; ++row) zero_points.push_back(-values[row * 8] / 2);
    EXPECT_EQ(values[7] - values[0], 14.0f);
    return zero_points;
  };
  EXPECT_EQ(first_row(false, 0x76543210u), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(first_row(true, 0x76543210u), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(first_row(true, 0x7777777fu), (std::vector<float>{0, 9, 8, 8, 8, 8, 8, 8}));
}

// As compressed-tensors stored them before it packed them.
TEST(QuantizedMatrix, ReadsZeroPointsInBytesBesideWords) {
  const Quantization quantization = {
      .schemes = {{.layout = QuantizedLayout::kWords, .bits = 4, .block_rows = 1}}};
  const MadeMatrix matrix =
      MadeMatrix()
          .with<uint32_t>("weight_packed", "I32", {2, 1}, {0x76543210u, 0xfedcba98u})
          .with<int8_t>("weight_zero_point", "I8", {2, 1}, {3, -8})
          .with<float>("weight_scale", "F32", {2, 1}, {1, 2});
  EXPECT_EQ(values_of(matrix.view(quantization, 2, 8)),
            (std::vector<float>{-11, -10, -9, -8, -7, -6, -5, -4,  //
                                16, 18, 20, 22, 24, 26, 28, 30}));
}

// The integers and scales move with their columns.
TEST(QuantizedMatrix, OrdersColumns) {
  const int64_t k = 128;
  std::vector<int8_t> weights(k);
  for (int64_t i = 0; i < k; ++i) weights[i] = static_cast<int8_t>(i);
  const MadeMatrix matrix =
      MadeMatrix()
          .with("weight", "I8", {1, k}, weights)
          .with<float>("weight_scale", "F32", {1, 4}, std::vector<float>{1, 2, 4, 8});
  const Quantization quantization = {.schemes = {{.block_rows = 1, .block_columns = 32}}};
  // Two heads of two halves become both first halves, then both second ones.
  for (const int64_t run : {32, 16}) {
    const RowOrder columns = {0, 2, {run, run}};
    const TensorView view = matrix.view(quantization, 1, k, columns);
    EXPECT_EQ(view.quantized->kept(), run == 32 ? DType::kQ8_0 : DType::kBF16);
    const std::vector<float> values = values_of(view);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t at = columns.stored(i);
      EXPECT_EQ(values[i], static_cast<float>(at) * static_cast<float>(1 << (at / 32)));
    }
  }
}

}  // namespace
}  // namespace pando::model
