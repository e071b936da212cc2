// Configurations of Command R+: Command R with norms of queries and keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "exec/share.h"
#include "model/config.h"
#include "model/config_json.h"
#include "model/make_model.h"
#include "model/weight_specs.h"

namespace pando::model::command_r_plus_test {
namespace {

using config_json::read;
using nlohmann::json;

// As published, without fields that the library ignores.
json published(const json& change = json::object()) {
  json object = {{"architectures", {"CohereForCausalLM"}},
                 {"attention_bias", false},
                 {"bos_token_id", 5},
                 {"eos_token_id", 255001},
                 {"hidden_act", "silu"},
                 {"hidden_size", 12288},
                 {"intermediate_size", 33792},
                 {"layer_norm_eps", 1e-5},
                 {"logit_scale", 0.8333333333333334},
                 {"max_position_embeddings", 131072},
                 {"model_type", "cohere"},
                 {"num_attention_heads", 96},
                 {"num_hidden_layers", 64},
                 {"num_key_value_heads", 8},
                 {"pad_token_id", 0},
                 {"rope_theta", 75000000.0},
                 {"use_qk_norm", true},
                 {"vocab_size", 256000}};
  object.update(change);
  return object;
}

TEST(CommandRPlusConfig, ReadsPublishedFiles) {
  const ModelConfig config = read(published());
  EXPECT_EQ(config, named_shape("command-r-plus").value());
  EXPECT_EQ(config.qk_norm, QkNorm::kLayerPerHead);
  EXPECT_EQ(config.q_norm_dim(config.heads(0)), 96 * 128);
  EXPECT_EQ(config.k_norm_dim(config.heads(0)), 8 * 128);
  EXPECT_EQ(read(published({{"use_qk_norm", false}})).qk_norm, QkNorm::kNone);
}

const WeightSpec& spec_of(const std::vector<WeightSpec>& specs, std::string_view name) {
  const auto found = std::ranges::find(specs, name, &WeightSpec::name);
  EXPECT_NE(found, specs.end()) << name;
  return *found;
}

// Weights for each channel of each head, in the order of the rows of queries and keys.
TEST(CommandRPlusConfig, HasWeightsForEachHead) {
  const ModelConfig config = named_shape("tiny-command-r-plus").value();
  const std::vector<WeightSpec> specs = weight_specs(config);
  using Shape = std::vector<int64_t>;
  const WeightSpec& q = spec_of(specs, "model.layers.1.self_attn.q_norm.weight");
  EXPECT_EQ(q.shape, Shape{64});
  EXPECT_EQ(q.checkpoint_shape(), (Shape{4, 16}));
  EXPECT_EQ(q.gguf_shape, (Shape{4, 16}));
  EXPECT_EQ(q.gguf_name, "blk.1.attn_q_norm.weight");
  EXPECT_EQ(q.rows, spec_of(specs, "model.layers.1.self_attn.q_proj.weight").rows);
  EXPECT_EQ(q.gguf_rows, q.rows);
  EXPECT_EQ(q.rows.stored(16 + 1), 16 + 2);
  EXPECT_EQ(q.rows.stored(16 + 8), 16 + 1);
  const WeightSpec& k = spec_of(specs, "model.layers.0.self_attn.k_norm.weight");
  EXPECT_EQ(k.checkpoint_shape(), (Shape{2, 16}));
}

// A rank has the weights of its own heads.
TEST(CommandRPlusConfig, RanksDivideTheWeightsOfHeads) {
  const ModelConfig config = named_shape("tiny-command-r-plus").value();
  using Ranges = std::vector<std::pair<int, int>>;
  const ModelShare second = {.rank = 1, .n_ranks = 2};
  EXPECT_EQ(exec::rows_of_share(config, 0, Role::kQNorm, 64, second), (Ranges{{32, 64}}));
  EXPECT_EQ(exec::rows_of_share(config, 0, Role::kKNorm, 32, second), (Ranges{{16, 32}}));
  const ModelConfig other = named_shape("tiny-qwen3").value();
  const int head_dim = other.head_dim;
  EXPECT_EQ(exec::rows_of_share(other, 0, Role::kQNorm, head_dim, second), (Ranges{{0, head_dim}}));
}

}  // namespace
}  // namespace pando::model::command_r_plus_test
