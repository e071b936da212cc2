// Answers that are one of given texts: the likeliest.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/model.h"
#include "pando/values/request.h"

namespace pando {

// kInvalidArgument for an empty choice, and for options that a question with choices cannot have.
Status check_choices(const Request& question, std::span<const std::string> choices);

// Scoring requests of all choices behind the question's prompt, joined. Errors: as check_choices
// and continuation_requests.
Result<std::vector<Request>> choice_requests(const Model& model, const Request& question,
                                             const std::vector<std::string>& choices);

// The index of the largest ln p, and of the largest for each byte or character of its choice
// without the white space that it begins with (for each character: lm-eval's acc_norm); the first
// among equals.
size_t likeliest(std::span<const double> logprobs);
enum class Per { kByte, kCharacter };
size_t likeliest_per(Per unit, std::span<const std::string> choices,
                     std::span<const double> logprobs);

// The answer, from the completions of these requests in order; the first one among equals.
Completion likeliest_choice(const std::vector<std::string>& choices,
                            std::span<const std::vector<Completion>> completions);

}  // namespace pando
