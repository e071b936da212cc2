#include "pando/rerank.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "api/model_access.h"
#include "base/errors.h"
#include "pando/score.h"
#include "task/cut_text.h"
#include "task/fill_in.h"

namespace pando {
namespace {

constexpr std::string_view kRerankTemplateFields[] = {"{instruction}", "{query}", "{document}"};

std::string yes_of(const RerankOptions& options) { return options.yes.value_or("yes"); }
std::string no_of(const RerankOptions& options) { return options.no.value_or("no"); }

}  // namespace

std::string RerankOptions::default_instruction() {
  return "Given a web search query, retrieve relevant passages that answer the query";
}

std::string RerankOptions::default_prompt_template() {
  return "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query "
         "and the Instruct provided. Note that the answer can only be \"yes\" or \"no\"."
         "<|im_end|>\n<|im_start|>user\n<Instruct>: {instruction}\n<Query>: {query}\n"
         "<Document>: {document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
}

namespace {

// Takes the classifier of the model, if it has one.
Status take_classifier(const Model& model, RerankOptions& options) {
  const Result<std::optional<model::ClassifierHead>>& head = classifier_head_of(model);
  if (!head) return head.error();
  if (!*head) return {};
  if ((*head)->of_tokens || (*head)->labels.size() != 1)
    return unsupported("the model's classifier has {} labels of {}, expected one label of texts",
                       (*head)->labels.size(), (*head)->of_tokens ? "tokens" : "texts");
  Result<ClassifyOptions> classifier = classify_options_for(model, {});
  if (!classifier) return classifier.error();
  options.classifier = std::move(*classifier);
  const bool has_place = options.prompt_template.find("{instruction}") != std::string::npos &&
                         options.prompt_template != RerankOptions::default_prompt_template();
  if (options.instruction && !has_place)
    return blame("instruction",
                 invalid_argument("the model's classifier takes pairs without an instruction, "
                                  "expected a template with {{instruction}} in it"));
  return {};
}

}  // namespace

PairTexts pair_texts(const RerankOptions& options, std::string_view query,
                     std::string_view document) {
  if (options.prompt_template == RerankOptions::default_prompt_template())
    return {std::string(query), std::string(document)};
  return {rerank_prompt(options, query, document), std::nullopt};
}

Result<RerankOptions> rerank_options_for(const Model& model, RerankOptions options) {
  if (Status status = take_classifier(model, options); !status) return status.error();
  if (options.classifier) return options;
  const Result<model::RerankForm>& form = rerank_form_of(model);
  const bool is_open = !options.instruction || !options.yes || !options.no;
  if (is_open && !form) return form.error();
  const Tokenizer* tokenizer = tokenizer_of(model);
  const auto settle = [&](std::optional<std::string>& answer, std::optional<Token> token,
                          const char* otherwise) -> Status {
    if (answer) return {};
    answer = otherwise;
    if (!token || tokenizer == nullptr) return {};
    if (*token >= tokenizer->vocab_size())
      return bad_file("the model's files give '{}' the token {}, expected a token below {}",
                      otherwise, *token, tokenizer->vocab_size());
    answer = tokenizer->token_bytes(*token, /*skip_special=*/false);
    return {};
  };
  if (Status status = settle(options.yes, is_open ? form->yes : std::nullopt, "yes"); !status)
    return status.error();
  if (Status status = settle(options.no, is_open ? form->no : std::nullopt, "no"); !status)
    return status.error();
  if (form) options.max_tokens = most_tokens(model, form->max_tokens, form->has_modules);
  if (!options.instruction)
    options.instruction =
        form->instruction.empty() ? RerankOptions::default_instruction() : form->instruction;
  return options;
}

std::string rerank_prompt(const RerankOptions& options, std::string_view query,
                          std::string_view document) {
  const std::string instruction =
      options.instruction.value_or(RerankOptions::default_instruction());
  return fill_in(options.prompt_template,
                 {{"{instruction}", instruction}, {"{query}", query}, {"{document}", document}});
}

std::string_view rerank_end(const RerankOptions& options) {
  const std::string_view text = options.prompt_template;
  size_t end = 0;
  for (const std::string_view field : kRerankTemplateFields)
    if (const size_t at = text.rfind(field); at != text.npos)
      end = std::max(end, at + field.size());
  return text.substr(end);
}

Status fit_pair(const Model& model, int max_tokens, std::string_view end,
                std::vector<Request>& requests) {
  if (max_tokens == 0) return {};
  const Result<size_t> n_end = n_tokens(model, std::string(end));
  if (!n_end) return n_end.error();
  for (Request& request : requests) {
    int& n_prompt = *request.prompt_logprobs_from;
    const int n_behind = std::min(static_cast<int>(*n_end), n_prompt - 1);
    const int n_cut = std::min(n_prompt - max_tokens, n_prompt - n_behind - 1);
    if (n_cut <= 0) continue;
    const auto last = request.tokens.begin() + (n_prompt - n_behind);
    request.tokens.erase(last - n_cut, last);
    n_prompt -= n_cut;
    request.cut_tokens = n_cut;
  }
  return {};
}

Status check_rerank_options(const RerankOptions& options) {
  for (const char* field : {"{query}", "{document}"})
    if (Status status = check_field(options.prompt_template, field); !status) return status;
  return {};
}

Result<std::vector<Request>> rerank_requests(const Model& model, const RerankOptions& options,
                                             std::string_view query, std::string_view document) {
  if (Status status = check_rerank_options(options); !status) return status.error();
  if (options.classifier) {
    const PairTexts texts = pair_texts(options, query, document);
    Result<Request> request =
        classify_request(model, *options.classifier, texts.first, texts.second);
    if (!request) return request.error();
    return std::vector{std::move(*request)};
  }
  auto requests = continuation_requests(model, rerank_prompt(options, query, document),
                                        std::vector{yes_of(options), no_of(options)});
  if (!requests) return requests;
  if ((*requests)[0].tokens == (*requests)[1].tokens)
    return invalid_argument(
        "yes is '{}' and no is '{}', which have the same tokens, expected different tokens",
        yes_of(options), no_of(options));
  if (Status status = fit_pair(model, options.max_tokens, rerank_end(options), *requests); !status)
    return status.error();
  return joined(std::move(*requests));
}

double share_of_yes(double yes, double no) { return 1 / (1 + std::exp(no - yes)); }

double mass_of_answers(double yes, double no) { return std::exp(yes) + std::exp(no); }

PairScore pair_score(double yes, double no) {
  return {.relevance = share_of_yes(yes, no), .mass = mass_of_answers(yes, no), .logit = yes - no};
}

PairScore pair_score(const ClassifyOptions& classifier, const Completion& completion) {
  const std::vector<float> logits = label_logits(completion, classifier);
  const bool as_it_is = classifier.head->pair_scale == model::LabelScale::kNone;
  const double p = scaled_logits(logits, LabelScores::kSigmoid)[0];
  return {.relevance = as_it_is ? double{logits[0]} : p, .mass = std::nullopt, .logit = logits[0]};
}

std::vector<PairScore> pair_scores(const RerankOptions& options,
                                   std::span<const std::vector<Completion>> completions) {
  std::vector<PairScore> scores;
  if (options.classifier) {
    for (const std::vector<Completion>& completion : completions)
      scores.push_back(pair_score(*options.classifier, completion[0]));
    return scores;
  }
  const std::vector<Completion> scored = taken_apart(completions);  // yes, no, yes, no
  for (size_t i = 0; i + 1 < scored.size(); i += 2)
    scores.push_back(pair_score(continuation_score(scored[i]).logprob,
                                continuation_score(scored[i + 1]).logprob));
  return scores;
}

Result<std::vector<double>> rerank(Engine& engine, const std::string& query,
                                   const std::vector<std::string>& documents,
                                   const RerankOptions& options) {
  const Result<RerankOptions> all = rerank_options_for(engine.model(), options);
  if (!all) return all.error();
  std::vector<Request> requests;
  for (const std::string& document : documents) {
    auto of_pair = rerank_requests(engine.model(), *all, query, document);
    if (!of_pair) return of_pair.error();
    std::move(of_pair->begin(), of_pair->end(), std::back_inserter(requests));
  }
  const auto completions = engine.complete_all(std::move(requests));
  if (!completions) return completions.error();
  std::vector<double> relevances;
  for (const PairScore& score : pair_scores(*all, *completions))
    relevances.push_back(score.relevance);
  return relevances;
}

std::vector<size_t> ranking(std::span<const double> scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  return order;
}

}  // namespace pando
