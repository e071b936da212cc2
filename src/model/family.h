// What is particular to one family of models. A family is one file of families/, and one line each
// in families/list.h and list.cc. Nothing outside that folder asks which family a model belongs to.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace pando {
class Fields;
class GgufFile;
}  // namespace pando

namespace pando::model {

class GgufTranslator;
struct ModelConfig;
struct NamedShape;
struct WeightSpec;

struct Family {
  const char* name;          // model_type of config.json
  const char* architecture;  // its class in the transformers library
  // general.architecture; families may share one. Null: there are no GGUF files of the family.
  const char* gguf_architecture = nullptr;
  // What some files have instead, as general.architecture and as the prefix of their keys. Null: no
  // file has another.
  const char* other_gguf_architecture = nullptr;
  // What older files call the class. Null: the same.
  const char* older_architecture = nullptr;

  // model_type of a config.json that has this family's as its `text_config`, beside other parts
  // that answer no text; where several families have it, the part's own model_type says which, and
  // without one it is the first. Null: none.
  const char* wrapper = nullptr;
  // Fields of config.json and keys of GGUF files, below the architecture, that `read` and
  // `translate` read and other families refuse (unoffered.h).
  std::span<const std::string_view> offers = {};

  // JSON: fields of config.json with the values that the library takes where they are absent. Null:
  // none.
  const char* absent = nullptr;

  // Sets what no file says: norms of queries and keys, biases that are always there. Null: nothing.
  void (*fix)(ModelConfig& config) = nullptr;
  // Reads the fields of a config.json; `fields` keeps the first error.
  void (*read)(Fields& fields, ModelConfig& config);
  // Writes the fields that only some families have, so that `read` gives the same again. Null:
  // none.
  void (*write)(const ModelConfig& config, nlohmann::ordered_json& object) = nullptr;

  // Whether a GGUF file of the architecture belongs to this family, and not to another one that
  // shares the architecture. Null: always.
  bool (*owns)(const GgufFile& gguf) = nullptr;
  // Translates the metadata of a GGUF file into the fields of a config.json, which `read` reads.
  // Null: there are no such files.
  void (*translate)(GgufTranslator& gguf) = nullptr;

  // The tensors of one layer, in the order of the forward pass.
  std::vector<WeightSpec> (*layer_weights)(const ModelConfig& config, int layer);
  // The name of the table of embeddings in checkpoints.
  const char* embedding = "model.embed_tokens.weight";
  // Changes what is particular to the last norm. Null: nothing.
  void (*last_norm)(WeightSpec& spec) = nullptr;
  // The part of a checkpoint that a tensor belongs to, "vision tower", where the answers to texts
  // do not need it; empty for all others. Null: there are none.
  std::string_view (*passed_over)(const ModelConfig& config, std::string_view tensor) = nullptr;
  // Models that can be made with random weights: published ones, and a tiny one "tiny-<family>".
  std::vector<NamedShape> (*shapes)();
};

// All families, in the order in which messages name them.
std::span<const Family* const> families();
// The family of this name; null where there is none.
const Family* find_family(std::string_view name);

}  // namespace pando::model
