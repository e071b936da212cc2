// GGUF files that are refused: the message names the tensor or key, and says what was found and
// expected.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "exec/loaded_weights.h"
#include "model/gguf_model.h"

namespace pando::model {
namespace {

using namespace exec;
using namespace testing;

class GgufErrors : public GgufModel {
 protected:
  // The message of a file with the metadata of a tiny model and whatever `change` adds.
  template <class Change>
  Error error(const Change& change) {
    GgufWriter out = testing::gguf_metadata(named_shape("tiny-llama").value());
    change(out);
    const auto path = folder_.write("bad.gguf", out.bytes());
    const Result<Checkpoint> checkpoint = Checkpoint::open(path);
    EXPECT_FALSE(checkpoint.ok());
    return checkpoint.ok() ? Error{} : checkpoint.error();
  }
  static bool holds(const Error& error, std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words)
      if (error.message().find(word) == std::string::npos) return false;
    return true;
  }
};

TEST_F(GgufErrors, NameTensorAndType) {
  const std::string data(256, '\1');
  Error e = error([&](GgufWriter& out) { out.tensor("blk.0.ffn_up.weight", {2, 32}, 9, data); });
  EXPECT_EQ(e.code, ErrorCode::kUnsupported);
  EXPECT_TRUE(holds(e, {"bad.gguf", "blk.0.ffn_up.weight", "Q8_1", "Q5_0"})) << e.message();
  e = error([&](GgufWriter& out) { out.tensor("x", {2, 32}, 4'000'000'000u, data); });
  EXPECT_TRUE(holds(e, {"'x'", "type 4000000000"})) << e.message();
  e = error([&](GgufWriter& out) { out.tensor("x", {2, 48}, 8, data); });
  EXPECT_TRUE(holds(e, {"'x'", "rows of 48", "32"})) << e.message();
  e = error([&](GgufWriter& out) { out.tensor("x", {64, 32}, 0, data); });
  EXPECT_TRUE(holds(e, {"'x'", "[64, 32]", "8192 bytes", "256"})) << e.message();
  e = error([&](GgufWriter& out) { out.tensor("x", {int64_t{1} << 40, 1 << 20}, 0, data); });
  EXPECT_TRUE(holds(e, {"'x'", "cut short"})) << e.message();
  e = error([&](GgufWriter& out) { out.tensor("x", {int64_t{1} << 62}, 0, data); });
  EXPECT_TRUE(holds(e, {"'x'"})) << e.message();
  e = error([&](GgufWriter& out) {  // the first needs more than its writer gave it
    out.tensor("x", {16}, 0, std::string(32, '\0')).tensor("y", {32}, 0, std::string(128, '\0'));
  });
  EXPECT_TRUE(holds(e, {"'y' is at offset 32, expected 64, behind tensor 'x'"})) << e.message();
}

// As in llama.cpp, there are no gaps between tensors. Zeros after the last one are padding.
TEST_F(GgufErrors, NameBytesOfNoTensor) {
  const std::string data(32, '\1');
  const Error gap = error(
      [&](GgufWriter& out) { out.tensor("x", {8}, 0, data + data).tensor("y", {8}, 0, data); });
  EXPECT_TRUE(holds(gap, {"'y' is at offset 64, expected 32, behind tensor 'x'"})) << gap.message();
  make("tiny-llama", DType::kF32);
  const std::filesystem::path path = convert({});
  const auto loads = [&](const std::string& behind) {
    const std::filesystem::path longer = folder_.path() / "longer.gguf";
    std::filesystem::copy_file(path, longer, std::filesystem::copy_options::overwrite_existing);
    std::ofstream(longer, std::ios::binary | std::ios::app) << behind;
    return Checkpoint::open(longer);
  };
  ASSERT_EQ(std::filesystem::file_size(path) % 32, 0u);
  EXPECT_TRUE(loads("").ok());
  EXPECT_TRUE(loads(std::string(5000, '\0')).ok());
  for (const std::string& behind : {std::string(64, '\2'), std::string(500, '\0') + '\2'}) {
    const Result<Checkpoint> longer = loads(behind);
    ASSERT_FALSE(longer.ok());
    EXPECT_EQ(longer.error().code, ErrorCode::kBadFile);
    EXPECT_TRUE(holds(longer.error(), {"longer.gguf", "bytes behind its last tensor"}))
        << longer.error().message();
  }
}

TEST_F(GgufErrors, NameKeyAndValue) {
  const std::string row(64 * 4, '\0');
  const auto one = [&](GgufWriter out) {
    out.tensor("token_embd.weight", {1, 64}, 0, row);
    const Result<ModelConfig> config = ModelConfig::load(folder_.write("bad.gguf", out.bytes()));
    EXPECT_FALSE(config.ok());
    return config.ok() ? Error{} : config.error();
  };
  Error e = one(GgufWriter());
  EXPECT_EQ(e.code, ErrorCode::kBadFile);
  EXPECT_TRUE(holds(e, {"general.architecture", "missing", "llama"})) << e.message();
  e = one(std::move(GgufWriter().string("general.architecture", "mamba")));
  EXPECT_EQ(e.code, ErrorCode::kUnsupported);
  EXPECT_TRUE(holds(e, {"mamba", "qwen3"})) << e.message();
  e = one(std::move(GgufWriter().string("general.architecture", "t5encoder")));
  EXPECT_EQ(e.code, ErrorCode::kUnsupported);
  EXPECT_TRUE(holds(e, {"'t5encoder', expected "})) << e.message();
  e = one(std::move(GgufWriter().string("general.architecture", "llama")));
  EXPECT_TRUE(holds(e, {"llama.embedding_length", "missing"})) << e.message();
  const ModelConfig tiny = named_shape("tiny-llama").value();
  e = one(std::move(testing::gguf_metadata(tiny).uint32("llama.expert_count", 8)));
  EXPECT_TRUE(holds(e, {"llama.expert_used_count", "missing"})) << e.message();
  e = one(std::move(testing::gguf_metadata(tiny).uint32("llama.attention.value_length", 8)));
  EXPECT_TRUE(holds(e, {"llama.attention.value_length", "8"})) << e.message();
  for (const auto& [name, value] : {std::pair{"llama.final_logit_softcapping", 30.0F},
                                    {"llama.attention.scale", 0.5F},
                                    {"llama.logit_scale", 0.0625F},
                                    {"llama.embedding_scale", 12.0F},
                                    {"llama.attention.clamp_kqv", 8.0F}}) {
    e = one(std::move(testing::gguf_metadata(tiny).float32(name, value)));
    EXPECT_EQ(e.code, ErrorCode::kUnsupported) << name;
    EXPECT_TRUE(holds(e, {name})) << e.message();
  }
}

// Errors name the key, not the field of a config.json.
TEST_F(GgufErrors, NameTheKeyThatAValueComesFrom) {
  const auto expect = [&](const char* shape, auto change,
                          std::initializer_list<std::string_view> words) {
    ModelConfig config = named_shape(shape).value();
    config.bos_id.reset();
    config.eos_ids.clear();
    change(config);
    GgufWriter out = testing::gguf_metadata(config);
    out.tensor("token_embd.weight", {1, 64}, 0, std::string(64 * 4, '\0'));
    const auto path = folder_.write("'head_dim'.gguf", out.bytes());
    const Result<ModelConfig> read = ModelConfig::load(path);
    ASSERT_FALSE(read.ok()) << *words.begin();
    EXPECT_TRUE(holds(read.error(), words)) << read.error().message();
    EXPECT_TRUE(read.error().message().starts_with(path.string())) << read.error().message();
  };
  using Config = ModelConfig;
  expect("tiny-llama", [](Config& c) { c.d_model = 63; },
         {"'llama.embedding_length' is 63, expected a multiple of 2"});
  expect("tiny-llama", [](Config& c) { c.head_dim = 18; }, {"'llama.attention.key_length' is 18"});
  expect("tiny-llama", [](Config& c) { c.rms_eps = 2; },
         {"'llama.attention.layer_norm_rms_epsilon' is 2"});
  expect("tiny-llama", [](Config& c) { c.n_heads = 5; },
         {"'llama.attention.head_count' is 5", "'llama.attention.head_count_kv' 2"});
  expect("tiny-llama", [](Config& c) { c.bos_id = 3; },
         {"'tokenizer.ggml.bos_token_id' is 3, expected an integer in [0, 0]"});
  expect("tiny-llama",
         [](Config& c) {
           c.eos_ids = {0, 4};
         },
         {"'tokenizer.ggml.eot_token_id' is 4"});
  expect("tiny-llama",
         [](Config& c) { c.rotations = {{.type = RopeType::kLinear, .factor = 0.5}}; },
         {"rotation: 'llama.rope.scaling.factor' is 0.5, expected a number in [1, 1e6]"});
  expect("tiny-phi3", [](Config& c) { c.rotations[0].long_factor[3] = 0; },
         {"'rope_factors_long.weight[3]' is 0"});
  expect("tiny-mistral",
         [](Config& c) {
           for (LayerConfig& layer : c.layers) layer.window = (1 << 30) + 1;
         },
         {"'llama.attention.sliding_window' is "});
  expect("tiny-qwen3.5", [](Config& c) { c.recurrent.conv_taps = 17; },
         {"'qwen35.ssm.conv_kernel' is 17, expected an integer in [2, 16]"});
  expect("tiny-qwen3.5", [](Config& c) { c.recurrent.value_dim = 30; },
         {"'qwen35.ssm.inner_size' / 'qwen35.ssm.time_step_rank' is 30"});
  const auto no_attention = [](Config& c) {
    for (LayerConfig& layer : c.layers) layer.mixer = Mixer::kDeltaNet;
  };
  expect("tiny-qwen3.5", no_attention,
         {"'qwen35.attention.recurrent_layers' names no layer with attention"});
  expect("tiny-lfm2", [](Config& c) { c.recurrent.conv_taps = 17; },
         {"'lfm2.shortconv.l_cache' is 17"});
  expect("tiny-lfm2", [](Config& c) { c.rms_eps = -1; },
         {"'lfm2.attention.layer_norm_rms_epsilon' is -1"});
  expect("tiny-lfm2-moe", [](Config& c) { c.experts.scores = RouterScores::kSoftmax; },
         {"'lfm2moe.expert_gating_func' is 1, expected 2, the sigmoid"});
  expect("tiny-ernie4.5-moe", [](Config& c) { c.experts.shared_d_ff = 30; },
         {"'ernie4_5-moe.expert_shared_feed_forward_length' is 30",
          "'ernie4_5-moe.expert_feed_forward_length' 20"});
  expect("tiny-hunyuan-moe", [](Config& c) { c.experts.shared_d_ff = 88; },
         {"'hunyuan-moe.expert_shared_feed_forward_length' is 88",
          "expected 'feed_forward_length' 44"});
  expect("tiny-granite", [](Config& c) { c.logit_divisor = 1e30f; },
         {"'granitehybrid.logit_scale' is 1"});
  for (const char* shape : {"tiny-nemotron-h", "tiny-gemma4"})
    expect(shape, [](Config& c) { c.layers.resize(5000, c.layers[0]); },
           {"block_count' is 5000, expected an integer in [1, 4096]"});
  expect("tiny-nemotron-h", [](Config& c) { c.recurrent.n_heads = 0; },
         {"'nemotron_h.ssm.inner_size' is 0, expected a multiple of 'ssm.time_step_rank' 0"});
  expect("tiny-granite", [](Config& c) { c.d_ff = 151; },
         {"'granitehybrid.feed_forward_length' is 151"});
}

TEST_F(GgufErrors, NameOneOfManyLayers) {
  const auto expect = [&](const char* shape, int n_more_blocks, auto change,
                          std::string_view expected) {
    ModelConfig tiny = named_shape(shape).value();
    tiny.bos_id.reset();
    tiny.eos_ids.clear();
    GgufWriter out = testing::gguf_metadata(tiny, 3, n_more_blocks);
    out.tensor("token_embd.weight", {1, 64}, 0, std::string(64 * 4, '\0'));
    change(out);
    std::string bytes = out.bytes();
    // Out of the way of what was added.
    const std::string_view unread = "qwen35.attention.recurrent_layers";
    if (const size_t at = bytes.find(unread); at != bytes.npos) bytes[at + unread.size() - 1] = '_';
    const Result<ModelConfig> config = ModelConfig::load(folder_.write("bad.gguf", bytes));
    ASSERT_FALSE(config.ok()) << expected;
    EXPECT_TRUE(holds(config.error(), {expected})) << config.error().message();
  };
  const auto list = [](const char* key, const std::vector<uint32_t>& values) {
    return [=](GgufWriter& out) { out.numbers(key, GgufType::kUint32, values); };
  };
  const auto nothing = [](GgufWriter&) {};
  expect("tiny-lfm2", 1, nothing, "'lfm2.attention.head_count_kv' has 4 entries, expected 5");
  expect("tiny-llama", 0, list("llama.attention.value_length", {16, 16, 8}),
         "'llama.attention.value_length[2]' is 8, expected 16");
  expect("tiny-qwen3.5", 0, list("qwen35.full_attention_interval", {5}),
         "'qwen35.full_attention_interval' is 5, expected a value with which at least one layer "
         "has attention");
}

TEST_F(GgufErrors, NameTensorsAsTheFileDoes) {
  make("tiny-llama", DType::kF32);
  const std::filesystem::path path = convert({.matrices = DType::kF32});
  const auto offset = GgufFile::open(path).value().find_tensor("blk.1.ffn_gate.weight")->offset;
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write("\xff\xff\xff\x7f", 4);
  file.close();
  ThreadPool pool(1);
  const auto weights = load_weights(path, {}, pool);
  ASSERT_FALSE(weights.ok());
  EXPECT_TRUE(holds(weights.error(), {"tensor 'blk.1.ffn_gate.weight' holds NaN"}))
      << weights.error().message();
}

TEST_F(GgufErrors, EveryCutOfAFileIsAnError) {
  make("tiny-llama", DType::kF16);
  const std::filesystem::path path = convert({.matrices = DType::kF16});
  const auto size = std::filesystem::file_size(path);
  for (const uintmax_t part : {1u, 3u, 9u, 40u, 90u, 97u, 99u}) {
    std::filesystem::resize_file(path, size * part / 100);
    EXPECT_FALSE(Checkpoint::open(path).ok()) << part;
    std::filesystem::remove(path);
    convert({.matrices = DType::kF16});
  }
  EXPECT_EQ(Checkpoint::open(folder_.path() / "absent.gguf").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace pando::model
