// One family of models is a row of data, which says how it differs from Llama.
// The rows are in families/rows_*.cc; families/usual.cc reads and writes the fields that they list.
// Nothing outside that folder asks which family a model belongs to.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "contract/model_spec.h"
#include "model/config_ranges.h"
#include "model/rope_config.h"
#include "model/tensor_view.h"

namespace pando {
class Fields;
class GgufFile;
}  // namespace pando

namespace pando::model {

class GgufTranslator;
class LayerSpecs;
struct WeightSpec;

// The fields of a decoder in config.json, with the values that the transformers library takes where
// a field is absent.
struct DecoderFields {
  int n_layers = 0;  // 0: num_hidden_layers, which is then required
  int head_dim = 0;  // 0: hidden_size / num_attention_heads
  // True: an absent num_key_value_heads means num_attention_heads. False: it must be there.
  bool kv_heads_as_heads = false;
  double rms_eps = 1e-6;
  const char* rms_eps_name = "rms_norm_eps";
  const char* gguf_eps = nullptr;  // null: by the norm
  const char* d_ff_name = "intermediate_size";
  WholeRange d_ff_sizes = kFeedForwardSizes;
  const char* activation = "silu";
  const char* activation_name = "hidden_act";  // as it is written; hidden_activation is read too
  const char* older_activation = nullptr;      // another name of it in `hidden_act`; null: none
  bool gelus = false;                          // any GELU, of a feed-forward without a gate
  bool tied = false;                           // if the file does not say
  bool attention_bias = false;  // may be true: then queries, keys, values and the output have one
  RopeFields rope = {};
};

// A field that says whether there are biases, by any other rule than DecoderFields::attention_bias.
struct BiasField {
  const char* name;
  bool absent;                             // default
  std::vector<bool ModelSpec::*> biases;   // biases that exist then
  const char* gguf_bias = ".attn_q.bias";  // a GGUF file has such tensors then
};

// Layers that may have a sliding window. All values but the last two refuse any other window.
enum class Windows {
  kNone,       // none
  kAll,        // every layer, if `sliding_window` is given
  kSome,       // if use_sliding_window is true: those that max_window_layers or layer_types name
  kMixed,      // layers that layer_types names; without it, all but every `interval`-th
  kRecurrent,  // none; layer_types names other kinds of layers
  kUnread,     // none; config.json is not asked
  kIgnored,    // none; no file is asked
};
struct WindowFields {
  Windows layers = Windows::kNone;
  int absent = 0;              // tokens where sliding_window is absent; 0: no window
  int interval = 0;            // kMixed
  bool says_interval = false;  // kMixed: sliding_window_pattern may be there
};

// Mixtures of experts. Without a value for it, an absent field is refused.
struct ExpertFields {
  std::optional<int> n_experts = {};
  std::optional<int> n_used = {};
  const char* d_ff_name = "moe_intermediate_size";
  const char* count_name = "num_experts";  // as the family's files have it; both names are read
  const char* used_name = "num_experts_per_tok";
  bool required = false;              // 0 experts are refused
  bool dense_layers = false;          // mlp_only_layers and decoder_sparse_step may name some
  const char* shared_name = nullptr;  // width of the shared expert; null: there is none
  int shared_absent = 0;
  bool shared_gate = false;
  // norm_topk_prob: where it is absent, and what readers of GGUF files take. Nothing: not read.
  struct Renormalised {
    bool absent, gguf;
  };
  std::optional<Renormalised> norm_topk_prob = {};
};

// Mixtures of experts behind the first layers, as DeepSeek's models describe them
// (families/routed_experts.h).
struct RoutedFields {
  bool sigmoids = true;        // choose the experts
  bool says_sigmoids = false;  // GGUF files name the function
  bool multi_token = false;    // GGUF files may have blocks behind the layers
};

// A number of a model, and its key in GGUF files.
struct NumberField {
  const char *name, *key;
  float ModelSpec::*to;
  double absent;
  bool may_be_null = false;  // for 0; GGUF files may lack it
};

// A field that must have this value, which is also taken where it is absent.
struct OnlyValue {
  const char* name;
  std::variant<bool, double, const char*> value;
};

// Files that hold the two rows of a head that the rotary embedding turns together side by side.
// kGguf: GGUF files, in every layer. kCheckpoint: checkpoints, in layers that rotate. kAll: both,
// in layers that rotate.
enum class RowPairs { kNone, kGguf, kCheckpoint, kAll };

// The names of the matrices of experts in checkpoints. `gate_up` and `down` are tensors of all
// experts. Most published files have tensors of each expert instead,
// "<module>.<expert>.<gate>.weight"; `module` is null if they do not.
struct ExpertNames {
  const char* gate_up = "mlp.experts.gate_up_proj";
  const char* down = "mlp.experts.down_proj";
  const char* module = "mlp.experts";
  const char* gate = "gate_proj";
  const char* up = "up_proj";
  const char* down_of_one = "down_proj";
};

// The names of the parts of a layer in checkpoints, in the order of the forward pass. Null: there
// is no such part.
struct LayerNames {
  RowPairs pairs = RowPairs::kNone;
  const char* attention_norm = "input_layernorm";
  const char* qkv = nullptr;  // one tensor of queries, keys and values; null: three
  bool qkv_by_head = false;   // its rows, of each head together
  const char *q_norm = "self_attn.q_norm", *k_norm = "self_attn.k_norm";
  const char* output = "self_attn.o_proj";
  const char* attention_sum_norm = nullptr;
  const char* gguf_attention_sum_norm = "post_attention_norm";
  const char* feed_forward_norm = "post_attention_layernorm";
  const char* gguf_feed_forward_norm = "ffn_norm";
  bool fused_gate_up = false;                 // one tensor, in GGUF files as well
  const char *up = nullptr, *down = nullptr;  // of a feed-forward without a gate, with biases
  const char* router = "mlp.gate";
  const char* choice_bias = "mlp.gate.e_score_correction_bias";
  ExpertNames experts = {};
  const char* shared = "mlp.shared_experts";
  const char* feed_forward_sum_norm = nullptr;
  const char* gguf_feed_forward_sum_norm = "post_ffw_norm";
  Stored norms = Stored::kItself;  // the weights of all norms of rows, queries and keys
};

// The following functions apply the table rows to files and tensors.
void read_usual(Fields& fields, ModelConfig& config);
void write_usual(const ModelConfig& config, nlohmann::ordered_json& object);
void translate_usual(GgufTranslator& gguf);
std::vector<WeightSpec> usual_layer(const ModelConfig& config, int layer);

struct Family {
  const char* name;          // model_type of config.json
  const char* architecture;  // its class in the transformers library
  // general.architecture; families may share one. Null: there are no GGUF files of the family.
  const char* gguf_architecture = nullptr;
  // Second name that some files use for general.architecture and as prefix of their keys. Null:
  // none.
  const char* other_gguf_architecture = nullptr;
  // Class name in older files. Null: the same.
  const char* older_architecture = nullptr;
  // model_type of a config.json that has this family's as its `text_config`, beside other parts
  // that answer no text; where several families have it, the part's own model_type says which, and
  // without one it is the first. Null: none.
  const char* wrapper = nullptr;
  // Fields of config.json and keys of GGUF files, below the architecture, that `read` and
  // `translate` read and other families refuse (unoffered.h), beside those that follow from the
  // members below.
  std::vector<std::string_view> offers = {};
  // JSON: fields of config.json with the values that the library takes where they are absent. Null:
  // none.
  const char* absent = nullptr;
  // Names that some files have for a field, each with the usual one.
  std::vector<std::pair<const char*, const char*>> other_names = {};

