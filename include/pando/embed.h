// Embeddings of texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/engine.h"

namespace pando {

// How a text becomes a vector.
struct EmbedOptions {
  Pooling pooling = Pooling::kLast;  // which hidden states; kNone is not one
  bool normalise = true;             // scaled to length 1
  int dimensions = 0;                // so many of the first values, before scaling; 0: all
  // Models are trained with an instruction for queries and with none for documents.
  std::string instruction;
  // {instruction} and {text} are replaced; what stands before {text} is computed once. A template
  // with {instruction} in it is for texts that have one, and others are taken as they are; one
  // without it is for every text.
  std::string prompt_template = default_prompt_template();

  // "Instruct: {instruction}\nQuery:{text}", the form of Qwen3-Embedding.
  static std::string default_prompt_template();
};

// What an engine is asked for one text; without an id.
Request embed_request(const EmbedOptions& options, std::string_view text);

// The vector, [dimensions] or [d_model], of the completion of such a request. Lengths are of sums
// in double precision, in the order of the values; a vector of zeros stays one.
std::vector<float> embedding_of(const Completion& completion, const EmbedOptions& options);

// kInvalidArgument for options that the model cannot follow.
Status check_embed_options(const EmbedOptions& options, int d_model);

// The vectors of all texts, computed together; what they begin with alike is computed once. A
// text's vector does not depend on the others, to the bit. Any thread. Errors: as
// check_embed_options and Engine::complete_all.
Result<std::vector<std::vector<float>>> embed(Engine& engine, const std::vector<std::string>& texts,
                                              const EmbedOptions& options = {});

}  // namespace pando
