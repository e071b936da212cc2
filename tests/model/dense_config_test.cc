// Configurations of models that differ from Llama in norms, rotation, windows or multipliers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"
#include "model/make_model.h"
#include "model/test_files.h"

namespace pando::model::dense_test {
namespace {

using nlohmann::json;
using namespace config_json;

json smollm3(const json& change = json::object()) {
  return decoder("SmolLM3ForCausalLM", "smollm3", change);
}
json granite(const json& change = json::object()) {
  return decoder("GraniteForCausalLM", "granite", change);
}
json olmo3(const json& change = json::object()) {
  return decoder("Olmo3ForCausalLM", "olmo3", change);
}
json ministral3(const json& change = json::object()) {
  return decoder("Ministral3ForCausalLM", "ministral3", change);
}
json cohere2(const json& change = json::object()) {
  return decoder("Cohere2ForCausalLM", "cohere2", change);
}
json cohere(const json& change = json::object()) {
  return decoder("CohereForCausalLM", "cohere", change);
}
json glm(const json& change = json::object()) { return decoder("GlmForCausalLM", "glm", change); }
json glm4(const json& change = json::object()) {
  return decoder("Glm4ForCausalLM", "glm4", change);
}
json stablelm(const json& change = json::object()) {
  return decoder("StableLmForCausalLM", "stablelm", change);
}
json arcee(const json& change = json::object()) {
  return decoder("ArceeForCausalLM", "arcee", change);
}
json nemotron(const json& change = json::object()) {
  return decoder("NemotronForCausalLM", "nemotron", change);
}
json seed_oss(const json& change = json::object()) {
  return decoder("SeedOssForCausalLM", "seed_oss", change);
}

json exaone4(const json& change = json::object()) {
  return decoder("Exaone4ForCausalLM", "exaone4", change);
}
json ernie4_5(const json& change = json::object()) {
  return decoder("Ernie4_5ForCausalLM", "ernie4_5", change);
}
json hunyuan(const json& change = json::object()) {
  return decoder("HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense", change);
}

TEST(DenseConfig, ReadsSmolLm3) {
  const ModelConfig usual = read(smollm3());
  EXPECT_EQ(rotations(usual), (Ints{0, 0, 0, 1}));
  EXPECT_EQ(usual.rotations[0].theta, 2e6);
  EXPECT_EQ(usual.rotations[1].rotary_dim(16), 0);
  EXPECT_TRUE(usual.tied_embeddings);
  EXPECT_EQ(rotations(read(smollm3({{"no_rope_layer_interval", 2}}))), (Ints{0, 1, 0, 1}));
  EXPECT_EQ(rotations(read(smollm3({{"no_rope_layers", {0, 1, 1, 0, 1}}}))), (Ints{1, 0, 0, 1}));
  expect_error(smollm3({{"no_rope_layers", {0, 1, 1}}}), {"no_rope_layers", "4 layers"},
               ErrorCode::kBadFile);
  expect_error(smollm3({{"no_rope_layers", {0, 1, 2, 1}}}), {"'no_rope_layers[2]' is 2", "0 or 1"},
               ErrorCode::kBadFile);
  expect_error(smollm3({{"no_rope_layers", 3}}), {"no_rope_layers", "a list"}, ErrorCode::kBadFile);
  expect_error(smollm3({{"use_sliding_window", true}}), {"use_sliding_window"});
}

TEST(DenseConfig, ReadsGranite) {
  const ModelConfig usual = read(granite());
  EXPECT_EQ(usual.attention_scale, 1.0f);  // and not the root of the head's size
  EXPECT_EQ(usual.embedding_scale, 1.0f);
  const ModelConfig config = read(granite({{"embedding_multiplier", 12},
                                           {"residual_multiplier", 0.22},
                                           {"attention_multiplier", 0.015625},
                                           {"logits_scaling", 8.0}}));
  EXPECT_EQ(config.embedding_scale, 12.0f);
  EXPECT_EQ(config.residual_scale, 0.22f);
  EXPECT_EQ(config.attention_scale, 0.015625f);
  EXPECT_EQ(config.logit_divisor, 8.0f);
  expect_error(granite({{"logits_scaling", 0}}), {"logits_scaling"}, ErrorCode::kBadFile);
  expect_error(granite({{"num_local_experts", 4}}), {"num_local_experts"});
}

TEST(DenseConfig, ReadsOlmo3) {
  const ModelConfig usual = read(olmo3());
  EXPECT_EQ(windows(usual), (Ints{4096, 4096, 4096, 0}));
  EXPECT_EQ(rotations(usual), (Ints{1, 1, 1, 0}));
  EXPECT_EQ(usual.rotations[0].theta, 5e5);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.qk_norm, QkNorm::kFullWidth);
  // As first published: what the file says is of the layers that see all.
  const ModelConfig old = read(
      olmo3({{"rope_theta", 700.0},
             {"rope_scaling",
              {{"rope_type", "yarn"}, {"factor", 8.0}, {"original_max_position_embeddings", 64}}},
             {"sliding_window", 20},
             {"layer_types",
              {"full_attention", "sliding_attention", "full_attention", "sliding_attention"}}}));
  EXPECT_EQ(windows(old), (Ints{0, 20, 0, 20}));
  EXPECT_EQ(rotations(old), (Ints{0, 1, 0, 1}));
  EXPECT_EQ(old.rotations[0].type, RopeType::kYarn);
  EXPECT_EQ(old.rotations[0].theta, 700.0);
  EXPECT_EQ(old.rotations[1], RopeConfig{.theta = 5e5});
  const json by_type = {
      {"full_attention", {{"rope_type", "linear"}, {"factor", 2.0}, {"rope_theta", 300.0}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 200.0}}}};
  const ModelConfig now = read(olmo3({{"rope_parameters", by_type}}));
  EXPECT_EQ(now.rotations[0].type, RopeType::kLinear);
  EXPECT_EQ(now.rotations[0].theta, 300.0);
  EXPECT_EQ(now.rotations[1], RopeConfig{.theta = 200.0});
  expect_error(olmo3({{"rope_parameters", {{"rope_type", "default"}}}}),
               {"rope_parameters", "full_attention"}, ErrorCode::kBadFile);
  json bad = by_type;
  bad["sliding_attention"]["rope_theta"] = "x";
  expect_error(olmo3({{"rope_parameters", bad}}),
               {"'rope_parameters.sliding_attention'", "rope_theta"}, ErrorCode::kBadFile);
  bad = by_type;
  bad["full_attention"] = 3;
  expect_error(olmo3({{"rope_parameters", bad}}),
               {"'rope_parameters.full_attention' is 3", "an object"}, ErrorCode::kBadFile);
  expect_error(
      olmo3({{"sliding_window", nullptr},
             {"layer_types",
              {"full_attention", "sliding_attention", "full_attention", "full_attention"}}}),
      {"'layer_types[1]' is \"sliding_attention\""});
}

