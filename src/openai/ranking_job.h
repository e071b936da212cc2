// What jobs have in common that generate nothing: rankings and scores.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "openai/job.h"
#include "pando/rerank.h"

namespace pando::openai {

// Fields that their bodies have in common; "model" and "user" are read elsewhere, or by nobody.
struct RankingFields {
  bool with_sharing = false, cached = true;
};
RankingFields read_ranking(Fields& fields);
// Everything else in the body but `own` is a mistake.
void refuse_other_fields(Fields& fields, std::span<const std::string_view> own);

class RankingJob : public Job {
 public:
  RankingJob(const JobContext& context, const RankingFields& fields);

 protected:
  // Tokens of the prompts; `n_alike` in a row of what was asked have one prompt.
  uint64_t n_prompt_tokens(const Completions& completions, size_t n_alike) const;
  void add_usage(nlohmann::ordered_json& body, const Completions& completions,
                 size_t n_alike) const;

  Envelope envelope_;

 private:
  bool with_sharing_;
};

// A yes and a no for each pair of texts.
class PairsJob : public RankingJob {
 public:
  using RankingJob::RankingJob;

  // kUnavailable where it is given up; errors as rerank_requests.
  Status add(const JobContext& context, const RerankOptions& options, std::string_view query,
             std::string_view document);

 protected:
  enum class Text { kInstruction, kQuery, kDocument };
  Text longest(size_t request) const { return longest_[pair_of_[request]]; }
  size_t pair_of(size_t request) const { return pair_of_[request]; }
  size_t n_pairs() const { return longest_.size(); }

 private:
  std::vector<Text> longest_;    // [pairs]
  std::vector<size_t> pair_of_;  // [requests]
};

// Of a list each of whose texts asks `n_each` requests at most; the first that has too many.
Status check_count(const char* name, size_t n, size_t n_each);
Status check_pairs(const std::string& query, const std::vector<std::string>& documents,
                   const RerankOptions& options, Bounds& bounds);

}  // namespace pando::openai
