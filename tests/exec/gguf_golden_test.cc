// A file of another writer, with the values of its tensors by that writer (tools/gguf_golden.py).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/numbers/blocks.h"
#include "exec/cpu/kernel/linear.h"
#include "exec/loaded_weights.h"
#include "model/family.h"
#include "model/test_files.h"

namespace pando::model {
namespace {

using namespace exec;
using namespace testing;

const std::filesystem::path kFolder =
    std::filesystem::path(PANDO_SOURCE_DIR) / "tests/model/data/gguf";

TEST(GgufGolden, EveryTypeIsReadAsItsWriterMeantIt) {
  const Result<GgufFile> gguf = GgufFile::open(kFolder / "types.gguf");
  ASSERT_TRUE(gguf.ok()) << gguf.error().message();
  const Result<GgufTensors> tensors = GgufTensors::open(kFolder / "types.gguf");
  ASSERT_TRUE(tensors.ok()) << tensors.error().message();
  const nlohmann::json golden = nlohmann::json::parse(std::ifstream(kFolder / "types.json"));
  ASSERT_EQ(golden.size(), gguf->tensors().size());
  std::map<std::string, DType> types = {{"F32", DType::kF32},   {"F16", DType::kF16},
                                        {"BF16", DType::kBF16}, {"Q8_0", DType::kQ8_0},
                                        {"Q4_0", DType::kQ4_0}, {"Q4_K", DType::kQ4_K},
                                        {"Q6_K", DType::kQ6_K}};
  for (const auto& [name, expected] : golden.items()) {
    const GgufTensor* tensor = gguf->find_tensor(name);
    ASSERT_NE(tensor, nullptr) << name;
    const DType type = types.at(expected["type"]);
    int64_t n = 1;
    for (const int64_t size : tensor->shape) n *= size;
    std::vector<float> values(n);
    read_weights(type, gguf->file().data() + tensor->offset, n, values.data());
    for (size_t i = 0; i < expected["at"].size(); ++i) {
      const std::string text = expected["values"][i];
      ASSERT_EQ(values[expected["at"][i]], std::strtof(text.c_str(), nullptr)) << name << " " << i;
    }
    double sum = 0;
    for (const float value : values) sum += value;
    EXPECT_NEAR(sum, expected["sum"], 1e-9) << name;
    types[name] = type;
  }
  const std::pair<const char*, const char*> names[] = {
      {"token_embd.weight", "model.embed_tokens.weight"},
      {"blk.0.attn_v.weight", "model.layers.0.self_attn.v_proj.weight"},
      {"blk.0.attn_output.weight", "model.layers.0.self_attn.o_proj.weight"},
      {"blk.0.ffn_down.weight", "model.layers.0.mlp.down_proj.weight"}};
  for (const auto& [file, checkpoint] : names) {
    ASSERT_TRUE(tensors->contains(checkpoint));
    EXPECT_EQ(tensors->tensor(checkpoint).dtype, types.at(file));
    EXPECT_TRUE(tensors->tensor(checkpoint).rows.keeps());
  }
  EXPECT_EQ(tensors->tensor("model.layers.0.self_attn.q_proj.weight").rows, RowOrder::pairs(8));
}

std::vector<std::byte> bytes_of(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

// FNV-1a over the bytes of f32 values.
uint64_t hash_of(const std::vector<float>& values) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const float value : values)
    for (int i = 0; i < 4; ++i)
      hash = (hash ^ (std::bit_cast<uint32_t>(value) >> (8 * i) & 255)) * 0x100000001b3u;
  return hash;
}

TEST(GgufGolden, BlocksOfEveryTypeHaveTheirWritersValues) {
  const nlohmann::json golden = nlohmann::json::parse(std::ifstream(kFolder / "blocks.json"));
  size_t n_types = 0;
  for (const WeightTypeInfo& info : weight_types()) {
    if (info.block_len == 1) continue;
    const std::string name = gguf_type_name(static_cast<uint32_t>(info.gguf_id));
    ASSERT_TRUE(golden.contains(name)) << name;
    const std::vector<std::byte> blocks = bytes_of(golden[name]["blocks"]);
    const auto n = static_cast<int64_t>(blocks.size() / info.block_bytes) * info.block_len;
    ASSERT_EQ(n, 768) << name;
    EXPECT_TRUE(all_finite(info.type, blocks.data(), n)) << name;
    std::vector<float> values(n);
    read_weights(info.type, blocks.data(), n, values.data());
    EXPECT_EQ(fmt::format("{:016x}", hash_of(values)), golden[name]["hash"]) << name;
    ++n_types;
  }
  EXPECT_EQ(n_types, golden.size());
}

// Conversion while loading gives the same from blocks as from their values in f32.
TEST(GgufGolden, BlocksOfEveryTypeBecomeEveryTypeThatIsMade) {
  const nlohmann::json golden = nlohmann::json::parse(std::ifstream(kFolder / "blocks.json"));
  const kernel::Kernels& kernels = kernel::best_kernels();
  for (const WeightTypeInfo& info : weight_types()) {
    if (info.block_len == 1) continue;
    const std::string name = gguf_type_name(static_cast<uint32_t>(info.gguf_id));
    const std::vector<std::byte> blocks = bytes_of(golden[name]["blocks"]);
    constexpr int kLen = 768;
    EXPECT_TRUE(kernel::PackedMatrix(kernel::packed_type(info.type), 1, kLen)
                    .set_rows(kernels, 0, 1, info.type, blocks.data()))
        << name;
    std::vector<float> values(kLen);
    read_weights(info.type, blocks.data(), kLen, values.data());
    for (const WeightTypeInfo& made : weight_types()) {
      if (!made.made_as || made.type == info.type) continue;
      kernel::PackedMatrix packed(made.type, 1, kLen), expected(made.type, 1, kLen);
      EXPECT_EQ(packed.set_rows(kernels, 0, 1, info.type, blocks.data()),
                expected.set_rows(kernels, 0, 1, DType::kF32, values.data()));
      EXPECT_EQ(std::memcmp(packed.data(), expected.data(), expected.bytes()), 0)
          << name << " as " << made.name;
    }
  }
}

TEST(GgufGolden, TheWholeFileIsAModel) {
  ThreadPool pool(1);
  const Result<LoadedWeights> loaded = load_weights(kFolder / "types.gguf", {}, pool);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message();
  const ModelConfig& config = loaded->files->config;
  EXPECT_EQ(config.family, find_family("llama"));
  EXPECT_EQ(config.vocab, 24);
  EXPECT_EQ(config.d_model, 256);
  EXPECT_EQ(config.d_ff, 32);
  EXPECT_EQ(config.n_heads, 2);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.max_positions, 128);
  EXPECT_EQ(config.rms_eps, 1e-5f);
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_EQ(config.bos_id, 1);
  EXPECT_EQ(config.eos_ids, std::vector<int32_t>{2});
  ASSERT_EQ(loaded->layers[0].qkv.size(), 2u);
  EXPECT_EQ(loaded->layers[0].qkv[0].type(), DType::kQ4_K);  // queries and keys
  EXPECT_EQ(loaded->layers[0].qkv[0].n(), 32);
  EXPECT_EQ(loaded->layers[0].qkv[1].type(), DType::kQ6_K);
  EXPECT_EQ(loaded->layers[0].o.type(), DType::kF16);
  ASSERT_EQ(loaded->layers[0].gate_up.size(), 2u);
  EXPECT_EQ(loaded->layers[0].gate_up[0].type(), DType::kQ4_0);
  EXPECT_EQ(loaded->layers[0].gate_up[1].type(), DType::kQ8_0);
  EXPECT_EQ(loaded->layers[0].down.type(), DType::kBF16);
  EXPECT_EQ(loaded->head.type(), DType::kQ6_K);
}

// Whatever byte of header, metadata and tensor places is another: a model or an error.
TEST(GgufGolden, NoChangedByteIsMoreThanAnError) {
  const TemporaryFolder folder;
  std::ifstream file(kFolder / "types.gguf", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const size_t header_len = GgufFile::open(kFolder / "types.gguf")->tensors()[0].offset;
  ThreadPool pool(1);
  std::mt19937 random(1);
  int n_models = 0;
  for (int i = 0; i < 600; ++i) {
    std::string changed = bytes;
    changed[random() % header_len] = static_cast<char>(i % 3 == 0 ? 0xff : random());
    const Result<LoadedWeights> loaded = load_weights(folder.write("m.gguf", changed), {}, pool);
    n_models += loaded.ok();
    if (!loaded) {
      EXPECT_NE(loaded.error().code, ErrorCode::kInternal);
    }
  }
  EXPECT_GT(n_models, 0);
  EXPECT_LT(n_models, 560);
}

}  // namespace
}  // namespace pando::model
