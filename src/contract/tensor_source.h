// The tensors of a model, unpacked, by role, for all formats of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/function_ref.h"
#include "contract/model_spec.h"
#include "pando/values/result.h"

namespace pando::model {

// The use of a weight. Shapes are outer to inner. The projections of a recurrent layer are kQkv and
// kO; all outputs of kQkv stand one after another, in the order of docs/arithmetic.md:
//   delta-net          queries, keys, values, z, b, a
//   short convolution  B, C, x
//   Mamba2             z, x, B, C, dt
// In latent attention kQkv has queries, or the inner rows of their projection, then latents and the
// shared channels of keys: [n_heads * query_dim or query_rank, and rank + rope_dim; d_model].
enum class Role {
  // Weights of the model:
  kEmbedding,             // [vocab, d_model]
  kPositionTable,         // [n_learned_positions, d_model]
  kTypeTable,             // [n_token_types, d_model]
  kEmbeddingNorm,         // [d_model]; with a bias, which stands behind, [2 d_model]
  kLayerInputTable,       // [layer_input_vocab, n_layers * layer_input_dim]
  kLayerInputProjection,  // [n_layers * layer_input_dim, d_model]
  kLayerInputNorm,        // [layer_input_dim]
  kFinalNorm,             // [d_model]; with a bias, which stands behind, [2 d_model]
  kHead,                  // [vocab, d_model]
  kHeadBias,              // [vocab]
  // Weights of a layer. Norms are [d_model] and may have a bias behind. kAttentionNorm comes before
  // the mixer, kAttentionSumNorm behind it, before the sum; the same for the feed-forward.
  kAttentionNorm,
  kQNorm,  // [head_dim], or for all heads [q_dim]; of latents [query_rank]
  kKNorm,  // the same of keys [kv_dim]; of latents [rank]
  // [(n_heads + 2 n_kv_heads) * head_dim, d_model]: queries, keys, values. Gates follow the
  // queries, with as many rows. Has no values if these are the keys, and neither keys nor values if
  // the layer reads those of another layer.
  kQkv,
  kQkvBias,    // [outputs of kQkv]
  kSinks,      // [n_heads] scores beside those of keys
  kQUp,        // of latents: [n_heads * query_dim, query_rank]
  kLatentUp,   // [n_heads * (still_dim + value_dim), rank], or keys turned and values
  kO,          // [d_model, attended_dim]
  kOBias,      // [d_model]
  kConv,       // [conv_taps, channels], the oldest position first
  kConvBias,   // [channels]
  kDecay,      // [n_heads] below 0: -exp(A_log)
  kDtBias,     // [n_heads]
  kSkip,       // [n_heads] D of Mamba2
  kStateNorm,  // delta-net [value_dim], Mamba2 [n_heads * value_dim]
  kAttentionSumNorm,
  kFeedForwardNorm,  // without one parallel layers read kAttentionNorm
  // The following belong to a dense layer, or to the shared expert of a mixture, whose width is
  // d_ff then.
  kGateUp,      // [2 d_ff, d_model]: gate, then up; or [d_ff, d_model]: up
  kGateUpBias,  // [2 d_ff] or [d_ff]
  kDown,        // [d_model, d_ff]
  kDownBias,    // [d_model]
  kFeedForwardSumNorm,
  // For the layer's own inputs: their gate [layer_input_dim, d_model], the projection of the gated
  // inputs [d_model, layer_input_dim], and the norm of the result.
  kInputGate,
  kInputProjection,
  kInputSumNorm,
  kScale,        // [1] multiplies the residual stream behind the layer
  kRouter,       // [n_experts, d_model]
  kRouterBias,   // [n_experts]
  kChoiceBias,   // [n_experts]
  kExpertScale,  // [n_experts] multiplies the weights of the chosen
  kSharedGate,   // [d_model] its product with a row scales the shared expert
  // Norm of the residual stream for the router, divided by sqrt(d_model). None: the router reads
  // kFeedForwardNorm.
  kRouterNorm,
  kExpertsNorm,     // before experts; none: kFeedForwardNorm
  kExpertsSumNorm,  // of the sum of a row's experts
  kSharedSumNorm,   // of the shared expert's output
  // The following belong to each expert of a layer, as to a dense layer.
  kExpertGateUp,
  kExpertGateUpBias,
  kExpertDown,
  kExpertDownBias,
};
constexpr bool is_of_experts(Role role) { return role >= Role::kExpertGateUp; }

struct WeightId {
  Role role;
  int layer = -1;   // none: of the model
  int expert = -1;  // none: not of an expert
};

// Rows of numbers as a file holds them, in the model's order.
class Tensor {
 public:
  virtual ~Tensor() = default;

  std::string name = {};            // in the file
  std::vector<int64_t> shape = {};  // outer to inner: [rows], [rows, columns] or [rows, 1, taps]
  DType type = DType::kF32;         // of the rows that each_row gives: elements, or whole blocks
  // Integers with scales have the model's own type here. They get it if no type holds them exactly
  // (`type` is f32 then), or if their neighbours are of another type.
  std::optional<DType> widened = {};

  // Calls `read` with each row of [first, last) of a matrix. A row may begin at any byte, and is
  // valid until the next one. A row with NaN or infinity is an error (kBadFile). Memory of the
  // mapped file is given back.
  using ReadRow = FunctionRef<Status(int64_t row, const std::byte* from)>;
  virtual Status each_row(int64_t first, int64_t last, ReadRow read) const = 0;
  // All numbers of a vector or convolution, row by row.
  virtual Result<std::vector<float>> values() const = 0;
  // The rows of a table where they lie in the file, one after another. Valid as long as the source.
  virtual const std::byte* in_place() const = 0;
};
using Tensors = std::vector<std::unique_ptr<const Tensor>>;

// Immutable; any thread may read.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  virtual std::string file() const = 0;  // for messages
  // The roles of a layer's weights, in the order of the forward pass.
  virtual std::vector<Role> roles(int layer) const = 0;
  // The tensors that make a weight, one above the other. Errors name file and tensor.
  virtual Result<Tensors> tensors(const WeightId& id) const = 0;
};

}  // namespace pando::model
