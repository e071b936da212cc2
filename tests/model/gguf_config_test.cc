// The configuration that the metadata of a GGUF file says.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "model/gguf_model.h"

namespace pando::model {
namespace {

TEST_F(GgufModel, EveryScalingOfTheRotationIsThatOfConfigJson) {
  const auto read = [&](const ModelConfig& config) {
    GgufWriter out = testing::gguf_metadata(config);
    out.tensor("token_embd.weight", {config.vocab, config.d_model}, 0,
               std::string(size_t{4} * config.vocab * config.d_model, '\0'));
    return ModelConfig::load(folder_.write("rope.gguf", out.bytes()));
  };
  ModelConfig config = named_shape("tiny-llama").value();
  config.tied_embeddings = true;
  for (const double factor : {8.0, 32.0}) {
    config.rotations[0] = {
        .type = RopeType::kLlama3, .theta = 5e5, .factor = factor, .original_positions = 8192};
    for (const int head_dim : {16, 64, 128}) {
      config.head_dim = head_dim;
      const auto got = read(config);
      ASSERT_TRUE(got.ok()) << got.error().message();
      EXPECT_EQ(*got, config) << factor << " " << head_dim;
    }
  }
  config.rotations[0].factor = 7.0;
  EXPECT_NE(read(config).error().message().find("rope_freqs.weight"), std::string::npos);
  config.rotations[0] = {.type = RopeType::kLinear, .factor = 4.0};
  EXPECT_EQ(read(config).value(), config);
  config.rotations[0] = {.type = RopeType::kYarn, .factor = 4.0, .original_positions = 1024};
  config.rotations[0].attention_factor = 0.1 * std::log(4.0) + 1.0;
  EXPECT_EQ(read(config).value(), config);
  // The attention factor that the lengths give, which a file has in f32 only.
  ModelConfig phi3 = named_shape("tiny-phi3").value();
  phi3 = as_gguf(phi3);
  phi3.max_positions = 4096;
  phi3.rotations[0].attention_factor = std::sqrt(1.0 + std::log(4.0) / std::log(1024.0));
  EXPECT_EQ(read(phi3).value(), phi3);
}

// The configuration of a tiny model's metadata with what `change` adds; `base` says the rest.
class GgufRope : public GgufModel {
 protected:
  template <class Change>
  Result<ModelConfig> read(const Change& change) {
    GgufWriter out = testing::gguf_metadata(base_);
    out.tensor("token_embd.weight", {1, 64}, 0, std::string(256, '\0'));
    change(out);
    return ModelConfig::load(folder_.write("rope.gguf", out.bytes()));
  }
  // The message names all of `words`.
  template <class Change>
  void refused(std::initializer_list<std::string_view> words, const Change& change) {
    const Result<ModelConfig> config = read(change);
    ASSERT_FALSE(config.ok()) << *words.begin();
    for (const std::string_view word : words)
      EXPECT_NE(config.error().message().find(word), std::string::npos) << config.error().message();
  }