TEST(DenseConfig, ReadsMinistral3) {
  const json rope = {{"rope_type", "yarn"},
                     {"rope_theta", 1e6},
                     {"factor", 16.0},
                     {"original_max_position_embeddings", 128},
                     {"max_position_embeddings", 512},
                     {"beta_fast", 32.0},
                     {"beta_slow", 1.0},
                     {"mscale", 1.0},
                     {"mscale_all_dim", 1.0},
                     {"llama_4_scaling_beta", 0.1}};
  const ModelConfig config = read(ministral3({{"rope_parameters", rope}}));
  EXPECT_EQ(config.head_dim, 128);
  EXPECT_EQ(windows(config), (Ints{0, 0, 0, 0}));
  EXPECT_EQ(config.rotations[0].query_growth, 0.1f);
  EXPECT_EQ(config.rotations[0].attention_factor, 1.0);
  EXPECT_EQ(config.rotations[0].query_factor(127), 1.0f);
  EXPECT_FLOAT_EQ(config.rotations[0].query_factor(128), 1.0f + 0.1f * std::log(2.0f));
  EXPECT_FLOAT_EQ(config.rotations[0].query_factor(383), 1.0f + 0.1f * std::log(3.0f));
  // The library's, where the file says nothing.
  EXPECT_EQ(read(ministral3()).rotations[0], named_shape("ministral-3-3b")->rotations[0]);
  json none = rope;
  none["llama_4_scaling_beta"] = 0;
  EXPECT_EQ(read(ministral3({{"rope_parameters", none}})).rotations[0].query_growth, 0.0f);
  json bad = rope;
  bad["llama_4_scaling_beta"] = -1;
  expect_error(ministral3({{"rope_parameters", bad}}), {"llama_4_scaling_beta", "-1"},
               ErrorCode::kBadFile);
  expect_error(decoder("LlamaForCausalLM", "llama", {{"rope_parameters", rope}}),
               {"rope_parameters", "llama_4_scaling_beta"});
}

