// Sampling defaults of generation_config.json and of GGUF files.
#include "pando/generation_config.h"

#include <gtest/gtest.h>

#include <map>

#include "base/gguf_writer.h"
#include "model/test_files.h"

namespace pando {
namespace {

using testing::GgufWriter;
using Options = std::map<std::string, double>;

class GenerationConfigTest : public ::testing::Test {
 protected:
  Result<GenerationConfig> read(const std::string& text) {
    folder_.write("generation_config.json", text);
    return read_generation_config(folder_.path());
  }
  Result<GenerationConfig> read(const GgufWriter& gguf) {
    return read_generation_config(folder_.write("model.gguf", gguf.bytes()));
  }
  // The config of a valid file.
  template <class Text>
  GenerationConfig config(const Text& text) {
    Result<GenerationConfig> config = read(text);
    EXPECT_TRUE(config.ok()) << config.error().message();
    return config.ok() ? std::move(*config) : GenerationConfig();
  }
  template <class Text>
  Options options(const Text& text) {
    Options options;
    for (const auto& [option, value] : config(text).options) options[option->name] = value;
    return options;
  }

  const TemporaryFolder folder_;
};

TEST_F(GenerationConfigTest, GivesWhatIsThere) {
  EXPECT_EQ(read_generation_config(folder_.path()).error().code, ErrorCode::kNotFound);
  const std::string text =
      R"({"do_sample": true, "temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": 0.1,
          "eos_token_id": [7, 9], "repetition_penalty": 1.05, "min_new_tokens": 3,
          "stop_strings": ["a", "b"], "transformers_version": "4.51.0"})";
  EXPECT_EQ(options(text), (Options{{"min_tokens", 3},
                                    {"temperature", 0.6},
                                    {"top_p", 0.95},
                                    {"top_k", 20},
                                    {"min_p", 0.1},
                                    {"repetition_penalty", 1.05}}));
  const GenerationConfig all = config(text);
  EXPECT_EQ(all.source, "generation_config.json");
  EXPECT_EQ(all.eos, (std::vector<Token>{7, 9}));
  EXPECT_EQ(all.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(all.not_offered.empty());
  SamplingOptions sampling;
  all.apply_to(sampling);
  EXPECT_EQ(sampling.temperature, 0.6);
  EXPECT_EQ(sampling.top_k, 20);
  EXPECT_EQ(sampling.min_tokens, 3);
  EXPECT_EQ(sampling.stop, all.stop);
  EXPECT_EQ(sampling.stop_tokens, all.eos);
  // A file by itself, and values without a meaning.
  EXPECT_EQ(
      read_generation_config(folder_.path() / "generation_config.json").value().options.size(), 6u);
  EXPECT_EQ(options(R"({"temperature": 0, "top_k": 4.0, "min_p": null})"),
            (Options{{"temperature", 0}, {"top_k", 4}}));
  EXPECT_EQ(options(R"({"top_k": -1})"), (Options{{"top_k", 0}}));
  EXPECT_EQ(config(R"({"eos_token_id": 3, "stop_strings": "x"})").eos, std::vector<Token>{3});
  EXPECT_EQ(config(R"({"stop_strings": "x"})").stop, std::vector<std::string>{"x"});
}

TEST_F(GenerationConfigTest, DoSampleDecidesOnTheTemperature) {
  const std::string values = R"("temperature": 0.5, "top_k": 3, "repetition_penalty": 1.1)";
  const Options as_written = {{"temperature", 0.5}, {"top_k", 3}, {"repetition_penalty", 1.1}};
  EXPECT_EQ(options("{" + values + "}"), as_written);
  EXPECT_EQ(options(R"({"do_sample": true, )" + values + "}"), as_written);
  EXPECT_EQ(options(R"({"do_sample": false, )" + values + "}"),
            (Options{{"temperature", 0}, {"repetition_penalty", 1.1}}));
  EXPECT_EQ(options(R"({"do_sample": true, "top_k": 3})"),
            (Options{{"temperature", 1}, {"top_k", 3}}));
  EXPECT_EQ(options(R"({"do_sample": null, "top_k": 3})"), (Options{{"top_k", 3}}));
  EXPECT_EQ(options(R"({"eos_token_id": 3})"), Options());
}

// All fields of transformers 5.24 and of earlier versions, with values that change nothing.
TEST_F(GenerationConfigTest, WhatChangesNoAnswerIsNotNamed) {
  const GenerationConfig neutral = config(R"({
      "max_length": 20, "min_length": 0, "early_stopping": false, "max_time": null,
      "num_beams": 1, "use_mtp": true, "use_cache": false, "cache_implementation": "hybrid",
      "cache_config": {"nbits": 4}, "return_legacy_cache": true, "max_cache_len": 7,
      "top_h": null, "typical_p": 1.0, "epsilon_cutoff": 0.0, "eta_cutoff": 0,
      "encoder_repetition_penalty": 1.0, "length_penalty": 1.5, "no_repeat_ngram_size": 0,
      "bad_words_ids": [], "renormalize_logits": true, "forced_bos_token_id": null,
      "forced_eos_token_id": null, "remove_invalid_values": true, "suppress_tokens": [],
      "exponential_decay_length_penalty": null, "begin_suppress_tokens": [], "sequence_bias": {},
      "token_healing": false, "guidance_scale": 1.0, "watermarking_config": null,
      "num_return_sequences": 1, "output_attentions": true, "output_hidden_states": true,
      "output_scores": true, "output_logits": true, "return_dict_in_generate": true,
      "pad_token_id": 0, "bos_token_id": 1, "encoder_no_repeat_ngram_size": 0,
      "decoder_start_token_id": 5, "is_assistant": false, "num_assistant_tokens": 20,
      "num_assistant_tokens_schedule": "constant", "assistant_confidence_threshold": 0.4,
      "prompt_lookup_num_tokens": 3, "max_matching_ngram_size": 2, "assistant_early_exit": 4,
      "assistant_lookbehind": 10, "target_lookbehind": 10, "assistant_ensemble_weight": 0.5,
      "speculation_type": "x", "compile_config": {"a": 1}, "disable_compile": true,
      "continuous_batching_config": {"a": 1}, "low_memory": true, "penalty_alpha": 0,
      "dola_layers": null, "diversity_penalty": 0.5, "num_beam_groups": 1, "constraints": null,
      "force_words_ids": null, "prefill_chunk_size": 8, "_from_model_config": true,
      "_commit_hash": "x", "transformers_version": "5.24.0"})");
  EXPECT_EQ(neutral.not_offered, std::vector<std::string>());
  EXPECT_TRUE(neutral.options.empty());
}

