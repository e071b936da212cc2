// Loads the weights of the reference forward pass, all of them widened to f32.
#include <cstring>

#include "base/half.h"
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
    for (size_t i = 0; i < n; ++i) {
      uint16_t half = 0;
      if (view->dtype == DType::kF32) {
        std::memcpy(&out[i], view->data + 4 * i, 4);
        continue;
      }
      std::memcpy(&half, view->data + 2 * i, 2);
      out[i] = view->dtype == DType::kF16 ? f16_to_f32(half) : bf16_to_f32(half);
    }
    return out;
  }

  Matrix matrix(const std::string& name, int n, int k) {
    return {vector(name, {n, k}), n, k, integers};
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
  for (int i = 0; i < c.n_layers; ++i) {
    const auto name = [i](const char* part) { return model::layer_weight_name(i, part); };
    model.layers_.push_back({
        load.vector(name("input_layernorm.weight"), {c.d_model}),
        load.vector(name("post_attention_layernorm.weight"), {c.d_model}),
        c.qk_norm() ? load.vector(name("self_attn.q_norm.weight"), {c.head_dim})
                    : std::vector<float>(),
        c.qk_norm() ? load.vector(name("self_attn.k_norm.weight"), {c.head_dim})
                    : std::vector<float>(),
        load.matrix(name("self_attn.q_proj.weight"), c.q_dim(), c.d_model),
        load.matrix(name("self_attn.k_proj.weight"), c.kv_dim(), c.d_model),
        load.matrix(name("self_attn.v_proj.weight"), c.kv_dim(), c.d_model),
        load.matrix(name("self_attn.o_proj.weight"), c.d_model, c.q_dim()),
        load.matrix(name("mlp.gate_proj.weight"), c.d_ff, c.d_model),
        load.matrix(name("mlp.up_proj.weight"), c.d_ff, c.d_model),
        load.matrix(name("mlp.down_proj.weight"), c.d_model, c.d_ff),
    });
  }
  model.last_norm_ = load.vector("model.norm.weight", {c.d_model});
  const char* head = c.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight";
  model.lm_head_.push_back(load.matrix(head, c.vocab, c.d_model));
  if (!load.status.ok()) return load.status.error();
  return model;
}

}  // namespace pando::reference
