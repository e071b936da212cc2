// Relevance of documents to a query.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/classify.h"
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
  // Belongs to a model with a classifier of one label, which scores pairs of query and document:
  // set by rerank_options_for. `yes` and `no` are then not used. With a prompt_template of its own
  // a pair is one text, otherwise two, as the tokenizer joins them.
  std::optional<ClassifyOptions> classifier = std::nullopt;

  // "Given a web search query, retrieve relevant passages that answer the query"
  static std::string default_instruction();
  static std::string default_prompt_template();
};

// Fills absent options from the model's files: the head of a classifier, or modules.json with a
// LogitScore, and the files it names. Errors: kUnsupported if the files ask for a feature that
// Pando lacks, or for a classifier of other than one label, and kBadFile; kInvalidArgument for an
// instruction that no prompt_template has a place for.
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

// The requests of one pair, joined: they score `yes` and `no` behind its prompt, or give what the
// classifier reads. Errors: as check_rerank_options, continuation_requests and classify_request;
// kInvalidArgument if both answers have the same tokens.
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
  double relevance;            // share_of_yes, or the classifier's score
  std::optional<double> mass;  // mass_of_answers; nothing with a classifier
  double logit;                // ln(p / (1 - p)) of share_of_yes, or the classifier's logit
};
PairScore pair_score(double yes, double no);
// Returns the same from the completion of a pair's request, with a classifier.
PairScore pair_score(const ClassifyOptions& classifier, const Completion& completion);
// The score of each pair, from the completions of all their requests in order.
std::vector<PairScore> pair_scores(const RerankOptions& options,
                                   std::span<const std::vector<Completion>> completions);
// Number of requests of a pair before they are joined.
constexpr size_t requests_of_pair(const RerankOptions& options) {
  return options.classifier ? 1 : 2;
}
// The texts of a pair for the classifier: both, or one made by the template.
struct PairTexts {
  std::string first;
  std::optional<std::string> second;
};
PairTexts pair_texts(const RerankOptions& options, std::string_view query,
                     std::string_view document);

// The relevance of each document, computed together. A document alone gets the same value, to the
// bit. Any thread. Errors: as rerank_requests and Engine::complete_all.
Result<std::vector<double>> rerank(Engine& engine, const std::string& query,
                                   const std::vector<std::string>& documents,
                                   const RerankOptions& options = {});

// Indices of the scores, the highest first, the first among equals.
std::vector<size_t> ranking(std::span<const double> scores);

}  // namespace pando
