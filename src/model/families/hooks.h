// Functions of single families, or of few, that rows of families point to. The name of each begins
// with the member of Family that it is for.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "model/config.h"
#include "model/families/layer_specs.h"
#include "model/families/typed_rotations.h"
#include "model/gguf_translator.h"

namespace pando::model {

using nlohmann::ordered_json;

// usual.cc: read_usual with other fields of decoders than the row's.
void read_usual(Fields& fields, const DecoderFields& decoder, ModelConfig& config);

// hooks_dense.cc
void read_smollm3(Fields& fields, ModelConfig& config);
void write_smollm3(const ModelConfig& config, ordered_json& object);
void translate_smollm3(GgufTranslator& gguf);
void read_ministral3(Fields& fields, ModelConfig& config);
void translate_ministral3(GgufTranslator& gguf);
void translate_granite(GgufTranslator& gguf);
void read_ernie4_5(Fields& fields, ModelConfig& config);
void read_hunyuan(Fields& fields, ModelConfig& config);
void stretch_theta(Fields& fields, ModelConfig& config);  // of HunYuan, by alpha
void read_olmo3(Fields& fields, ModelConfig& config);
void write_olmo3(const ModelConfig& config, ordered_json& object);
void translate_olmo3(GgufTranslator& gguf);
void read_exaone4(Fields& fields, ModelConfig& config);
void write_exaone4(const ModelConfig& config, ordered_json& object);
void read_cohere2(Fields& fields, ModelConfig& config);
void read_glm4v(Fields& fields, ModelConfig& config);
void translate_glm4v(GgufTranslator& gguf);
// True if positions have several parts, of which one is not empty.
bool has_gguf_sections(const GgufFile& gguf, std::string_view architecture);
// Products of queries and keys are divided by its square root.
inline constexpr const char* kGemmaScalar = "query_pre_attn_scalar";
void read_gemma2(Fields& fields, ModelConfig& config);
void write_gemma2(const ModelConfig& config, ordered_json& object);
void translate_gemma2(GgufTranslator& gguf);
void read_gemma3(Fields& fields, ModelConfig& config);
void write_gemma3(const ModelConfig& config, ordered_json& object);
void translate_gemma3(GgufTranslator& gguf);
inline constexpr const char* kGemmaEmbedding = "gemma-embedding";  // of files of EmbeddingGemma
inline constexpr std::array<std::string_view, 2> kPhi3LongRopes = {"su", "yarn"};  // first files
void read_stablelm(Fields& fields, ModelConfig& config);
void read_gpt_neox(Fields& fields, ModelConfig& config);
void write_gpt_neox(const ModelConfig& config, ordered_json& object);
void translate_gpt_neox(GgufTranslator& gguf);
std::string_view gpt_neox_mask(const ModelConfig& config, std::string_view tensor);

// hooks_mixtures.cc
void read_phimoe(Fields& fields, ModelConfig& config);
void write_phimoe(const ModelConfig& config, ordered_json& object);
void translate_phimoe(GgufTranslator& gguf);
void read_minimax_m2(Fields& fields, ModelConfig& config);
void translate_minimax_m2(GgufTranslator& gguf);
inline constexpr double kGptOssTheta = 150000.0;
void read_gpt_oss(Fields& fields, ModelConfig& config);
void write_gpt_oss(const ModelConfig& config, ordered_json& object);
void translate_gpt_oss(GgufTranslator& gguf);
std::vector<WeightSpec> gpt_oss_layer(const ModelConfig& config, int layer);
void translate_qwen2_moe(GgufTranslator& gguf);
void read_qwen3_vl_moe(Fields& fields, ModelConfig& config);
inline constexpr const char* kGraniteSharedWidth = "shared_intermediate_size";
inline constexpr LayerNames kGraniteLayer = {.pairs = RowPairs::kGguf,
                                             .router = "block_sparse_moe.router.layer"};
bool has_granite_shared(const GgufFile& gguf);
void add_granite_feed_forward(LayerSpecs& specs, const ModelConfig& config, int layer);
void read_dots1(Fields& fields, ModelConfig& config);
void write_dots1(const ModelConfig& config, ordered_json& object);
void read_ernie4_5_moe(Fields& fields, ModelConfig& config);
void write_ernie4_5_moe(const ModelConfig& config, ordered_json& object);
void translate_ernie4_5_moe(GgufTranslator& gguf);
std::vector<WeightSpec> ernie4_5_moe_layer(const ModelConfig& config, int layer);
std::string_view ernie4_5_multi_token(const ModelConfig& config, std::string_view tensor);
void read_hunyuan_moe(Fields& fields, ModelConfig& config);
void write_hunyuan_moe(const ModelConfig& config, ordered_json& object);
void translate_hunyuan_moe(GgufTranslator& gguf);

// latent.cc
inline constexpr std::array<std::string_view, 2> kLatentOffers = {
    "kv_lora_rank", "rope.scaling.yarn_log_multiplier"};
void read_deepseek_v2(Fields& fields, ModelConfig& config);
void write_deepseek_v2(const ModelConfig& config, ordered_json& object);
void translate_deepseek_v2(GgufTranslator& gguf);
void read_deepseek_v3(Fields& fields, ModelConfig& config);
void read_glm4_moe_lite(Fields& fields, ModelConfig& config);
void write_glm4_moe_lite(const ModelConfig& config, ordered_json& object);
void translate_glm4_moe_lite(GgufTranslator& gguf);
void write_latent(const ModelConfig& config, ordered_json& object);
void translate_latent(GgufTranslator& gguf);
bool add_latent(LayerSpecs& specs, const ModelConfig& config, int layer);
// True if a file has experts that are chosen by sigmoids, and if it has the tokenizer of GLM. These
// tell one family from another.
bool has_sigmoid_router(const GgufFile& gguf);
bool has_glm_tokenizer(const GgufFile& gguf);

// delta_net.cc
void read_delta_net(Fields& fields, ModelConfig& config);
void read_qwen3_5(Fields& fields, ModelConfig& config);
void write_delta_net(const ModelConfig& config, ordered_json& object);
void translate_delta_net(GgufTranslator& gguf);
bool add_qwen3_5_mixer(LayerSpecs& specs, const ModelConfig& config, int layer);
bool add_qwen3_next_mixer(LayerSpecs& specs, const ModelConfig& config, int layer);
std::string_view delta_net_passed_over(const ModelConfig& config, std::string_view tensor);

// olmo_hybrid.cc
void read_olmo_hybrid(Fields& fields, ModelConfig& config);
void write_olmo_hybrid(const ModelConfig& config, ordered_json& object);
std::vector<WeightSpec> olmo_hybrid_layer(const ModelConfig& config, int layer);

// lfm2.cc
void read_lfm2(Fields& fields, ModelConfig& config);
void write_lfm2(const ModelConfig& config, ordered_json& object);
void translate_lfm2(GgufTranslator& gguf);
void read_lfm2_moe(Fields& fields, ModelConfig& config);
void write_lfm2_moe(const ModelConfig& config, ordered_json& object);
void translate_lfm2_moe(GgufTranslator& gguf);
bool add_short_conv(LayerSpecs& specs, const ModelConfig& config, int layer);
void add_lfm2_feed_forward(LayerSpecs& specs, const ModelConfig& config, int layer);

// granite_hybrid.cc
void read_granite_hybrid(Fields& fields, ModelConfig& config);
void write_granite_hybrid(const ModelConfig& config, ordered_json& object);
void translate_granite_hybrid(GgufTranslator& gguf);
bool add_granite_mamba(LayerSpecs& specs, const ModelConfig& config, int layer);

// nemotron_h.cc
void read_nemotron_h(Fields& fields, ModelConfig& config);
void write_nemotron_h(const ModelConfig& config, ordered_json& object);
void translate_nemotron_h(GgufTranslator& gguf);
std::vector<WeightSpec> nemotron_h_layer(const ModelConfig& config, int layer);
std::string_view nemotron_h_multi_token(const ModelConfig& config, std::string_view tensor);

// encoders.cc
std::string_view beside_encoder(const ModelConfig& config, std::string_view tensor);
void read_bert(Fields& fields, ModelConfig& config);
void write_bert(const ModelConfig& config, ordered_json& object);
void read_roberta(Fields& fields, ModelConfig& config);
void write_roberta(const ModelConfig& config, ordered_json& object);
void read_distilbert(Fields& fields, ModelConfig& config);
bool add_bert_attention(LayerSpecs& specs, const ModelConfig& config, int layer);
bool add_distilbert_attention(LayerSpecs& specs, const ModelConfig& config, int layer);
void read_nomic_bert(Fields& fields, ModelConfig& config);
void write_nomic_bert(const ModelConfig& config, ordered_json& object);
std::vector<WeightSpec> nomic_bert_layer(const ModelConfig& config, int layer);
void read_modernbert(Fields& fields, ModelConfig& config);
void write_modernbert(const ModelConfig& config, ordered_json& object);
std::vector<WeightSpec> modernbert_layer(const ModelConfig& config, int layer);
void add_modernbert_feed_forward(LayerSpecs& specs, const ModelConfig& config, int layer);

// gguf_encoders.cc
void translate_bert(GgufTranslator& gguf);
void translate_nomic_bert(GgufTranslator& gguf);
void translate_modernbert(GgufTranslator& gguf);

// gemma4.cc
void read_gemma4(Fields& fields, ModelConfig& config);
void write_gemma4(const ModelConfig& config, ordered_json& object);
void translate_gemma4(GgufTranslator& gguf);
std::vector<WeightSpec> gemma4_layer(const ModelConfig& config, int layer);
void add_gemma4_feed_forward(LayerSpecs& specs, const ModelConfig& config, int layer);
std::string_view gemma4_passed_over(const ModelConfig& config, std::string_view tensor);

}  // namespace pando::model
