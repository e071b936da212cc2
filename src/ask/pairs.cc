#include "ask/pairs.h"

#include <algorithm>

#include "base/errors.h"

namespace pando::ask {

Question pair_question(const RerankOptions& options, std::string_view query,
                       std::string_view document) {
  Question question;
  if (options.classifier) {
    PairTexts texts = pair_texts(options, query, document);
    question.classified = {*options.classifier, std::move(texts.first), std::move(texts.second)};
    question.request.pooling = Pooling::kLast;  // no answer is drawn
    return question;
  }
  question.request.prompt = rerank_prompt(options, query, document);
  question.choices = {options.yes.value_or("yes"), options.no.value_or("no")};
  question.as_given = true;
  question.choices_differ = true;
  question.most_tokens = options.max_tokens;
  question.kept_end = rerank_end(options);
  return question;
}

Status PairsBody::add_pair(const BodyContext& context, const RerankOptions& options,
                           std::string_view query, std::string_view document) {
  const size_t n_longer = std::max(query.size(), document.size());
  const size_t n_instruction = has_instruction ? options.instruction.value_or("").size() : 0;
  Text blamed = query.size() > document.size() ? Text::kQuery : Text::kDocument;
  if (n_instruction > n_longer) blamed = Text::kInstruction;
  longest_.push_back(blamed);
  return add_question(context, pair_question(options, query, document));
}

Result<RerankOptions> read_rerank_options(Fields& fields, const Model& model,
                                          bool& has_instruction) {
  RerankOptions options;
  std::string instruction;
  fields.text("instruction", instruction);
  has_instruction = fields.has("instruction");
  if (has_instruction) options.instruction = std::move(instruction);
  return rerank_options_for(model, std::move(options));
}

Status check_count(const char* name, size_t n, size_t n_each) {
  const size_t most = Bounds::kMostRequests / n_each;
  if (n <= most) return {};
  return invalid_field(name, "has {} texts, expected at most {}", n, most);
}

Status check_pairs(const std::string& query, const std::vector<std::string>& documents,
                   const RerankOptions& options, Bounds& bounds) {
  const size_t n_instruction = options.instruction.value_or("").size();
  for (const std::string& document : documents)
    if (Status status =
            bounds.add(requests_of_pair(options), n_instruction + query.size() + document.size());
        !status)
      return status;
  return {};
}

}  // namespace pando::ask
