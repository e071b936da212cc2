#include "openai/ranking_job.h"

#include <algorithm>
#include <iterator>

#include "base/errors.h"
#include "openai/errors.h"

namespace pando::openai {

using OrderedJson = nlohmann::ordered_json;

RankingFields read_ranking(Fields& fields) {
  RankingFields read;
  fields.flag("sharing", read.with_sharing);
  fields.flag("cache_prompt", read.cached);
  fields.flag("cache", read.cached);
  int priority = 0;  // has no effect
  fields.integer("priority", priority);
  return read;
}

void refuse_other_fields(Fields& fields, std::span<const std::string_view> own) {
  std::vector<std::string_view> known = {"model", "user",         "sharing",
                                         "cache", "cache_prompt", "priority"};
  known.insert(known.end(), own.begin(), own.end());
  fields.only(known);
}

RankingJob::RankingJob(const JobContext& context, const RankingFields& fields)
    : envelope_(context.envelope), with_sharing_(fields.with_sharing) {
  cached = fields.cached;
}

uint64_t RankingJob::n_prompt_tokens(const Completions& completions, size_t n_alike) const {
  uint64_t n_tokens = 0;
  size_t n_asked = 0;
  for (const std::vector<Completion>& completion : completions)
    for (size_t i = 0; i <= completion[0].alternatives.size(); ++i)
      if (n_asked++ % n_alike == 0) n_tokens += static_cast<uint64_t>(completion[0].prompt_tokens);
  return n_tokens;
}

void RankingJob::add_usage(OrderedJson& body, const Completions& completions,
                           size_t n_alike) const {
  const uint64_t n_tokens = n_prompt_tokens(completions, n_alike);
  body["usage"] = {{"prompt_tokens", n_tokens}, {"total_tokens", n_tokens}};
  if (with_sharing_) body["sharing"] = sharing(completions);
}

Status PairsJob::add(const JobContext& context, const RerankOptions& options,
                     std::string_view query, std::string_view document) {
  if (context.given_up()) return given_up();
  auto of_pair = rerank_requests(context.model, options, query, document);
  if (!of_pair) return of_pair.error();
  pair_of_.insert(pair_of_.end(), of_pair->size(), longest_.size());
  std::move(of_pair->begin(), of_pair->end(), std::back_inserter(requests));
  const size_t n_longer = std::max(query.size(), document.size());
  const bool is_given = options.instruction != RerankOptions::default_instruction();
  Text blamed = query.size() > document.size() ? Text::kQuery : Text::kDocument;
  if (is_given && options.instruction.size() > n_longer) blamed = Text::kInstruction;
  longest_.push_back(blamed);
  return {};
}

Status check_count(const char* name, size_t n, size_t n_each) {
  const size_t most = Bounds::kMostRequests / n_each;
  if (n <= most) return {};
  return invalid_field(name, "has {} texts, expected at most {}", n, most);
}

Status check_pairs(const std::string& query, const std::vector<std::string>& documents,
                   const RerankOptions& options, Bounds& bounds) {
  for (const std::string& document : documents)
    if (Status status = bounds.add(2, options.instruction.size() + query.size() + document.size());
        !status)
      return status;
  return {};
}

}  // namespace pando::openai
