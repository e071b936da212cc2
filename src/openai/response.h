// Whole answers of the OpenAI API, and the parts that its streams share with them.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "openai/body.h"
#include "pando/model.h"

namespace pando::openai {

// [requests][n]
using Completions = std::vector<std::vector<Completion>>;

// What every answer, and every chunk of a stream, says of itself.
struct Envelope {
  std::string id;       // without its kind
  int64_t created = 0;  // seconds since 1970
  std::string model;
  std::string warning;  // SharingInfo::warning of the engine that answers
};

nlohmann::ordered_json head(const AnswerForm& form, const Envelope& envelope, bool chunk);
// {"prompt_tokens", "completion_tokens", "total_tokens"}
nlohmann::ordered_json usage_of(uint64_t n_prompt, uint64_t n_generated);
// The same of answers; a prompt counts once for all its n. With
// `cached`, how much of the prompts came from the cache or was computed for others too.
nlohmann::ordered_json usage(const Completions& completions, bool cached);
// {"prompt_tokens", "computed", "reused"}; a prompt counts for each of its n.
nlohmann::ordered_json sharing(const Completions& completions);
// "stop" or "length": they know no other.
const char* finish_reason(const Completion& completion);
// The prompt as it is repeated, and its tokens as the engine saw them.
std::string prompt_text(const Request& request, const Model& model);
std::vector<Token> prompt_tokens(const Request& request, const Model& model);

// The body of an answer. `requests` are those of `completions`. Without `cached` no token of it
// depends on what was asked before.
nlohmann::ordered_json response_body(const AnswerForm& form, const Envelope& envelope,
                                     std::span<const Request> requests,
                                     const Completions& completions, const Model& model,
                                     bool cached);

}  // namespace pando::openai
