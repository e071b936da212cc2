// Lines of the other tasks: embeddings, rankings, scores.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "batch/input_line.h"

namespace pando {

// The forms are those of BatchTask. kInvalidArgument names field, found and expected.
Result<BatchLine> read_embed_line(const nlohmann::json& json, uint64_t line_number,
                                  EmbedOptions embed, const AnswerOptions& defaults);
Result<BatchLine> read_rerank_line(const nlohmann::json& json, uint64_t line_number,
                                   const BatchOptions& options);
// Each document has a name of its own, its id or else its index, and all names are those of a TREC
// run. kInvalidArgument.
Status check_trec_ids(const BatchLine& line);
Result<BatchLine> read_score_line(const nlohmann::json& json, uint64_t line_number,
                                  const BatchOptions& options);

// The output lines, without their ends.
std::string embed_output(const BatchLine& line, const Completion& answer,
                         const EmbedOptions& options);
// `answers`: one for each document, the likelier of yes and no.
std::string rerank_output(const BatchLine& line,
                          const std::vector<std::vector<Completion>>& answers, int top);
// p(yes) + p(no), of ln p of both.
double mass_of_answers(const std::vector<double>& logprobs);
// `completions`: of its requests.
std::string score_output(const BatchLine& line,
                         const std::vector<std::vector<Completion>>& completions);

}  // namespace pando
