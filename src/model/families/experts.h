// Mixtures of experts in a config.json and in GGUF files.
#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/fields.h"
#include "model/config.h"
#include "model/gguf_translator.h"

namespace pando::model {

// Family::offers.
inline constexpr std::string_view kExpertOffers[] = {"num_experts", "num_local_experts",
                                                     "expert_count"};

template <size_t N, size_t M>
constexpr std::array<std::string_view, N + M> joined(const std::string_view (&a)[N],
                                                     const std::string_view (&b)[M]) {
  std::array<std::string_view, N + M> all{};
  for (size_t i = 0; i < N; ++i) all[i] = a[i];
  for (size_t i = 0; i < M; ++i) all[N + i] = b[i];
  return all;
}

// What a family has, and what the transformers library takes where a field is absent.
struct ExpertFields {
  int n_experts;
  int n_used;
  const char* d_ff_name = "moe_intermediate_size";
  const char* count_name = "num_experts";  // as the family's files have it; both names are read
};

// Reads how many experts there are, how many a row has, and their width, once read_decoder has set
// the number of layers. All layers become mixtures; none, where there are 0 experts.
void read_experts(Fields& fields, const ExpertFields& usual, ModelConfig& config);
// Makes layers dense that `mlp_only_layers` and `decoder_sparse_step` name. After read_experts.
void read_dense_layers(Fields& fields, ModelConfig& config);
// The shared expert's width, of a model with experts.
void read_shared_expert(Fields& fields, const char* name, int absent, ModelConfig& config);

// Write what these read.
void write_experts(const ModelConfig& config, const ExpertFields& usual,
                   nlohmann::ordered_json& object);
void write_dense_layers(const ModelConfig& config, nlohmann::ordered_json& object);

bool has_gguf_experts(const GgufFile& gguf, std::string_view architecture);
// After decoder(). A file may have no width of its own for experts: then it is that of dense
// layers.
void translate_experts(GgufTranslator& gguf, const char* d_ff_name = "moe_intermediate_size");
void translate_shared_expert(GgufTranslator& gguf, const char* name);

}  // namespace pando::model
