// Cost of a batch before it is run, and the text that its prompts share.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "pando/batch.h"

namespace pando {

struct Inspection {
  uint64_t lines = 0;
  uint64_t bad_lines = 0;  // that cannot be read
  uint64_t prompts = 0;    // that can be asked, or could with more memory
  uint64_t too_long = 0;   // prompts that do not fit: the context, or the memory
  uint64_t no_room = 0;    // of these, for lack of memory: the engine's kv_memory
  uint64_t room = 0;       // tokens that memory has for a prompt and its answer; 0: for all
  // Bytes that are enough for all prompts of no_room; 0: there are none, or no size is enough.
  uint64_t kv_memory_needed = 0;
  uint64_t refused = 0;          // others that the engine would refuse
  uint64_t repeated_ids = 0;     // OpenAI lines with the custom_id of one before
  uint64_t equal_ids = 0;        // other lines with an answer that has the ids of an earlier answer
  std::string equal_id;          // of the first such line: "a", or "a/q" with the question's id
  uint64_t prompt_tokens = 0;    // of all prompts
  uint64_t distinct_tokens = 0;  // of them, tokens to compute if shared text is computed once
  uint64_t longest_prompt = 0;   // tokens
  uint64_t longest_path = 0;     // tokens of a prompt and its answer
  uint64_t answer_tokens = 0;    // generated at most
  uint64_t kv_bytes = 0;         // of one token's keys and values
  uint64_t answers = 0;          // to be given
  double flops_per_token = 0;    // of matrix products, about: 2 for each weight
  // Attention: positions that each token sees, summed over tokens, mean over layers: for all
  // prompts, for the distinct tokens alone, and for answers of full length.
  double prompt_keys = 0, distinct_keys = 0, answer_keys = 0;
  double flops_per_key = 0;  // of one token that sees one position, in all layers

  // A position at which prompts that are equal up to it diverge.
  struct Stop {
    uint64_t prompts = 0;            // that reach it
    uint64_t ways = 0;               // distinct continuations
    uint64_t shared_tokens = 0;      // before it
    uint64_t tokens_behind = 0;      // distinct tokens
    std::string before;              // end of the text that they share
    std::vector<std::string> after;  // beginnings of some continuations
  };
  // The stops with the most tokens behind them, at most five; none where less than 16 are shared.
  std::vector<Stop> stops;

  // Passages: text between empty lines in contexts.
  uint64_t repeated_passages = 0;  // that stand in more than one context
  // Distinct tokens, about, if all contexts had their passages in one order, the most frequent
  // first.
  uint64_t reordered_tokens = 0;
};

// Longest prompt and answer together, in tokens, of an engine with these options: its context, or
// fewer if kv_memory holds fewer. Opens nothing. Errors: as Engine::open.
Result<size_t> longest_sequence(const Model& model, const EngineOptions& options);

// The least kv_memory, in bytes, with which longest_sequence is at least n_tokens. 0: none is
// enough. Errors: as longest_sequence.
Result<size_t> kv_memory_for(const Model& model, const EngineOptions& options, size_t n_tokens);

// Reads all of `input` and renders and encodes every prompt, as run_batch would; computes nothing.
// The fields `context`, `kv_type`, `sharing` and `kv_memory` of `engine` count; a kv_memory of 0
// has room for all. Memory grows with the distinct tokens: a little more than 4 bytes each. Errors:
// as run_batch for its input, and as Engine::open for options that cannot work.
Result<Inspection> inspect_batch(const Model& model, const EngineOptions& engine,
                                 std::istream& input, const BatchOptions& options);

}  // namespace pando
