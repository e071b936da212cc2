// A model as values: sizes, layers and arithmetic (docs/arithmetic.md). An executor has to know no
// more of it, besides its tensors (tensor_source.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pando::model {

// Widths stay below 2^20 and counts below these, so that sizes fit int32 and products int64.
constexpr int64_t kMaxWidth = int64_t{1} << 20;
constexpr int64_t kMaxVocab = int64_t{1} << 24;
constexpr int64_t kMaxLayers = int64_t{1} << 12;
constexpr int64_t kMaxPositions = int64_t{1} << 30;
constexpr int64_t kMaxConvTaps = 16;
constexpr int64_t kMaxExperts = int64_t{1} << 10;
constexpr int64_t kMaxUsedExperts = int64_t{1} << 8;  // of a row

// The norm of rows. kLayer: LayerNorm.
enum class Norm { kRms, kLayer };

// Norms of queries and keys. kPerHead, kFullWidth: RMSNorm of each head, or of all heads together,
// before the rotation. kPerHeadTurned: RMSNorm of each head, after the rotation. kLayerPerHead:
// LayerNorm of each head, before the rotation, with weights for each head.
enum class QkNorm { kNone, kPerHead, kPerHeadTurned, kFullWidth, kLayerPerHead };

// The part of a layer in which a row meets the rows before it. kNone: the layer is its feed-forward
// alone.
// The last three are recurrent: they carry a state from row to row.
enum class Mixer { kNone, kAttention, kDeltaNet, kShortConv, kMamba2 };
constexpr bool is_recurrent(Mixer mixer) { return mixer > Mixer::kAttention; }

// The part of a layer that is computed for each row on its own.
enum class FeedForward {
  kNone,     // the layer is its mixer alone
  kDense,    // down(activation(gate(x)) * up(x)), or down(activation(up(x)))
  kExperts,  // a weighted sum of a few of many of these, which a router chooses for each row
};

// Combination of gate and up in a feed-forward. kSilu, kGeluTanh, kGeluErf: SiLU(gate) * up, or
// GELU(gate) * up by tanh or by erf. kClampedSilu: (1 + up) * gate * sigmoid(alpha * gate), with
// gate and up clamped. The others have no gate: ReLU(up) squared, and GELU(up) by erf or by tanh.
enum class Activation {
  kSilu,
  kGeluTanh,
  kGeluErf,
  kClampedSilu,
  kSquaredRelu,
  kUngatedGelu,
  kUngatedGeluTanh
};
constexpr bool has_gate(Activation activation) { return activation < Activation::kSquaredRelu; }

// Function from the logits of a router to the weights of the chosen experts.
enum class RouterScores {
  kSoftmax,          // of all experts; the best are chosen
  kSigmoid,          // of each expert
  kSoftmaxOfChosen,  // the experts with the largest logits are chosen first
  kSparseMixer,      // of two experts: see docs/arithmetic.md
};

enum class RopeType { kDefault, kLinear, kLlama3, kYarn, kLongRope, kProportional };

// Scaling of rotary embeddings. A value that the type does not use has its default.
struct RopeConfig {
  RopeType type = RopeType::kDefault;
  double theta = 10000.0;
  // This share of a head's channels rotates, from the first on. proportional: all are paired as
  // where all rotate, and this share of the pairs turns.
  double rotary_share = 1.0;
  double factor = 1.0;  // linear, llama3, yarn, proportional: by how much positions are stretched
  double attention_factor = 1.0;  // yarn, longrope: multiplies cosine and sine
  int original_positions = 0;     // llama3, yarn, longrope: the context before it was extended
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  // llama3
  double beta_fast = 32.0, beta_slow = 1.0;              // yarn: rotations at the ends of the ramp
  bool truncate = true;                                  // yarn: the ramp ends at whole channels
  std::vector<double> short_factor = {}, long_factor = {};  // longrope: [rotary_dim / 2]
  float query_growth = 0.0f;  // yarn: queries are multiplied by query_factor
  double score_mscale = 0.0;  // yarn, latent attention: scores are multiplied by score_factor

  // 1 + query_growth ln(1 + floor(pos / original_positions)), in double precision, rounded once.
  float query_factor(uint32_t pos) const;
  // The square of 1 + score_mscale ln(factor) / 10.
  double score_factor() const;

  // Channels of a head that are paired.
  int rotary_dim(int head_dim) const {
    return type == RopeType::kProportional ? head_dim : static_cast<int>(head_dim * rotary_share);
  }
  bool operator==(const RopeConfig&) const = default;
};

// The heads of one layer with attention.
struct Heads {
  int n = 0;     // of queries, a multiple of n_kv
  int n_kv = 0;  // of keys and values
  int head_dim = 0;

