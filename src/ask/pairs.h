// Pairs of a query and a document, each a question that yes and no answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ask/body.h"
#include "ask/sampling_fields.h"
#include "base/fields.h"
#include "pando/rerank.h"

namespace pando::ask {

// Its choices are yes and no, behind the prompt as they are; with a classifier it has texts
// instead.
Question pair_question(const RerankOptions& options, std::string_view query,
                       std::string_view document);

// A body whose questions are pairs.
class PairsBody : public Body {
 public:
  using Body::Body;
  bool has_instruction = false;  // of its own

 protected:
  // Errors: as Body::add_question.
  Status add_pair(const BodyContext& context, const RerankOptions& options, std::string_view query,
                  std::string_view document);
  // The longest text of the pair that a request is of, which is to blame where it is too long.
  enum class Text { kInstruction, kQuery, kDocument };
  Text longest(size_t request) const { return longest_[pair_of(request)]; }
  size_t pair_of(size_t request) const { return completions().question_of(request); }

 private:
  std::vector<Text> longest_;  // [pairs]
};

// The model's own options, with the body's "instruction"; `has_instruction`: whether it has one.
Result<RerankOptions> read_rerank_options(Fields& fields, const Model& model,
                                          bool& has_instruction);
// Checks a list each of whose texts asks `n_each` requests at most; names the first with too many.
Status check_count(const char* name, size_t n, size_t n_each);
// Counts what the pairs of a query with all documents ask for.
Status check_pairs(const std::string& query, const std::vector<std::string>& documents,
                   const RerankOptions& options, Bounds& bounds);

}  // namespace pando::ask
