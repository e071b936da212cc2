// Loads the weights of the reference forward pass, all of them widened to f32.
#include <cstring>

#include "base/half.h"
#include "model/weight_specs.h"
#include "reference/reference_blocks.h"
#include "reference/reference_forward.h"

namespace pando::reference {
namespace {

// Reads tensors until one is missing; the caller looks at `status` once, at the end.
struct Loader {
  const model::Checkpoint& checkpoint;
  std::optional<DType> integers;
  Status status;

  std::vector<float> vector(const std::string& name, std::initializer_list<int64_t> shape) {
    size_t n = 1;
    for (const int64_t size : shape) n *= static_cast<size_t>(size);
    std::vector<float> out(n);
    const Result<model::TensorView> view = checkpoint.tensor(name, shape);
    if (!view && status.ok()) status = view.error();
    if (!view) return out;
    if (comes_in_blocks(view->dtype)) {
      const std::vector<Quantised> groups = blocks_of(*view);
      for (size_t i = 0; i < n; ++i) out[i] = groups[i / 32].value(static_cast<int>(i % 32));
      return out;
    }
    const size_t row_len = n / static_cast<size_t>(view->shape[0]);
    for (size_t i = 0; i < n; ++i) {
      uint16_t half = 0;
      const size_t at = view->stored_row(static_cast<int64_t>(i / row_len)) * row_len + i % row_len;
      if (view->dtype == DType::kF32) {
        std::memcpy(&out[i], view->data + 4 * at, 4);
        continue;
      }
      std::memcpy(&half, view->data + 2 * at, 2);
      out[i] = view->dtype == DType::kF16 ? f16_to_f32(half) : bf16_to_f32(half);
    }
    return out;
  }

  // Row by row, [rows, columns / 32] groups.
  static std::vector<Quantised> blocks_of(const model::TensorView& view) {
    std::vector<Quantised> groups;
    const int64_t row_bytes = static_cast<int64_t>(view.n_bytes) / view.shape[0];
    for (int64_t row = 0; row < view.shape[0]; ++row)
      for (Quantised& group :
           read_blocks(view.dtype, view.data + view.stored_row(row) * row_bytes, view.shape[1]))
        groups.push_back(std::move(group));
    return groups;
  }

  // Rows [first, first + n) of a weight of n_all rows.
  Matrix matrix(const std::string& name, int n, int k, int first = 0, int n_all = 0) {
    const std::initializer_list<int64_t> shape = {n_all == 0 ? n : n_all, k};
    const Result<model::TensorView> view = checkpoint.tensor(name, shape);
    if (view && comes_in_blocks(view->dtype) && !integers) {
      const std::vector<Quantised> all = blocks_of(*view);
      const auto begin = all.begin() + int64_t{first} * k / 32;
      return {{begin, begin + int64_t{n} * k / 32}, n, k};
    }
    const std::vector<float> all = vector(name, shape);
    const auto begin = all.begin() + int64_t{first} * k;
    return {{begin, begin + int64_t{n} * k}, n, k, integers};
  }

  std::vector<float> vector_if(bool present, const std::string& name, int n) {
    return present ? vector(name, {n}) : std::vector<float>();
  }
};

}  // namespace

Result<Model> Model::load(const model::ModelConfig& c, const model::Checkpoint& checkpoint,
                          const Options& options) {
  Model model;
  model.config_ = c;
  model.options_ = options;
  Loader load{checkpoint, options.weights, {}};
  model.embedding_ = load.vector("model.embed_tokens.weight", {c.vocab, c.d_model});
  const int q = c.q_dim(), kv = c.kv_dim(), qkv = q + 2 * kv, d = c.d_model, ff = c.d_ff;
  for (int i = 0; i < c.n_layers(); ++i) {
    const auto name = [i](const char* part) { return model::layer_weight_name(i, part); };
    // A projection, alone or as rows [first, first + n) of a fused one.
    const auto part = [&](const char* own, const char* fused, int n, int first, int n_all) {
      return checkpoint.contains(name(fused)) ? load.matrix(name(fused), n, d, first, n_all)
                                              : load.matrix(name(own), n, d);
    };
    const char* qkv_name = "self_attn.qkv_proj.weight";
    const char* gate_up_name = "mlp.gate_up_proj.weight";
    const bool qk_norm = c.qk_norm != model::QkNorm::kNone;
    const bool post_norm = !checkpoint.contains(name("input_layernorm.weight"));
    model.layers_.push_back({
        load.vector_if(!post_norm, name("input_layernorm.weight"), d),
        load.vector(name("post_attention_layernorm.weight"), {d}),
        load.vector_if(post_norm, name("post_feedforward_layernorm.weight"), d),
        load.vector_if(qk_norm, name("self_attn.q_norm.weight"), c.q_norm_dim()),
        load.vector_if(qk_norm, name("self_attn.k_norm.weight"), c.k_norm_dim()),
        load.vector_if(c.qkv_bias, name("self_attn.q_proj.bias"), q),
        load.vector_if(c.qkv_bias, name("self_attn.k_proj.bias"), kv),
        load.vector_if(c.qkv_bias, name("self_attn.v_proj.bias"), kv),
        load.vector_if(c.o_bias, name("self_attn.o_proj.bias"), d),
        part("self_attn.q_proj.weight", qkv_name, q, 0, qkv),
        part("self_attn.k_proj.weight", qkv_name, kv, q, qkv),
        part("self_attn.v_proj.weight", qkv_name, kv, q + kv, qkv),
        load.matrix(name("self_attn.o_proj.weight"), d, q),
        part("mlp.gate_proj.weight", gate_up_name, ff, 0, 2 * ff),
        part("mlp.up_proj.weight", gate_up_name, ff, ff, 2 * ff),
        load.matrix(name("mlp.down_proj.weight"), d, ff),
    });
  }
  model.last_norm_ = load.vector("model.norm.weight", {c.d_model});
  const char* head = c.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight";
  model.lm_head_.push_back(load.matrix(head, c.vocab, c.d_model));
  if (!load.status.ok()) return load.status.error();
  return model;
}

}  // namespace pando::reference