  int q_dim() const { return n * head_dim; }
  int kv_dim() const { return n_kv * head_dim; }
  bool operator==(const Heads&) const = default;
};

struct LayerConfig {
  Mixer mixer = Mixer::kAttention;
  // A query at position p sees keys behind p - window, and where rows see both ways those before
  // p + window; 0: all up to its own, or all of its text.
  int window = 0;
  int rotation = 0;  // of queries and keys: index into ModelConfig::rotations
  FeedForward feed_forward = FeedForward::kDense;
  int n_kv_heads = 0, head_dim = 0, d_ff = 0;  // 0: as the model has them
  bool values_are_keys = false;                // values are the keys before their norm and rotation
  // The layer attends to the keys and values of the layer keys_back before it; 0: to its own.
  int keys_back = 0;

  bool operator==(const LayerConfig&) const = default;
};

// The recurrent layers of a model; all of them have one shape. Zeros where it has none.
struct RecurrentConfig {
  int conv_taps = 0;    // positions that a convolution sees, its own included
  int n_key_heads = 0;  // delta-net: heads of queries and keys; Mamba2: groups of B and C
  int n_heads = 0;      // heads of values, a multiple of n_key_heads; 0 for short convolutions
  int key_dim = 0;      // rows of a head's state
  int value_dim = 0;    // columns of a head's state
  // Value head h goes with key head h % n_key_heads; otherwise with h / (n_heads / n_key_heads).
  bool heads_interleaved = false;
  bool conv_bias = false;
  bool doubled_beta = false;  // delta-net: beta is twice the sigmoid
  int short_channels = 0;     // of a short convolution, on one of several ranks; 0: d_model
  float norm_eps = 0.0f;      // of a delta-net's own norm; 0: as for all norms

  int key_width() const { return n_key_heads * key_dim; }
  int value_width() const { return n_heads * value_dim; }
  bool operator==(const RecurrentConfig&) const = default;
};

// Attention whose keys and values are made of one vector a position, the latent (multi-head latent
// attention, DeepSeek-V2). All layers of a model have it or none; zeros where it has none.
struct LatentConfig {
  int rank = 0;        // channels of the latent
  int query_rank = 0;  // inner width of the projection of queries; 0: it is one matrix
  int still_dim = 0;   // channels of a head's query and key that do not rotate
  int rope_dim = 0;    // dims that do, and of keys are the same for all heads
  int value_dim = 0;   // of a head's values

  int query_dim() const { return still_dim + rope_dim; }  // of a head
  int up_dim() const { return still_dim + value_dim; }    // keys and values of a head
  // For the RMSNorm of latents and of inner rows of queries; independent of the model's own.
  static constexpr float kEps = 1e-6f;
  bool operator==(const LatentConfig&) const = default;
};

// The mixtures of experts of a model; all of them have one shape. Zeros where it has none.
struct ExpertsConfig {
  int n_experts = 0;
  int n_used = 0;       // experts of a row
  int d_ff = 0;         // inner width of an expert
  int shared_d_ff = 0;  // of the shared expert, which has every row; 0: none
  // The output of the shared expert is multiplied by the sigmoid of a product with the row.
  bool shared_gate = false;
  RouterScores scores = RouterScores::kSoftmax;
  bool renormalised = false;  // the weights of a row are divided by their sum
  float weight_scale = 1.0f;  // multiplies every weight
  bool router_bias = false;   // of the logits
  bool choice_bias = false;   // added to scores while experts are chosen, and no longer
  bool biases = false;        // of gate, up and down of the experts
  float mixer_jitter = 0.0f;  // kSparseMixer: logits further below the largest do not count
  // Neighbouring experts form groups. Only those of the n_groups_used best groups are chosen; a
  // group is as good as the sum of its n_group_best best scores.
  int n_groups = 1;
  int n_groups_used = 1;
  int n_group_best = 1;

  bool operator==(const ExpertsConfig&) const = default;
};