// Mistral Small 3 and Ministral 3 come with a part that reads images.
TEST(DenseConfig, ReadsThePartOfMistral3ThatReadsText) {
  const auto wrapped = [](const json& text) {
    return json{{"architectures", {"Mistral3ForConditionalGeneration"}},
                {"model_type", "mistral3"},
                {"tie_word_embeddings", true},
                {"text_config", text},
                {"vision_config", {{"model_type", "pixtral"}}}};
  };
  json text = ministral3();
  text.erase("architectures");
  EXPECT_EQ(read(wrapped(text)).family, find_family("ministral3"));
  EXPECT_TRUE(read(wrapped(text)).tied_embeddings);
  text = decoder("", "mistral", {{"sliding_window", nullptr}, {"head_dim", 32}});
  text.erase("architectures");
  EXPECT_EQ(read(wrapped(text)).family, find_family("mistral"));
  EXPECT_EQ(read(wrapped(text)).head_dim, 32);
  text.erase("model_type");
  EXPECT_EQ(read(wrapped(text)).family, find_family("mistral"));
  text["model_type"] = "mistral4";
  expect_error(wrapped(text), {"model_type", "mistral4"});
  text["model_type"] = "deepseek_v3";
  expect_error(wrapped(text), {"'text_config.model_type' is \"deepseek_v3\" in a model of type "
                               "\"mistral3\", expected mistral or ministral3"});
  text["model_type"] = "qwen2_vl_text";
  expect_error(wrapped(text), {"'text_config.model_type' is \"qwen2_vl_text\" in a model of type"});
  text["model_type"] = nullptr;
  EXPECT_EQ(read(wrapped(text)).family, find_family("mistral"));
}

