// GGUF files of models whose rows see both ways, written with the names and keys of llama.cpp's
// converter, against the checkpoints that they were made of.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "model/encoders.h"
#include "model/gguf_model.h"
#include "model/gguf_values.h"
#include "model/weight_specs.h"

namespace pando::model {
namespace {

using testing::f32_bytes;
using testing::widened;

// A tensor's name in a file of llama.cpp.
std::string name_in_gguf(std::string name, const std::string& architecture) {
  const bool is_gemma = architecture == "gemma-embedding";
  const std::pair<const char*, const char*> parts[] = {
      {"model.layers.", "blk."},
      {"model.embeddings.word_embeddings", "token_embd"},
      {"model.embeddings.tok_embeddings", "token_embd"},
      {"model.embed_tokens", "token_embd"},
      {"model.embeddings.position_embeddings", "position_embd"},
      {"model.embeddings.token_type_embeddings", "token_types"},
      {"model.embeddings.LayerNorm", "token_embd_norm"},
      {"model.embeddings.norm", "token_embd_norm"},
      {"model.emb_ln", "token_embd_norm"},
      {"model.final_norm", "output_norm"},
      {"model.norm", "output_norm"},
      {"attention.self.query", "attn_q"},
      {"attention.self.key", "attn_k"},
      {"attention.self.value", "attn_v"},
      {"attention.output.dense", "attn_output"},
      {"attention.output.LayerNorm", "attn_output_norm"},
      {"intermediate.dense", "ffn_up"},
      {"output.dense", "ffn_down"},
      {"output.LayerNorm", "layer_output_norm"},
      {"attention.q_lin", "attn_q"},
      {"attention.k_lin", "attn_k"},
      {"attention.v_lin", "attn_v"},
      {"attention.out_lin", "attn_output"},
      {"sa_layer_norm", "attn_output_norm"},
      {"ffn.lin1", "ffn_up"},
      {"ffn.lin2", "ffn_down"},
      {"output_layer_norm", "layer_output_norm"},
      {"attn.Wqkv", "attn_qkv"},
      {"attn.out_proj", "attn_output"},
      {"attn.Wo", "attn_output"},
      {"norm1", "attn_output_norm"},
      {"norm2", "layer_output_norm"},
      {"mlp.fc11", "ffn_up"},
      {"mlp.fc12", "ffn_gate"},
      {"mlp.fc2", "ffn_down"},
      {"mlp.Wi", "ffn_up"},
      {"mlp.Wo", "ffn_down"},
      {"mlp_norm", "ffn_norm"},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
      {"input_layernorm", "attn_norm"},
      {"post_attention_layernorm", is_gemma ? "post_attention_norm" : "ffn_norm"},
      {"pre_feedforward_layernorm", "ffn_norm"},
      {"post_feedforward_layernorm", "post_ffw_norm"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"}};
  for (const auto& [from, to] : parts)
    if (const size_t at = name.find(from); at != name.npos) {
      name.replace(at, std::strlen(from), to);
      if (std::string_view(to) != "blk.") break;
    }
  return name;
}

void add_keys(const ModelConfig& c, const std::string& arch, GgufWriter& out) {
  const bool is_gemma = arch == "gemma-embedding";
  out.string("general.architecture", arch)
      .uint32(arch + ".block_count", static_cast<uint32_t>(c.n_layers()))
      .uint32(arch + ".context_length", static_cast<uint32_t>(c.max_positions))
      .uint32(arch + ".embedding_length", static_cast<uint32_t>(c.d_model))
      .uint32(arch + ".feed_forward_length", static_cast<uint32_t>(c.d_ff))
      .uint32(arch + ".attention.head_count", static_cast<uint32_t>(c.n_heads))
      .float32(
          arch + (is_gemma ? ".attention.layer_norm_rms_epsilon" : ".attention.layer_norm_epsilon"),
          c.rms_eps);
  if (!is_gemma) out.boolean(arch + ".attention.causal", false);
  if (is_gemma)
    out.uint32(arch + ".attention.head_count_kv", static_cast<uint32_t>(c.n_kv_heads))
        .uint32(arch + ".attention.key_length", static_cast<uint32_t>(c.head_dim))
        .uint32(arch + ".attention.value_length", static_cast<uint32_t>(c.head_dim))
        .uint32(arch + ".attention.sliding_window", 12)
        .numbers(arch + ".attention.sliding_window_pattern", GgufType::kBool,
                 std::vector<uint8_t>{1, 0, 1, 0});
  if (arch == "modern-bert")
    out.uint32(arch + ".attention.sliding_window", 16)
        .uint32(arch + ".attention.sliding_window_pattern", 3)
        .float32(arch + ".rope.freq_base_swa", 10000.0F)
        .string(arch + ".rope.scaling.type", "none");
  if (c.n_learned_positions == 0)
    out.float32(arch + ".rope.freq_base", static_cast<float>(c.rotations[0].theta));
}

std::string gguf_of_encoder(const ModelConfig& c, const Checkpoint& checkpoint,
                            const std::string& arch) {
  GgufWriter out;
  add_keys(c, arch, out);
  for (const WeightSpec& spec : weight_specs(c)) {
    const TensorView view = checkpoint.tensor(spec).value();
    std::vector<float> values = widened(view);
    std::vector<int64_t> shape = spec.shape;
    if (spec.stored == Stored::kOneLess)
      for (float& value : values) value += 1.0F;
    if (spec.role == Role::kPositionTable && c.position_offset > 0) {
      values.erase(values.begin(), values.begin() + int64_t{c.position_offset} * c.d_model);
      shape[0] -= c.position_offset;
    }
    out.tensor(name_in_gguf(spec.name, arch), shape, 0, f32_bytes(values));
  }
  return out.bytes();
}

struct GgufEncoder {
  const char *fixture, *architecture;
};

class GgufEncoders : public GgufModel, public ::testing::WithParamInterface<GgufEncoder> {};

TEST_P(GgufEncoders, AreTheirCheckpoints) {
  const auto& [fixture, architecture] = GetParam();
  const LoadedWeights stored = load(encoder_folder(fixture));
  const LoadedWeights gguf = load(folder_.write(
      "model.gguf", gguf_of_encoder(stored.files->config, stored.files->checkpoint, architecture)));
  expect_same(gguf, stored);
  EXPECT_EQ(gguf.embedding_norm, stored.embedding_norm);
  const auto same_tail = [](const Tensor* a, const Tensor* b, int64_t first) {
    ASSERT_EQ(a == nullptr, b == nullptr);
    if (a == nullptr) return;
    ASSERT_EQ(a->shape[0] + first, b->shape[0]);
    const size_t row = static_cast<size_t>(a->shape[1]) * sizeof(float);
    EXPECT_EQ(std::memcmp(a->in_place(), b->in_place() + first * row,
                          static_cast<size_t>(a->shape[0]) * row),
              0);
  };
  const int offset = stored.spec.position_offset;
  same_tail(gguf.position_table.get(), stored.position_table.get(), offset);
  same_tail(gguf.type_table.get(), stored.type_table.get(), 0);
  ModelSpec expected = stored.spec, found = gguf.spec;
  expected.n_learned_positions -= offset;
  expected.position_offset = 0;
  expected.pad_token.reset();  // GGUF files lack its position
  expected.bos_id.reset();
  expected.eos_ids.clear();
  found.family_name = expected.family_name;
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Families, GgufEncoders,
                         ::testing::Values(GgufEncoder{"bert", "bert"},
                                           GgufEncoder{"roberta", "bert"},
                                           GgufEncoder{"distilbert", "bert"},
                                           GgufEncoder{"nomic_bert", "nomic-bert"},
                                           GgufEncoder{"modernbert", "modern-bert"},
                                           GgufEncoder{"gemma3", "gemma-embedding"}),
                         [](const auto& info) { return std::string(info.param.fixture); });

}  // namespace
}  // namespace pando::model