// Every size is positive, n_heads is a multiple of n_kv_heads, head_dim of 4, every layer's
// rotation is one of rotations, a layer that reads the keys of another has its heads and its
// window, and no product of two sizes overflows int64.
struct ModelSpec {
  std::string family_name = {};  // for messages: "llama"
  int vocab = 0;
  int d_model = 0;
  std::vector<LayerConfig> layers = {};  // [n_layers]
  int n_heads = 0;
  int n_kv_heads = 0;
  int head_dim = 0;
  int d_ff = 0;  // of dense layers
  Norm norm = Norm::kRms;
  float rms_eps = 1e-5f;   // of either norm
  bool norm_bias = false;  // of the norms of rows
  // Each row of a text sees all its rows, also those behind it. Such a model has no logits.
  bool both_ways = false;
  bool post_norm = false;  // norms follow the sums: x becomes norm(x + y)
  bool embedding_norm = false;
  bool final_norm = true;
  int n_learned_positions = 0;  // rows of the table that is added to embeddings; 0: none
  int position_offset = 0;      // row of position 0 in it
  // A padding token. It gets the row before that of position 0, and positions do not count it.
  std::optional<int32_t> pad_token = {};
  int n_token_types = 0;  // rows of the table of types, added too; 0: none
  // Attention and feed-forward read the same row, by one norm or one each, and both outputs are
  // added to it.
  bool parallel = false;
  bool feed_forward_bias = false;  // of the matrices of dense feed-forwards
  Activation activation = Activation::kSilu;
  float activation_alpha = 0.0f;  // of kClampedSilu
  float activation_limit = 0.0f;  // of kClampedSilu: gate is at most this, |up| too
  std::vector<RopeConfig> rotations = {RopeConfig()};  // of all layers; at least one
  int max_positions = 0;                               // longest sequence, in tokens
  bool tied_embeddings = false;  // the LM head is the embedding table; lm_head.weight is not read
  QkNorm qk_norm = QkNorm::kNone;
  bool value_norm = false;  // RMSNorm of each head's values, without weights
  bool qkv_bias = false;    // of queries, keys and values
  bool o_bias = false;      // of the output projection
  bool head_bias = false;   // of the logits
  // Queries come with as many gates: attended values are multiplied by the gates' sigmoids.
  bool attention_gate = false;
  // Each query head has a score of its own, a sink, that takes weight and has no value.
  bool attention_sinks = false;
  float embedding_scale = 1.0f;  // multiplies every embedding
  float residual_scale = 1.0f;   // multiplies what mixer and feed-forward add
  float logit_divisor = 1.0f;    // divides every logit
  float logit_scale = 1.0f;      // multiplies every logit
  float logit_cap = 0.0f;        // logits l become cap tanh(l / cap); 0: they stay
  float score_cap = 0.0f;        // the same of scaled products of queries and keys
  float attention_scale = 0.0f;  // of products of queries and keys; 0: 1 / sqrt(head_dim)
  // Inputs of each layer for each token, and rows of their table. Zeros: layers have no inputs.
  int layer_input_dim = 0, layer_input_vocab = 0;
  RecurrentConfig recurrent = {};
  ExpertsConfig experts = {};
  // If the model has one, heads have one key, [latent, rotated channels], which is their value too:
  // n_kv_heads is 1 and head_dim the sum of both.
  LatentConfig latent = {};
  std::optional<int32_t> bos_id = {};
  std::vector<int32_t> eos_ids = {};  // any of these ends a sequence; may be empty

  int n_layers() const { return static_cast<int>(layers.size()); }
  // Passes over the rows of a text that see both ways (TextPasses); 0: they do not.
  uint32_t n_passes() const { return both_ways ? static_cast<uint32_t>(layers.size()) + 1 : 0; }
  // Layers with keys and values, and layers with a state.
  int n_attention_layers() const;
  int n_recurrent_layers() const;
  // Matrices that a feed-forward has before its activation: gate and up, or up alone.
  int n_inner() const { return has_gate(activation) ? 2 : 1; }
  // Channels of a recurrent layer's convolution.
  int conv_channels(Mixer mixer) const;
  Heads heads(int layer) const;
  int widest_head() const;  // of all layers
  int d_ff_of(int layer) const { return layers[layer].d_ff > 0 ? layers[layer].d_ff : d_ff; }
  // Elements of the norms of queries and of keys of a layer with these heads; 0: none.
  int q_norm_dim(const Heads& heads) const { return qk_norm_dim(heads.head_dim, heads.q_dim()); }
  int k_norm_dim(const Heads& heads) const { return qk_norm_dim(heads.head_dim, heads.kv_dim()); }
  bool has_latent() const { return latent.rank > 0; }
  // Channels of a head that the rotary embedding is given.
  int rotated_dim(int layer) const {
    return has_latent() ? latent.rope_dim : heads(layer).head_dim;
  }
  // Channels that the output projection of a layer with attention reads.
  int attended_dim(int layer) const {
    return has_latent() ? n_heads * latent.value_dim : heads(layer).q_dim();
  }
  // Channels of all heads, in layers with the model's heads.
  int q_dim() const { return n_heads * head_dim; }
  int kv_dim() const { return n_kv_heads * head_dim; }
  // True if any layer is of this kind.
  bool has(Mixer mixer) const;
  bool has(FeedForward kind) const;

  bool operator==(const ModelSpec&) const = default;

 private:
  int qk_norm_dim(int one, int full) const {
    if (qk_norm == QkNorm::kNone) return 0;
    const bool for_all = qk_norm == QkNorm::kFullWidth || qk_norm == QkNorm::kLayerPerHead;
    return for_all ? full : one;
  }
};

}  // namespace pando::model
