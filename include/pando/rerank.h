// How relevant documents are to a query.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/engine.h"

namespace pando {

// How a pair is asked about. The defaults are the form of Qwen3-Reranker.
struct RerankOptions {
  std::string instruction = default_instruction();
  // The prompt, with {instruction}, {query} and {document} replaced. What stands before the first
  // of these that changes is computed once: the query for all its documents, or, where {document}
  // comes first, a document for all queries.
  std::string prompt_template = default_prompt_template();
  std::string yes = "yes", no = "no";  // the answers, behind the prompt as they are

  // "Given a web search query, retrieve relevant passages that answer the query"
  static std::string default_instruction();
  static std::string default_prompt_template();
};

// The prompt of one pair. A template without {query} or {document} asks the same of all.
std::string rerank_prompt(const RerankOptions& options, std::string_view query,
                          std::string_view document);

// The requests of one pair, joined: how likely `yes` is behind its prompt, and `no`. Errors: as
// check_rerank_options and continuation_requests; kInvalidArgument where both have the same tokens.
Result<std::vector<Request>> rerank_requests(const Model& model, const RerankOptions& options,
                                             std::string_view query, std::string_view document);

// kInvalidArgument for a template without {query} or {document}.
Status check_rerank_options(const RerankOptions& options);

// p(yes) / (p(yes) + p(no)), from ln p of both.
double share_of_yes(double yes, double no);
// That of each pair, from the completions of all their requests in order.
std::vector<double> relevances(std::span<const std::vector<Completion>> completions);

// The relevance of each document, computed together. One that is alone has the same, to the bit.
// Any thread. Errors: as rerank_requests and Engine::complete_all.
Result<std::vector<double>> rerank(Engine& engine, const std::string& query,
                                   const std::vector<std::string>& documents,
                                   const RerankOptions& options = {});

// Indices of the scores, the highest first, the first among equals.
std::vector<size_t> ranking(std::span<const double> scores);

}  // namespace pando