  ModelSpec fixed = {};  // not in files: kinds of norms, biases that always exist
  DecoderFields decoder = {};
  std::vector<BiasField> biases = {};
  QkNorm use_qk_norm = QkNorm::kNone;  // norm if use_qk_norm is true; kNone: not read
  WindowFields windows = {};
  std::optional<ExpertFields> experts = {};
  std::optional<RoutedFields> routed = {};
  std::vector<NumberField> numbers = {};
  bool scales_embeddings = false;  // by the square root of their width
  std::vector<OnlyValue> only = {};

  LayerNames layer = {};
  const char* embedding = "model.embed_tokens.weight";
  const char* embedding_norm = "model.embeddings.LayerNorm";  // if the model has one
  const char* other_embedding_norm = nullptr;                 // name of it in other files
  const char *last_norm = "model.norm", *gguf_last_norm = "output_norm";

  // Functions for the rules that data cannot express. Functions of single families call the usual
  // ones.
  //
  // Reads the fields of a config.json; `fields` keeps the first error.
  void (*read)(Fields& fields, ModelConfig& config) = read_usual;
  // Writes the fields that only some families have, so that `read` gives the same again.
  void (*write)(const ModelConfig& config, nlohmann::ordered_json& object) = write_usual;
  // True if a GGUF file of the architecture belongs to this family and not to another that shares
  // the architecture. Null: always.
  bool (*owns)(const GgufFile& gguf) = nullptr;
  // Translates the metadata of a GGUF file into the fields of a config.json, which `read` reads.
  void (*translate)(GgufTranslator& gguf) = translate_usual;
  // The tensors of one layer, in the order of the forward pass. The next two are for usual_layer:
  // add_mixer returns whether the layer has another mixer than attention.
  std::vector<WeightSpec> (*layer_weights)(const ModelConfig& config, int layer) = usual_layer;
  bool (*add_mixer)(LayerSpecs& specs, const ModelConfig& config, int layer) = nullptr;
  void (*add_feed_forward)(LayerSpecs& specs, const ModelConfig& config, int layer) = nullptr;
  // The part of a checkpoint that a tensor belongs to, "vision tower", where the answers to texts
  // do not need it; empty for all others. Null: there are none.
  std::string_view (*passed_over)(const ModelConfig& config, std::string_view tensor) = nullptr;

  std::vector<std::string_view> offered() const;  // all that other families refuse
};

// All families, in the order in which messages name them.
std::span<const Family* const> families();
// The family of this name; null if there is none.
const Family* find_family(std::string_view name);

}  // namespace pando::model
