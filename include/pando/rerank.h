// Relevance of documents to a query.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/engine.h"

namespace pando {

// Options of how a pair of query and document is asked about. The defaults are the form of
// Qwen3-Reranker.
struct RerankOptions {
  // Describes what makes a document relevant. Absent: as the model's files say, or
  // default_instruction().
  std::optional<std::string> instruction;
  // The prompt, with {instruction}, {query} and {document} replaced. The text before the first
  // field that changes is computed once: the query for all its documents or, if {document} comes
  // first, a document for all queries.
  std::string prompt_template = default_prompt_template();
  // The answers, appended to the prompt verbatim. Absent: as the model's files say, or "yes" and
  // "no".
  std::optional<std::string> yes, no;
  // rerank_options_for sets it from the model's files. A longer prompt is cut before rerank_end(),
  // in tokens. 0: no limit.
  int max_tokens = 0;

  // "Given a web search query, retrieve relevant passages that answer the query"
  static std::string default_instruction();
  static std::string default_prompt_template();
};

// Fills absent options from the model's files: modules.json with a LogitScore, and the files it
// names. Errors: kUnsupported if the files ask for a feature that Pando lacks, and kBadFile.
Result<RerankOptions> rerank_options_for(const Model& model, RerankOptions options);

// The prompt of one pair. A template without {query} or {document} asks the same of all.
std::string rerank_prompt(const RerankOptions& options, std::string_view query,
                          std::string_view document);

// The part of the template after its last field.
std::string_view rerank_end(const RerankOptions& options);
// Cuts the prompts of requests to max_tokens, before their ending `end`, as sentence-transformers
// does. The requests score answers to their prompts. Errors: as Model::encode.
Status fit_pair(const Model& model, int max_tokens, std::string_view end,
                std::vector<Request>& requests);

// The requests of one pair, joined: they score `yes` and `no` behind its prompt. Errors: as
// check_rerank_options and continuation_requests; kInvalidArgument if both have the same tokens.
Result<std::vector<Request>> rerank_requests(const Model& model, const RerankOptions& options,
                                             std::string_view query, std::string_view document);

// kInvalidArgument for a template without {query} or {document}.
Status check_rerank_options(const RerankOptions& options);

// p(yes) / (p(yes) + p(no)), from ln p of both.
double share_of_yes(double yes, double no);
// p(yes) + p(no), from ln p of both. It is small where the model would answer something else. It is
// also smaller where the tokenizer divides the end of the prompt differently before an answer:
// those tokens then count as part of the answer.
double mass_of_answers(double yes, double no);
struct PairScore {
  double relevance;  // share_of_yes
  double mass;       // mass_of_answers
};
// The score of each pair, from the completions of all their requests in order.
std::vector<PairScore> pair_scores(std::span<const std::vector<Completion>> completions);

// The relevance of each document, computed together. A document alone gets the same value, to the
// bit. Any thread. Errors: as rerank_requests and Engine::complete_all.
Result<std::vector<double>> rerank(Engine& engine, const std::string& query,
                                   const std::vector<std::string>& documents,
                                   const RerankOptions& options = {});

// Indices of the scores, the highest first, the first among equals.
std::vector<size_t> ranking(std::span<const double> scores);

}  // namespace pando