// The fields of the part that reads texts are in 'text_config' or at the top level.
TEST(DenseConfig, ReadsThePartOfQwenVlThatReadsText) {
  const json sections = {{"mrope_section", {4, 2, 2}}};
  const auto part = [&](const char* type, json rope) {
    rope.update(sections);
    json text = decoder("", type, {{"head_dim", 16}, {"rope_theta", 5e6}, {"rope_scaling", rope}});
    text.erase("architectures");
    return text;
  };
  const json nested = {{"architectures", {"Qwen3VLForConditionalGeneration"}},
                       {"model_type", "qwen3_vl"},
                       {"tie_word_embeddings", true},
                       {"text_config", part("qwen3_vl_text", {{"rope_type", "default"},
                                                              {"mrope_interleaved", true}})},
                       {"vision_config", {{"depth", 24}, {"hidden_size", 1024}}}};
  const ModelConfig qwen3 = read(nested);
  EXPECT_EQ(qwen3.family, find_family("qwen3_vl_text"));
  EXPECT_EQ(qwen3.qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(qwen3.rotations[0].theta, 5e6);
  EXPECT_EQ(qwen3.rotations[0].type, RopeType::kDefault);
  EXPECT_TRUE(qwen3.tied_embeddings);

  json flat = part("qwen2_5_vl", {{"type", "mrope"}});
  flat["architectures"] = {"Qwen2_5_VLForConditionalGeneration"};
  flat["use_sliding_window"] = false;
  flat["sliding_window"] = 32768;
  flat["vision_config"] = {{"depth", 32}, {"hidden_size", 1280}};
  const ModelConfig qwen2 = read(flat);
  EXPECT_EQ(qwen2.family, find_family("qwen2_5_vl_text"));
  EXPECT_TRUE(qwen2.qkv_bias);
  EXPECT_EQ(qwen2.layers[0].window, 0);
  EXPECT_EQ(qwen2.d_model, 64);
  json wrapped = {{"model_type", "qwen2_5_vl"}, {"text_config", flat}};
  wrapped["text_config"]["model_type"] = "qwen2_5_vl_text";
  EXPECT_EQ(read(wrapped), qwen2);
  wrapped["model_type"] = "qwen2_vl";
  wrapped["text_config"]["model_type"] = "qwen2_vl_text";
  EXPECT_EQ(read(wrapped), qwen2);
  wrapped["text_config"]["model_type"] = "llama";
  expect_error(wrapped, {"'text_config.model_type' is \"llama\" in a model of type \"qwen2_vl\""});
  flat["model_type"] = "qwen2_vl";
  flat["architectures"] = {"Qwen2VLForConditionalGeneration"};
  EXPECT_EQ(read(flat), qwen2);

  flat["use_sliding_window"] = true;
  expect_error(flat, {"use_sliding_window", "true", "expected false"});
  expect_error(decoder("LlamaForCausalLM", "llama", {{"rope_scaling", {{"type", "mrope"}}}}),
               {"rope_scaling", "mrope"});
}

// A part of almost any family, beside parts for images or sounds.
json wrapper(const char* type, json text, const json& whole = json::object()) {
  text.erase("architectures");
  json file = {{"model_type", type}, {"architectures", {"Of the whole"}}, {"text_config", text}};
  file.update(whole);
  return file;
}

TEST(DenseConfig, ReadsTheTextPartOfWrappers) {
  json text = decoder("LlamaForCausalLM", "llama");
  const ModelConfig llama = read(text);
  EXPECT_EQ(read(wrapper("llava", text)), llama);
  EXPECT_EQ(read(wrapper("smolvlm", text)), llama);
  EXPECT_EQ(read(wrapper("vipllava", text)), llama);
  text.erase("model_type");
  EXPECT_EQ(read(wrapper("idefics3", text)), llama);
  EXPECT_EQ(read(wrapper("internvl", text)).family, find_family("qwen2"));
  text["model_type"] = "qwen3";
  EXPECT_EQ(read(wrapper("internvl", text)).family, find_family("qwen3"));
  json chat = wrapper("internvl_chat", text);
  chat["llm_config"] = chat["text_config"];
  chat.erase("text_config");
  EXPECT_EQ(read(chat).family, find_family("qwen3"));
  EXPECT_FALSE(read(chat).tied_embeddings);
  chat["llm_config"]["tie_word_embeddings"] = true;
  EXPECT_TRUE(read(chat).tied_embeddings);
  chat.erase("llm_config");
  expect_error(chat, {"'llm_config' is absent"}, ErrorCode::kBadFile);
  text["model_type"] = "t5";
  expect_error(wrapper("llava", text), {"'model_type' is \"t5\"", "llama, "});
}

// Without a word of it in the file, each has a default of its own.
TEST(DenseConfig, TiesTheHeadsOfWrappersAsTheLibrary) {
  const json text = decoder("LlamaForCausalLM", "llama"), untied = {{"tie_word_embeddings", false}},
             tied = {{"tie_word_embeddings", true}};
  const auto is_tied = [&](const char* type, const json& part, const json& whole) {
    json own = text;
    own.erase("tie_word_embeddings");
    own.update(part);
    return read(wrapper(type, own, whole)).tied_embeddings;
  };
  const json none = json::object();
  EXPECT_FALSE(is_tied("llava", none, none));
  EXPECT_TRUE(is_tied("llava", tied, none));
  EXPECT_TRUE(is_tied("llava", tied, untied));
  EXPECT_TRUE(is_tied("internvl", none, none));
  EXPECT_FALSE(is_tied("internvl", untied, none));
  EXPECT_TRUE(is_tied("internvl", untied, tied));
  EXPECT_TRUE(is_tied("internvl", tied, none));
  EXPECT_FALSE(is_tied("smolvlm", tied, none));
  EXPECT_FALSE(is_tied("llava_next", tied, none));
  EXPECT_FALSE(is_tied("voxtral", tied, tied));
  EXPECT_TRUE(is_tied("glmasr", none, {{"eos_token_id", 2}}));
  EXPECT_FALSE(is_tied("smolvlm", tied, untied));
  EXPECT_FALSE(is_tied("qwen2_audio", tied, tied));
  EXPECT_FALSE(is_tied("lfm2_vl", none, {{"tie_embedding", false}}));
  EXPECT_TRUE(is_tied("lfm2_vl", none, none));
}

TEST(DenseConfig, FillsInWhatWrappersLeaveOut) {
  json text = {{"model_type", "llama"}, {"max_position_embeddings", 4096}, {"vocab_size", 32064}};
  const ModelConfig llama = read(wrapper("llava", text));
  EXPECT_EQ(llama.d_ff, 11008);
  EXPECT_EQ(llama.n_kv_heads, 32);
  EXPECT_EQ(llama.vocab, 32064);
  EXPECT_EQ(llama.max_positions, 4096);
  text["model_type"] = "mistral";
  EXPECT_EQ(read(wrapper("llava_next", text)).n_kv_heads, 8);
  text["model_type"] = "qwen2";
  EXPECT_EQ(read(wrapper("llava_onevision", text)).d_ff, 22016);
  text["model_type"] = "qwen3";
  expect_error(wrapper("internvl", text), {"hidden_size", "absent"}, ErrorCode::kBadFile);
}

// These two have defaults of their own for a part that is there.
TEST(DenseConfig, FillsInTheDefaultsOfAWrapper) {
  const ModelConfig voxtral = read(wrapper("voxtral", json::object()));
  EXPECT_EQ(voxtral.family, find_family("llama"));
  EXPECT_EQ(voxtral.vocab, 131072);
  EXPECT_EQ(voxtral.d_model, 3072);
  EXPECT_EQ(voxtral.d_ff, 8192);
  EXPECT_EQ(voxtral.n_layers(), 30);
  EXPECT_EQ(voxtral.n_heads, 32);
  EXPECT_EQ(voxtral.n_kv_heads, 8);
  EXPECT_EQ(voxtral.head_dim, 128);
  EXPECT_EQ(voxtral.max_positions, 131072);
  EXPECT_EQ(voxtral.rms_eps, 1e-5f);
  EXPECT_EQ(voxtral.rotations[0].theta, 1e8);

  const ModelConfig glmasr = read(wrapper("glmasr", json::object()));
  EXPECT_EQ(glmasr.vocab, 59264);
  EXPECT_EQ(glmasr.d_model, 2048);
  EXPECT_EQ(glmasr.d_ff, 6144);
  EXPECT_EQ(glmasr.n_layers(), 28);
  EXPECT_EQ(glmasr.n_heads, 16);
  EXPECT_EQ(glmasr.n_kv_heads, 4);
  EXPECT_EQ(glmasr.head_dim, 128);
  EXPECT_EQ(glmasr.max_positions, 8192);
  EXPECT_EQ(glmasr.rms_eps, 1e-5f);
  EXPECT_EQ(glmasr.rotations[0].theta, 1e4);
  EXPECT_EQ(glmasr.eos_ids, (Ints{59246, 59253, 59255}));
}

TEST(DenseConfig, PrefersWhatAPartSaysToTheDefaultsOfItsWrapper) {
  const json text = decoder("LlamaForCausalLM", "llama");
  const ModelConfig few = read(wrapper("voxtral", text));
  EXPECT_EQ(few.d_model, 64);
  EXPECT_EQ(few.n_kv_heads, 2);
  EXPECT_EQ(few.head_dim, 128);
  EXPECT_EQ(few.rotations[0].theta, 1e8);
  json own = text;
  own.update({{"head_dim", 16}, {"rms_norm_eps", 1e-3}, {"rope_theta", 5e5}});
  EXPECT_EQ(read(wrapper("voxtral", own)).head_dim, 16);
  EXPECT_EQ(read(wrapper("voxtral", own)).rms_eps, 1e-3f);
  EXPECT_EQ(read(wrapper("voxtral", own)).rotations[0].theta, 5e5);
  const json linear = {{"rope_type", "linear"}, {"factor", 2.0}};
  own = text;
  own["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 2e5}};
  EXPECT_EQ(read(wrapper("voxtral", own)).rotations[0].theta, 2e5);
  own["rope_parameters"] = linear;
  EXPECT_EQ(read(wrapper("voxtral", own)).rotations[0].theta, 1e8);
  own = text;
  own["rope_scaling"] = linear;
  const json eos = {{"eos_token_id", 7}};
  EXPECT_EQ(read(wrapper("glmasr", own, eos)).rotations[0].type, RopeType::kLinear);
  EXPECT_EQ(read(wrapper("glmasr", own, eos)).eos_ids, (Ints{7}));
  // The library would rotate by 1e4 and not say so.
  own = text;
  own["rope_theta"] = 5e5;
  expect_error(wrapper("glmasr", own, eos), {"rope_parameters", "rope_theta"}, ErrorCode::kBadFile);
}

TEST(DenseConfig, TakesATypeOfNullForAbsent) {
  json text = decoder("", "llama");
  const ModelConfig llama = read(wrapper("llava", text));
  for (const json& type : {json(nullptr), json("")}) {
    json file = wrapper("llava", text);
    file["text_config"]["model_type"] = type;
    file["text_config"]["architectures"] = {"CohereForCausalLM"};
    EXPECT_EQ(read(file), llama) << file;
  }
}

TEST(DenseConfig, RefusesWrappersOfFamiliesThatChangeLogits) {
  json text = decoder("CohereForCausalLM", "cohere2");
  expect_error(wrapper("llava", text), {"'text_config.model_type' is \"cohere2\"", "\"llava\""});
  text["model_type"] = "gemma2";
  expect_error(wrapper("internvl", text), {"'text_config.model_type' is \"gemma2\""});
  text["model_type"] = "gemma3_text";
  EXPECT_EQ(read(wrapper("llava", text)).family, find_family("gemma3_text"));
  text["final_logit_softcapping"] = 30.0;
  expect_error(wrapper("llava", text), {"final_logit_softcapping"});
}

TEST(DenseConfig, ReadsStableLm) {
  const ModelConfig usual = read(stablelm());
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.norm_bias);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_FALSE(usual.qkv_bias);
  EXPECT_FALSE(usual.tied_embeddings);
  EXPECT_EQ(usual.rotations[0].rotary_dim(16), 4);
  const ModelConfig config = read(stablelm({{"layer_norm_eps", 1e-3},
                                            {"use_qkv_bias", true},
                                            {"partial_rotary_factor", 0.5},
                                            {"qk_layernorm", false},
                                            {"use_parallel_residual", false}}));
  EXPECT_EQ(config.rms_eps, 1e-3f);
  EXPECT_TRUE(config.qkv_bias);
  EXPECT_FALSE(config.o_bias);
  EXPECT_EQ(config.rotations[0].rotary_dim(16), 8);
  expect_error(stablelm({{"qk_layernorm", true}}), {"'qk_layernorm' is true", "expected false"});
  expect_error(stablelm({{"use_parallel_residual", true}}), {"use_parallel_residual"});
  // As older files name them.
  EXPECT_EQ(read(stablelm({{"architectures", {"StableLMEpochForCausalLM"}},
                           {"norm_eps", 1e-5},
                           {"rope_pct", 0.25}})),
            usual);
  EXPECT_EQ(read(stablelm({{"norm_eps", 1e-3}, {"layer_norm_eps", 1e-3}})).rms_eps, 1e-3f);
  expect_error(stablelm({{"norm_eps", 1e-3}}), {"'norm_eps' is 0.001", "1e-05", "layer_norm_eps"});
  expect_error(stablelm({{"rope_pct", 0.5}}),
               {"'rope_pct' is 0.5", "0.25", "partial_rotary_factor"});
}

TEST(DenseConfig, ReadsArcee) {
  const ModelConfig usual = read(arcee({{"hidden_act", "relu2"}, {"mlp_bias", false}}));
  EXPECT_EQ(usual.activation, Activation::kSquaredRelu);
  EXPECT_EQ(usual.n_inner(), 1);
  EXPECT_EQ(usual.norm, Norm::kRms);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(read(arcee()), usual);
  EXPECT_TRUE(read(arcee({{"attention_bias", true}})).o_bias);
  expect_error(arcee({{"hidden_act", "silu"}}), {"'hidden_act' is \"silu\"", "relu2"});
  expect_error(arcee({{"mlp_bias", true}}), {"mlp_bias"});
}

TEST(DenseConfig, ReadsNemotron) {
  const ModelConfig usual = read(nemotron());
  EXPECT_EQ(usual.activation, Activation::kSquaredRelu);
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.norm_bias);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.rotations[0].rotary_dim(16), 8);
  const ModelConfig config = read(nemotron({{"norm_eps", 1e-3}, {"partial_rotary_factor", 0.25}}));
  EXPECT_EQ(config.rms_eps, 1e-3f);
  EXPECT_EQ(config.rotations[0].rotary_dim(16), 4);
  expect_error(nemotron({{"hidden_act", "gelu"}}), {"'hidden_act' is \"gelu\"", "relu2"});
}

