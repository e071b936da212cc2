// The options by which a command says how questions are asked and answers generated.
#pragma once

#include <CLI/CLI.hpp>

#include "pando/answer.h"
#include "pando/values/request_options.h"

namespace pando::cli {

// The name of an option on the command line, without its first two dashes.
std::string dashed(const RequestOption& option);

// How a question becomes a prompt.
void add_prompt_options(CLI::App& app, AnswerOptions& options);
// These, sampling, and what is reported.
void add_answer_options(CLI::App& app, AnswerOptions& options, uint64_t& seed);

}  // namespace pando::cli
