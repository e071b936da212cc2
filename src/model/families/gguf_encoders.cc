// GGUF files of models whose rows see both ways.
#include "base/json.h"
#include "model/families/hooks.h"

namespace pando::model {
namespace {

using json = Json;

constexpr const char *kEps = "attention.layer_norm_epsilon", *kTypes = "type_vocab_size",
                     *kPositions = "max_position_embeddings";

// Rows of a table; 0 if the file has none.
int64_t rows_of(GgufTranslator& gguf, const char* tensor) {
  const GgufTensor* found = gguf.fields().file().find_tensor(tensor);
  return found == nullptr || found->shape.empty() ? 0 : found->shape[0];
}

// Sizes, and the rows of the table of types.
void translate_encoder(GgufTranslator& gguf, const char* eps_name) {
  gguf.decoder(kEps);
  json& config = gguf.config();
  if (!gguf.fields().status()) return;
  gguf.same(eps_name, "rms_norm_eps");
  config.erase("rms_norm_eps");
  config[kTypes] = rows_of(gguf, "token_types.weight");
  gguf.fields().comes_from(kTypes, "the number of rows of 'token_types.weight'");
}

}  // namespace

// Files of RoBERTa and DistilBERT are of this architecture too. They leave out the rows of
// positions before the first one.
void translate_bert(GgufTranslator& gguf) {
  translate_encoder(gguf, "layer_norm_eps");
  json& config = gguf.config();
  config["hidden_act"] = "gelu";
  config[kPositions] = rows_of(gguf, "position_embd.weight");
  gguf.fields().comes_from(kPositions, "the number of rows of 'position_embd.weight'");
}

void translate_nomic_bert(GgufTranslator& gguf) { translate_encoder(gguf, "layer_norm_eps"); }

void translate_modernbert(GgufTranslator& gguf) {
  translate_encoder(gguf, "norm_eps");
  json& config = gguf.config();
  GgufFields& fields = gguf.fields();
  if (!fields.status()) return;
  config.erase(kTypes);
  config.erase("hidden_act");
  config["hidden_activation"] = "gelu";
  constexpr const char *kWindow = "attention.sliding_window", *kTheta = "rope_theta";
  if (!fields.copy_integer(kWindow, "local_attention", config))
    return fields.refuse(kWindow, "a whole number");
  fields.copy_integer("attention.sliding_window_pattern", "global_attn_every_n_layers", config);
  if (config.contains(kTheta)) gguf.same("global_rope_theta", kTheta);
  config.erase(kTheta);
  fields.copy_real(kSlidingBase, "local_rope_theta", config);
}

}  // namespace pando::model