TEST(DenseConfig, ReadsCohere) {
  const ModelConfig usual = read(cohere());
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.parallel);
  EXPECT_TRUE(usual.tied_embeddings);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.logit_scale, 0.0625f);
  EXPECT_EQ(usual.rotations[0].theta, 5e5);
  EXPECT_EQ(windows(usual), (Ints{0, 0, 0, 0}));
  EXPECT_EQ(rotations(usual), (Ints{0, 0, 0, 0}));
  const ModelConfig config = read(cohere({{"layer_norm_eps", 1e-3},
                                          {"logit_scale", 0.8333333333333334},
                                          {"rope_theta", 8e6},
                                          {"attention_bias", true},
                                          {"use_qk_norm", false}}));
  EXPECT_EQ(config.rms_eps, 1e-3f);
  EXPECT_EQ(config.logit_scale, 0.8333333333333334f);
  EXPECT_EQ(config.rotations[0].theta, 8e6);
  EXPECT_TRUE(config.qkv_bias && config.o_bias);
  expect_error(cohere({{"sliding_window", 4096}}), {"sliding_window"});
}

TEST(DenseConfig, ReadsGlm) {
  const ModelConfig usual = read(glm());
  EXPECT_EQ(usual.head_dim, 128);
  EXPECT_EQ(usual.rms_eps, 1.5625e-7f);
  EXPECT_TRUE(usual.qkv_bias);
  EXPECT_FALSE(usual.o_bias);
  EXPECT_EQ(usual.rotations[0].rotary_dim(128), 64);
  EXPECT_FALSE(usual.tied_embeddings);
  const ModelConfig config = read(glm({{"head_dim", 16}, {"attention_bias", false}}));
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_FALSE(config.qkv_bias);
  expect_error(glm({{"hidden_act", "gelu"}}), {"hidden_act", "silu"});
}