TEST_F(GenerationConfigTest, WhatChangesAnswersAndIsNotTakenIsNamed) {
  const std::pair<const char*, const char*> fields[] = {
      {"max_new_tokens", "64"},
      {"max_length", "64"},
      {"min_length", "3"},
      {"max_time", "0.5"},
      {"num_beams", "2"},
      {"num_beam_groups", "2"},
      {"num_return_sequences", "3"},
      {"penalty_alpha", "0.6"},
      {"dola_layers", "\"low\""},
      {"constraints", "[1]"},
      {"force_words_ids", "[[1]]"},
      {"token_healing", "true"},
      {"typical_p", "0.9"},
      {"top_h", "1.0"},
      {"epsilon_cutoff", "0.01"},
      {"eta_cutoff", "0.01"},
      {"encoder_repetition_penalty", "1.1"},
      {"no_repeat_ngram_size", "3"},
      {"encoder_no_repeat_ngram_size", "3"},
      {"bad_words_ids", "[[1, 2]]"},
      {"sequence_bias", "[[[1], -1.0]]"},
      {"suppress_tokens", "[1, 2]"},
      {"begin_suppress_tokens", "[1]"},
      {"forced_bos_token_id", "0"},
      {"forced_eos_token_id", "0"},
      {"forced_decoder_ids", "[[1, 2]]"},
      {"exponential_decay_length_penalty", "[1, 1.1]"},
      {"guidance_scale", "1.5"},
      {"watermarking_config", "{\"bias\": 2}"},
      // in no version of transformers
      {"presence_penalty", "0.5"},
      {"temprature", "0.2"}};
  for (const auto& [name, value] : fields) {
    const GenerationConfig named = config(fmt::format(R"({{"{}": {}}})", name, value));
    ASSERT_EQ(named.not_offered.size(), 1u) << name;
    EXPECT_TRUE(named.not_offered[0].starts_with(std::string(name) + " ")) << name;
    EXPECT_TRUE(named.options.empty()) << name;
  }
  EXPECT_EQ(config(R"({"typical_p": 0.9})").not_offered, std::vector<std::string>{"typical_p 0.9"});
}

TEST_F(GenerationConfigTest, AWrongValueIsRefused) {
  const std::string many(65, 'x');
  std::string texts;
  for (const char c : many) texts += fmt::format("{}\"{}\"", texts.empty() ? "" : ",", c);
  for (const std::string& bad :
       {std::string(R"({"temperature": -1})"), std::string(R"({"temperature": "hot"})"),
        std::string(R"({"top_p": 2})"), std::string(R"({"top_k": 1.5})"),
        std::string(R"({"top_k": -2})"), std::string(R"({"min_p": 2})"),
        std::string(R"({"repetition_penalty": 0})"), std::string(R"({"do_sample": "yes"})"),
        std::string(R"({"min_new_tokens": -1})"), std::string(R"({"stop_strings": [""]})"),
        std::string(R"({"stop_strings": [1]})"), "{\"stop_strings\": [" + texts + "]}",
        "{\"stop_strings\": \"" + std::string(4097, 'x') + "\"}",
        std::string(R"({"eos_token_id": "x"})"), std::string(R"({"eos_token_id": [-1]})"),
        std::string("[]"), std::string("{")}) {
    const Result<GenerationConfig> refused = read(bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::kBadFile) << bad;
    EXPECT_NE(refused.error().message().find("generation_config.json"), std::string::npos) << bad;
  }
  const Error error = read(R"({"min_new_tokens": 1.5})").error();
  EXPECT_TRUE(error.message().ends_with("'min_new_tokens' is 1.5, expected an integer, 0 or more"))
      << error.message();
}