  ModelConfig base_ = [] {
    ModelConfig config = named_shape("tiny-llama").value();
    config.rotations[0] = {};
    config.vocab = 1;
    config.bos_id.reset();
    config.eos_ids.clear();
    return config;
  }();
};

TEST_F(GgufRope, AFactorWithoutATypeIsLinear) {
  for (const char* name : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    const auto config = read([&](GgufWriter& out) { out.float32(name, 4.0f); });
    ASSERT_TRUE(config.ok()) << config.error().message();
    EXPECT_EQ(config->rotations[0].type, RopeType::kLinear) << name;
    EXPECT_EQ(config->rotations[0].factor, 4.0) << name;
    for (const float none : {0.0f, 1.0f})
      EXPECT_EQ(read([&](GgufWriter& out) { out.float32(name, none); })->rotations[0].type,
                RopeType::kDefault);
  }
  refused({"llama.rope.scale_linear", "2", "4"}, [](GgufWriter& out) {
    out.float32("llama.rope.scaling.factor", 4.0f).float32("llama.rope.scale_linear", 2.0f);
  });
}

TEST_F(GgufRope, ReadsTheRampOfYarn) {
  const auto config = read([](GgufWriter& out) {
    out.string("llama.rope.scaling.type", "yarn")
        .float32("llama.rope.scaling.factor", 4.0f)
        .uint32("llama.rope.scaling.original_context_length", 256)
        .float32("llama.rope.scaling.yarn_beta_fast", 16.0f)
        .float32("llama.rope.scaling.yarn_beta_slow", 2.0f);
  });
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->rotations[0].type, RopeType::kYarn);
  EXPECT_EQ(config->rotations[0].beta_fast, 16.0);
  EXPECT_EQ(config->rotations[0].beta_slow, 2.0);
}

// The first layer with attention need not be the first layer.
TEST_F(GgufRope, ABiasOfAnyLayerCounts) {
  for (const char* shape : {"tiny-qwen3.5", "tiny-granite"}) {
    base_ = named_shape(shape).value();
    base_.vocab = 1;
    base_.bos_id.reset();
    base_.eos_ids.clear();
    for (const bool has_bias : {false, true}) {
      const auto config = read([&](GgufWriter& out) {
        if (has_bias) out.tensor("blk.1.attn_q.bias", {4}, 0, std::string(16, '\0'));
      });
      ASSERT_TRUE(config.ok()) << config.error().message();
      EXPECT_EQ(config->qkv_bias, has_bias) << shape;
    }
  }
}

TEST_F(GgufRope, RefusesWhatItWouldNotApply) {
  refused({"llama.rope.scaling.yarn_log_multiplier", "0.1"},
          [](GgufWriter& out) { out.float32("llama.rope.scaling.yarn_log_multiplier", 0.1f); });
  refused({"llama.rope.scaling.attn_factor", "1.5"},
          [](GgufWriter& out) { out.float32("llama.rope.scaling.attn_factor", 1.5f); });
  refused({"llama.rope.scaling.yarn_beta_fast", "yarn"},
          [](GgufWriter& out) { out.float32("llama.rope.scaling.yarn_beta_fast", 16.0f); });
  refused({"llama.rope.freq_base_swa"},
          [](GgufWriter& out) { out.float32("llama.rope.freq_base_swa", 1e4f); });
  refused({"llama.rope.scaling.type", "longrope"},
          [](GgufWriter& out) { out.string("llama.rope.scaling.type", "longrope"); });
  refused({"llama.rope.scaling.type", "\uFFFD\uFFFD", "linear"},
          [](GgufWriter& out) { out.string("llama.rope.scaling.type", "\xff\xfe"); });
  refused({"llama.rope.scaling.factor", "nan", "finite"}, [](GgufWriter& out) {
    out.float32("llama.rope.scaling.factor", std::numeric_limits<float>::quiet_NaN());
  });
  refused({"llama.rope.scaling.factor", "inf", "finite"}, [](GgufWriter& out) {
    out.float32("llama.rope.scaling.factor", std::numeric_limits<float>::infinity());
  });
  const std::string factors(4 * 64, '\0');
  refused({"rope_factors_long.weight", "missing"}, [&](GgufWriter& out) {
    out.uint32("llama.rope.scaling.original_context_length", 64);
    out.tensor("rope_factors_short.weight", {8}, 0, factors.substr(0, 32));
  });
  refused({"linear", "rope_freqs.weight", "one of them"}, [&](GgufWriter& out) {
    out.float32("llama.rope.scaling.factor", 4.0f);
    out.tensor("rope_freqs.weight", {8}, 0, factors.substr(0, 32));
  });
  refused({"rope_freqs.weight", "type 0", "[64]", "[8]"},
          [&](GgufWriter& out) { out.tensor("rope_freqs.weight", {64}, 0, factors); });
  refused({"rope_freqs.weight", "type 1", "[8]"},
          [&](GgufWriter& out) { out.tensor("rope_freqs.weight", {8}, 1, factors.substr(0, 16)); });
}

// It follows from the factor, and readers compute it.
TEST_F(GgufRope, TakesTheAttentionFactorOfYarnThatIsUsual) {
  const auto yarn = [](float attention) {
    return [attention](GgufWriter& out) {
      out.string("llama.rope.scaling.type", "yarn")
          .float32("llama.rope.scaling.factor", 8.0f)
          .uint32("llama.rope.scaling.original_context_length", 256)
          .float32("llama.rope.scaling.yarn_attn_factor", attention);
    };
  };
  const auto config = read(yarn(1.2079442f));
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_DOUBLE_EQ(config->rotations[0].attention_factor, 0.1 * std::log(8.0) + 1.0);
  refused({"llama.rope.scaling.yarn_attn_factor", "1.25", "1.20794"}, yarn(1.25f));
}

TEST_F(GgufRope, ReadsTheLayersThatHaveAWindow) {
  base_ = named_shape("tiny-cohere2").value();
  base_.vocab = 1;
  base_.bos_id.reset();
  base_.eos_ids.clear();
  for (LayerConfig& layer : base_.layers) layer = {};
  constexpr const char *kWindow = "cohere2.attention.sliding_window",
                       *kPattern = "cohere2.attention.sliding_window_pattern";
  const auto windows = [&](const auto& change) {
    const auto config = read([&](GgufWriter& out) {
      out.uint32(kWindow, 9);
      change(out);
    });
    EXPECT_TRUE(config.ok()) << config.error().message();
    std::vector<int> windows;
    for (const LayerConfig& layer : config.ok() ? config->layers : std::vector<LayerConfig>())
      windows.push_back(layer.window);
    return windows;
  };
  using Windows = std::vector<int>;
  EXPECT_EQ(windows([](GgufWriter&) {}), (Windows{9, 9, 9, 0}));
  EXPECT_EQ(windows([](GgufWriter& out) { out.uint32(kPattern, 2); }), (Windows{9, 0, 9, 0}));
  EXPECT_EQ(windows([](GgufWriter& out) { out.uint32(kPattern, 0); }), (Windows{9, 9, 9, 9}));
  EXPECT_EQ(windows([](GgufWriter& out) {
              out.numbers(kPattern, GgufType::kBool, std::vector<uint8_t>{0, 1, 1, 0});
            }),
            (Windows{0, 9, 9, 0}));
  refused({kPattern, "3 entries", "4"}, [](GgufWriter& out) {
    out.uint32(kWindow, 9).numbers(kPattern, GgufType::kBool, std::vector<uint8_t>{0, 1, 1});
  });
}

TEST_F(GgufRope, RefusesByNameWhatFamiliesLack) {
  const auto of = [&](const char* shape) {
    base_ = named_shape(shape).value();
    base_.vocab = 1;
    base_.bos_id.reset();
    base_.eos_ids.clear();
  };
  of("tiny-granite3");
  refused({"granite.rope.scaling.finetuned", "true for granite"},
          [](GgufWriter& out) { out.boolean("granite.rope.scaling.finetuned", false); });
  of("tiny-ministral3");
  base_.rotations = {{}};
  refused({"mistral3.attention.temperature_scale", "yarn"},
          [](GgufWriter& out) { out.float32("mistral3.attention.temperature_scale", 0.1f); });
}

TEST_F(GgufRope, ChannelsThatRotateAreAWholeNumber) {
  base_ = named_shape("tiny-phi3").value();
  base_.vocab = 1;
  base_.rotations[0] = {};
  base_.bos_id.reset();
  base_.eos_ids.clear();
  for (LayerConfig& layer : base_.layers) layer.window = 0;
  for (const int head_dim : {100, 148, 256}) {
    base_.head_dim = head_dim;
    for (int dim = 2; dim <= head_dim; dim += 2) {
      base_.rotations[0].rotary_share = (dim + 0.5) / head_dim;
      const auto config = read([](GgufWriter&) {});
      ASSERT_TRUE(config.ok()) << config.error().message();
      ASSERT_EQ(config->rotations[0].rotary_dim(head_dim), dim) << head_dim;
    }
  }
  for (const double share : {0.0, 1.02, 1e7, 0.013})
    for (base_.rotations[0].rotary_share = share;
         const char* word : {"phi3.rope.dimension_count", "256"})
      refused({word}, [](GgufWriter&) {});
}

// A checkpoint with these widths is refused: see ReadsTheTextPartOfQwen3Vl.
TEST_F(GgufRope, TakesSquareMatricesOfExperts) {
  base_ = named_shape("tiny-qwen3-vl-moe").value();
  base_.bos_id.reset();  // the file has one token
  base_.eos_ids.clear();
  for (const int width : {32, 64}) {
    base_.experts.d_ff = width;
    const auto config = read([](GgufWriter&) {});
    ASSERT_TRUE(config.ok()) << config.error().message();
    EXPECT_EQ(config->d_model, 64);
    EXPECT_EQ(config->experts.d_ff, width);
  }
}

TEST_F(GgufRope, MinusOneNamesNoToken) {
  const auto config = read([](GgufWriter& out) {
    out.uint32("tokenizer.ggml.bos_token_id", 0xFFFFFFFF)
        .uint32("tokenizer.ggml.eos_token_id", 0)
        .uint32("tokenizer.ggml.eot_token_id", 0xFFFFFFFF);
  });
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_FALSE(config->bos_id.has_value());
  EXPECT_EQ(config->eos_ids, std::vector<int32_t>{0});
}

}  // namespace
}  // namespace pando::model