TEST(DenseConfig, ReadsCohere2) {
  const ModelConfig usual = read(cohere2());
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.parallel);
  EXPECT_TRUE(usual.tied_embeddings);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.logit_scale, 0.0625f);
  EXPECT_EQ(windows(usual), (Ints{4096, 4096, 4096, 0}));
  EXPECT_EQ(rotations(usual), (Ints{0, 0, 0, 1}));
  const ModelConfig config = read(cohere2({{"layer_norm_eps", 1e-3},
                                           {"logit_scale", 0.3},
                                           {"sliding_window", 9},
                                           {"sliding_window_pattern", 2}}));
  EXPECT_EQ(config.rms_eps, 1e-3f);
  EXPECT_EQ(config.logit_scale, 0.3f);
  EXPECT_EQ(windows(config), (Ints{9, 0, 9, 0}));
  expect_error(cohere2({{"logit_scale", 1e9}}), {"logit_scale", "(0, 1e6]"}, ErrorCode::kBadFile);
  expect_error(cohere2({{"rotary_pct", 0.5}}), {"rotary_pct", "0.5"});
  expect_error(cohere2({{"use_parallel_block", false}}), {"use_parallel_block"});
}

TEST(DenseConfig, ReadsGlm4) {
  const ModelConfig usual = read(glm4());
  EXPECT_EQ(usual.head_dim, 128);
  EXPECT_EQ(usual.rotations[0].rotary_dim(128), 64);
  EXPECT_EQ(usual.rms_eps, 1.5625e-7f);
  EXPECT_TRUE(usual.qkv_bias);
  EXPECT_FALSE(usual.o_bias);
  const ModelConfig config =
      read(glm4({{"attention_bias", false}, {"head_dim", 24}, {"partial_rotary_factor", 0.25}}));
  EXPECT_FALSE(config.qkv_bias);
  EXPECT_EQ(config.rotations[0].rotary_dim(24), 6);
  expect_error(glm4({{"sliding_window", 9}}), {"sliding_window", "glm4"});
}

