// Configurations of models that wrap a decoder of almost any family.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"
#include "model/family.h"

namespace pando::model::wrapper_test {
namespace {

using nlohmann::json;
using namespace config_json;

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

// If the file says nothing, each wrapper has a default of its own.
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

// These two wrappers have defaults of their own for a text part that exists.
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

}  // namespace
}  // namespace pando::model::wrapper_test
