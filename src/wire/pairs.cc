#include "wire/pairs.h"

#include <algorithm>

#include "base/errors.h"

namespace pando::wire {

Question pair_question(const RerankOptions& options, std::string_view query,
                       std::string_view document) {
  Question question;
  question.request.prompt = rerank_prompt(options, query, document);
  question.choices = {options.yes, options.no};
  question.as_given = true;
  question.choices_differ = true;
  return question;
}

Status PairsBody::add_pair(const BodyContext& context, const RerankOptions& options,
                           std::string_view query, std::string_view document) {
  const size_t n_longer = std::max(query.size(), document.size());
  const bool is_given = options.instruction != RerankOptions::default_instruction();
  Text blamed = query.size() > document.size() ? Text::kQuery : Text::kDocument;
  if (is_given && options.instruction.size() > n_longer) blamed = Text::kInstruction;
  longest_.push_back(blamed);
  return add_question(context, pair_question(options, query, document));
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

}  // namespace pando::wire