TEST(DenseConfig, ReadsSeedOss) {
  const ModelConfig usual = read(seed_oss());
  EXPECT_EQ(usual.head_dim, 128);
  EXPECT_TRUE(usual.qkv_bias);
  EXPECT_FALSE(usual.o_bias);
  const ModelConfig config =
      read(seed_oss({{"attention_bias", false}, {"attention_out_bias", true}, {"head_dim", 32}}));
  EXPECT_FALSE(config.qkv_bias);
  EXPECT_TRUE(config.o_bias);
  expect_error(seed_oss({{"mlp_bias", true}}), {"mlp_bias"});
}

TEST(DenseConfig, ReadsExaone4) {
  const ModelConfig usual = read(exaone4());
  EXPECT_EQ(usual.qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_FALSE(usual.tied_embeddings);
  EXPECT_EQ(windows(usual), (Ints{4096, 4096, 4096, 0}));
  EXPECT_EQ(rotations(usual), (Ints{0, 0, 0, 1}));
  EXPECT_EQ(usual.rotations[1].rotary_dim(16), 0);
  // Only layers of a model with windows may lack the rotation.
  const ModelConfig full = read(exaone4({{"sliding_window", nullptr}}));
  EXPECT_EQ(windows(full), (Ints{0, 0, 0, 0}));
  EXPECT_EQ(rotations(full), (Ints{0, 0, 0, 0}));
  const json none =
      json::array({"full_attention", "full_attention", "full_attention", "full_attention"});
  EXPECT_EQ(rotations(read(exaone4({{"layer_types", none}}))), (Ints{1, 1, 1, 1}));
  const ModelConfig config =
      read(exaone4({{"sliding_window", 9}, {"sliding_window_pattern", 2}, {"head_dim", 32}}));
  EXPECT_EQ(windows(config), (Ints{9, 0, 9, 0}));
  EXPECT_EQ(rotations(config), (Ints{0, 1, 0, 1}));
  EXPECT_EQ(config.head_dim, 32);
  // Published files have letters beside the list of layers.
  const json types = {"sliding_attention", "full_attention", "full_attention", "sliding_attention"};
  const json letters = {{"sliding_window_pattern", "LLLG"}, {"sliding_window", 8}};
  json listed = letters;
  listed["layer_types"] = types;
  EXPECT_EQ(windows(read(exaone4(listed))), (Ints{8, 0, 0, 8}));
  expect_error(exaone4(letters), {"sliding_window_pattern", "LLLG", "an integer"},
               ErrorCode::kBadFile);
  expect_error(exaone4({{"attention_bias", true}}), {"attention_bias", "exaone4"});
}

TEST(DenseConfig, ReadsErnie4_5) {
  const ModelConfig usual = read(ernie4_5());
  EXPECT_EQ(usual.head_dim, 128);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.rotations[0].theta, 5e5);
  EXPECT_TRUE(usual.tied_embeddings);
  const ModelConfig derived =
      read(ernie4_5({{"head_dim", nullptr}, {"num_key_value_heads", nullptr}}));
  EXPECT_EQ(derived.head_dim, 16);
  EXPECT_EQ(derived.n_kv_heads, 4);
  json absent = ernie4_5();
  absent.erase("num_key_value_heads");
  expect_error(absent, {"num_key_value_heads", "absent"}, ErrorCode::kBadFile);
  EXPECT_EQ(read(ernie4_5({{"architectures", {"Ernie4_5_ForCausalLM"}}})), usual);
  expect_error(ernie4_5({{"use_bias", true}}), {"use_bias"});
}

