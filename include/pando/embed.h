// Embeddings of texts.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/engine.h"

namespace pando::model {
struct VectorSteps;
}

namespace pando {

// A text becomes one of these.
enum class EmbedOutput {
  kVector,   // one vector of the pooled hidden states
  kTokens,   // a vector for each token, for late interaction (ColBERT)
  kWeights,  // a weight for each different token, for sparse retrieval (bge-m3)
};

// Options of how a text becomes a vector.
struct EmbedOptions {
  EmbedOutput output = EmbedOutput::kVector;
  // Hidden states that make the vector. kNone: as the model's files say, or else the last token's,
  // or the mean in models whose rows see both ways. Another value leaves out the files' `joined`.
  Pooling pooling = Pooling::kNone;
  std::optional<bool>
      normalise;  // scaled to length 1; absent: as the model's files say, or else so
  // Number of first values to keep, before scaling. 0: as the model's files say, or else all.
  int dimensions = 0;
  // Text before each text without an instruction. Absent: as the model's files say, or none.
  std::optional<std::string> prompt;
  // Name of the prompt in the model's files that is put before each text without an instruction:
  // "query", "document" or another. Empty: `prompt`.
  std::string input_type = {};
  // embed_options_for sets the following from the model's files.
  std::map<std::string, std::string> prompts = {};  // by name
  bool include_prompt = true;                       // the prompt's tokens are pooled too
  bool scaled_first = false;  // vectors are scaled, and then cut to `dimensions`
  // Poolings whose vectors are joined in this order; `pooling` is then kRows.
  std::vector<Pooling> joined = {};
  // Steps of the model's files on the pooled vector, before it is scaled; null: none.
  std::shared_ptr<const model::VectorSteps> steps = nullptr;
  // Steps on the hidden state of each token for kTokens and kWeights; null: none.
  std::shared_ptr<const model::VectorSteps> token_steps = nullptr, weight_steps = nullptr;
  int row_length = 0;  // of hidden states
  int length = 0;      // of vectors, before `dimensions`; 0: not known
  // Longer texts are cut at their end or beginning. The limit counts the prompt, and the tokens
  // that the tokenizer puts around a text, which stay. 0: no limit. Token ids are never cut.
  int max_tokens = 0;
  bool cut_at_end = true;
  // Models are trained with an instruction for queries and with none for documents.
  std::string instruction;
  // {instruction} and {text} are replaced; the part before {text} is computed once. A template with
  // {instruction} applies only to texts that have one; other texts are taken verbatim. A template
  // without it applies to every text.
  std::string prompt_template = default_prompt_template();

  // "Instruct: {instruction}\nQuery:{text}", the form of Qwen3-Embedding.
  static std::string default_prompt_template();
};

// Fills in unset options from the model's files: modules.json and the files that it names,
// sentence_bert_config.json, or the key pooling_type of a GGUF file. Errors: kUnsupported if these
// ask for something that Pando lacks; kInvalidArgument for options that the model cannot follow,
// such as an input type without a prompt.
Result<EmbedOptions> embed_options_for(const Model& model, EmbedOptions options);

// Name of the pooling, as in kPoolingNames; of joined ones "cls+mean". Empty if it is not settled.
std::string pooling_name(const EmbedOptions& options);

// The prompt for a type of texts, from `prompts`; null if there is none. Also by the names that
// others have for it: "search_query" for "query", "passage" for "document" and back.
const std::string* prompt_for(const EmbedOptions& options, const std::string& input_type);
// `prompt` becomes that for the type. kInvalidArgument names those that there are.
Status take_prompt_for(const std::string& input_type, EmbedOptions& options);

// The request for one text; without an id.
Request embed_request(const EmbedOptions& options, std::string_view text);

// The vector, [dimensions] or [length], from the completion of such a request. Its norm is a sum
// in double precision, in the order of the values; a vector of zeros stays one.
std::vector<float> embedding_of(const Completion& completion, const EmbedOptions& options);

// With kTokens the vectors of the tokens, [tokens][length], special ones included. If the model's
// files have steps for them, without the first token.
std::vector<std::vector<float>> token_vectors_of(const Completion& completion,
                                                 const EmbedOptions& options);
// With kWeights the weights of the tokens of a request that have one above 0, by id. Of equal
// tokens the highest counts. Special tokens have none. Errors: as Model::encode.
Result<std::map<Token, float>> token_weights_of(const Completion& completion,
                                                const EmbedOptions& options, const Model& model,
                                                const Request& request);

// kInvalidArgument for options that no model with vectors of this length can follow.
Status check_embed_options(const EmbedOptions& options, int n_values);

// The vectors of all texts, computed together; shared beginnings are computed once. A text's vector
// does not depend on the others, to the bit. Any thread. Errors: as embed_options_for and
// Engine::complete_all.
Result<std::vector<std::vector<float>>> embed(Engine& engine, const std::vector<std::string>& texts,
                                              const EmbedOptions& options = {});

}  // namespace pando
