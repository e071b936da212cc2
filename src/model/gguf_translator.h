// Translates the metadata that GGUF files of decoders share into the fields of a config.json.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/gguf.h"
#include "base/json.h"
#include "model/family.h"
#include "model/gguf_fields.h"

namespace pando::model {

// True if "<architecture>.attention.sliding_window" exists and is not 0.
bool has_gguf_window(const GgufFile& gguf, std::string_view architecture);

// The file's architecture if it is one of the family's two; otherwise the family's first.
std::string_view gguf_architecture_of(const GgufFile& gguf, const Family& family);

// The index of the block that a tensor of a GGUF file belongs to; -1: none.
int64_t block_of(std::string_view tensor);
// Family::passed_over of blocks behind the last layer.
inline constexpr std::string_view kMultiToken = "multi-token prediction";

// A family calls the functions for the keys that its files have. Keeps the first error.
class GgufTranslator {
 public:
  GgufTranslator(const GgufFile& gguf, const Family& family);

  // Sizes, norms, rotation, embeddings and special tokens. eps_key: key of the epsilon of norms.
  void decoder(const char* eps_key = "attention.layer_norm_rms_epsilon");
  // Before decoder(): numbers of heads of keys and values and widths of feed-forward may differ by
  // layer. The fields get those of the first layer.
  void differ_by_layer() { differs_by_layer_ = true; }
  // The value of a key for each layer: a list, or one for all. After decoder(). Empty after an
  // error.
  std::vector<int64_t> by_layer(const char* name);
  // Before decoder(): layers with 0 heads of keys and values are of the type `recurrent`, the
  // others "full_attention"; a file may also say that all are.
  void layers_by_kv_heads(const char* recurrent);
  // Before decoder(): heads share a latent. A file says the sizes of heads as they are computed,
  // or, as older ones do, as they would be without a latent.
  void latent_heads() { latent_ = true; }
  // After decoder(): blocks that predict further tokens stand behind the layers, and count as such.
  // Returns how many.
  int64_t multi_token_blocks();
  // A sliding window of every layer, or none.
  void window();
  void no_window();
  // A window of the layers that sliding_window_pattern names, by a list or as all but every n-th;
  // `interval`: n where the file does not say it. After decoder().
  void layer_windows(int64_t interval);
  // Sets whether queries have a bias, in any layer; only the tensors say so.
  void attention_bias();

  // True if any layer has a tensor whose name ends so.
  bool has_tensor(std::string_view ending) const;

  const Family& family() const { return family_; }
  GgufFields& fields() { return fields_; }
  Json& config() { return config_; }

  // A field that is the value of a key, which must be there, or that is another field.
  void integer(const char* name, const char* field);
  void same(const char* field, const char* other);

 private:
  bool copy_first(const char* name, const char* field);
  void kv_heads();
  void heads();
  void sizes_of_latent();
  void rotated_channels(int64_t head_dim);
  void embeddings();
  void special_tokens();

  const Family& family_;
  GgufFields fields_;
  Json config_;
  std::vector<std::string_view> offers_;
  bool latent_ = false;
  const char* recurrent_ = nullptr;  // type of layers without heads of keys and values
  bool differs_by_layer_ = false;
  int64_t rotary_dim_ = 0;  // channels of a head that rotate
};

}  // namespace pando::model