TEST_F(GenerationConfigTest, ALinkThatLeadsNowhereIsNoAbsentFile) {
  std::filesystem::create_symlink(folder_.path() / "gone",
                                  folder_.path() / "generation_config.json");
  const Result<GenerationConfig> config = read_generation_config(folder_.path());
  ASSERT_FALSE(config.ok());
  EXPECT_NE(config.error().code, ErrorCode::kNotFound);
}

TEST_F(GenerationConfigTest, KeysOfGguf) {
  GgufWriter full;
  full.float32("general.sampling.temp", 0.6F)
      .number("general.sampling.top_k", GgufType::kInt32, int32_t{20})
      .float32("general.sampling.top_p", 0.95F)
      .float32("general.sampling.min_p", 0.05F)
      .float32("general.sampling.penalty_repeat", 1.05F)
      .number("general.sampling.penalty_last_n", GgufType::kInt32, int32_t{-1})
      .float32("general.sampling.xtc_probability", 0)
      .float32("general.sampling.xtc_threshold", 0.1F)
      .number("general.sampling.mirostat", GgufType::kInt32, int32_t{0})
      .float32("general.sampling.mirostat_tau", 5)
      .float32("general.sampling.mirostat_eta", 0.1F);
  // As decimals, not as the nearest 32-bit numbers.
  EXPECT_EQ(options(full), (Options{{"temperature", 0.6},
                                    {"top_k", 20},
                                    {"top_p", 0.95},
                                    {"min_p", 0.05},
                                    {"repetition_penalty", 1.05}}));
  EXPECT_EQ(config(full).source, "model.gguf");
  EXPECT_TRUE(config(full).not_offered.empty());

  GgufWriter others;
  others.string("general.sampling.sequence", "top_k;temperature")
      .number("general.sampling.penalty_last_n", GgufType::kInt32, int32_t{64})
      .float32("general.sampling.penalty_repeat", 1.5F)
      .float32("general.sampling.xtc_probability", 0.5F)
      .number("general.sampling.mirostat", GgufType::kInt32, int32_t{2})
      .float32("general.sampling.dry_multiplier", 0.8F)
      .strings("general.sampling.new", {"a"})
      .number("general.sampling.temp", GgufType::kUint32, uint32_t{1});
  EXPECT_EQ(options(others), (Options{{"temperature", 1}, {"repetition_penalty", 1.5}}));
  const std::vector<std::string> named = config(others).not_offered;
  ASSERT_EQ(named.size(), 6u);
  EXPECT_EQ(named[0], "dry_multiplier 0.8");
  EXPECT_EQ(named[1], "mirostat 2");
  EXPECT_TRUE(named[2].starts_with("new ")) << named[2];
  EXPECT_EQ(named[3], "penalty_last_n 64");
  EXPECT_EQ(named[4], "sequence \"top_k;temperature\"");
  EXPECT_EQ(named[5], "xtc_probability 0.5");

  GgufWriter off;
  off.number("general.sampling.penalty_last_n", GgufType::kInt32, int32_t{0})
      .float32("general.sampling.penalty_repeat", 1.5F);
  EXPECT_TRUE(config(off).options.empty());
  EXPECT_TRUE(config(off).not_offered.empty());
}

TEST_F(GenerationConfigTest, WrongKeysOfGguf) {
  const Error none = read(GgufWriter().string("general.name", "x")).error();
  EXPECT_EQ(none.code, ErrorCode::kNotFound);
  EXPECT_TRUE(
      none.message().ends_with("model.gguf: has no keys general.sampling.*, which a "
                             "generation_config.json becomes in a GGUF file"))
      << none.message();
  const Error hot = read(GgufWriter().string("general.sampling.temp", "hot")).error();
  EXPECT_EQ(hot.code, ErrorCode::kBadFile);
  EXPECT_TRUE(hot.message().ends_with("'general.sampling.temp' is 'hot', expected 0 or more"))
      << hot.message();
  for (const float value :
       {-1.F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    EXPECT_FALSE(read(GgufWriter().float32("general.sampling.temp", value)).ok()) << value;
  EXPECT_FALSE(read(GgufWriter().float32("general.sampling.top_k", 1.5F)).ok());
}

TEST_F(GenerationConfigTest, TheLeastLengthYieldsToTheMost) {
  const GenerationConfig least = config(R"({"min_new_tokens": 9})");
  SamplingOptions sampling{.max_tokens = 4};
  least.apply_to(sampling);
  EXPECT_EQ(sampling.min_tokens, 4);
}

}  // namespace
}  // namespace pando