TEST(DenseConfig, ReadsHunYuan) {
  const ModelConfig usual = read(hunyuan());
  EXPECT_EQ(usual.qk_norm, QkNorm::kPerHeadTurned);
  EXPECT_EQ(usual.head_dim, 16);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.rotations[0], RopeConfig());
  EXPECT_FALSE(usual.qkv_bias);
  const json published = {{"alpha", 1000.0},  {"beta_fast", 32}, {"beta_slow", 1},
                          {"factor", 1.0},    {"mscale", 1.0},   {"mscale_all_dim", 1.0},
                          {"type", "dynamic"}};
  const ModelConfig config = read(hunyuan({{"attention_bias", true},
                                           {"head_dim", 128},
                                           {"num_experts", 1},
                                           {"rope_theta", 1e4},
                                           {"rope_scaling", published}}));
  EXPECT_EQ(config.rotations[0].type, RopeType::kDefault);
  EXPECT_NEAR(config.rotations[0].theta, 11158839.925, 1e-3);
  EXPECT_EQ(config.rotations[0].theta, named_shape("hunyuan-1.8b")->rotations[0].theta);
  EXPECT_TRUE(config.o_bias);
  const json newer = {{"rope_type", "dynamic"}, {"alpha", 1000.0}, {"rope_theta", 1e4}};
  EXPECT_EQ(read(hunyuan({{"head_dim", 128}, {"rope_parameters", newer}})).rotations,
            config.rotations);
  // Without alpha only sequences longer than the context have another rotation.
  const json growing = {{"rope_type", "dynamic"}, {"factor", 2.0}};
  EXPECT_EQ(read(hunyuan({{"rope_scaling", growing}})).rotations, usual.rotations);
  EXPECT_EQ(read(decoder("Qwen2ForCausalLM", "qwen2", {{"rope_scaling", growing}})).rotations,
            read(decoder("Qwen2ForCausalLM", "qwen2")).rotations);
  expect_error(hunyuan({{"rope_scaling", {{"type", "dynamic"}, {"alpha", 0}}}}),
               {"'rope_scaling'", "alpha", "above 0"}, ErrorCode::kBadFile);
  expect_error(hunyuan({{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}, {"alpha", 9.0}}}}),
               {"alpha", "linear"});
  expect_error(hunyuan({{"rope_parameters", newer},
                        {"rope_scaling", {{"rope_type", "dynamic"}, {"alpha", 50.0}}}}),
               {"rope_scaling", "alpha"}, ErrorCode::kBadFile);
  expect_error(decoder("LlamaForCausalLM", "llama", {{"rope_scaling", newer}}), {"dynamic"});
  expect_error(hunyuan({{"num_experts", 16}}), {"num_experts", "16"});
  expect_error(hunyuan({{"use_cla", true}}), {"use_cla"});
  expect_error(hunyuan({{"use_qk_norm", false}}), {"use_qk_norm"});
}

// The library has this type for all families.
TEST(DenseConfig, ReadsProportionalRotations) {
  const json rope = {{"rope_type", "proportional"}, {"rope_theta", 1e4}};
  const ModelConfig config =
      read(decoder("LlamaForCausalLM", "llama", {{"rope_parameters", rope}}));
  EXPECT_EQ(config.rotations[0].type, RopeType::kProportional);
}

}  // namespace
}  // namespace pando::model::dense_test
