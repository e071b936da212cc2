#include "pando/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/errors.h"
#include "batch/evaluated_lines.h"
#include "batch/record_scanner.h"
#include "task/estimates.h"
#include "task/metrics.h"
#include "text/matcher.h"

namespace pando {
namespace {

using References = std::vector<std::string>;

Result<std::optional<double>> regex_match(const std::string& answer, const References& references) {
  bool found = false;
  for (const std::string& reference : references) {
    const Result<std::shared_ptr<const Matcher>> matcher = make_oniguruma_matcher(reference);
    if (!matcher) return matcher.error();
    if (Status status = (*matcher)->split(
            answer, [&](std::string_view /*piece*/, bool is_match) { found |= is_match; });
        !status)
      return status.error();
  }
  return std::optional(found ? 1.0 : 0.0);
}

using Score = Result<std::optional<double>> (*)(const std::string&, const References&);

template <auto kScore>
Result<std::optional<double>> always(const std::string& answer, const References& references) {
  return std::optional<double>(kScore(answer, references));
}

// Texts with the same key are the same answer to a vote.
std::string as_given(const std::string& text) { return text; }
std::string as_words(const std::string& text) { return normalize_answer(text); }
std::string as_number(const std::string& text) {
  const std::optional<double> number = last_number(text);
  return number ? fmt::format("{}", *number) : "";
}

struct Metric {
  std::string_view name;
  Score score;
  std::string (*vote_key)(const std::string&);
};
constexpr Metric kMetrics[] = {
    {"exact_match", always<exact_match>, as_words}, {"token_f1", always<token_f1>, as_words},
    {"rouge_l", always<rouge_l>, as_words},         {"accuracy", always<accuracy>, as_given},
    {"number", always<number_match>, as_number},    {"regex", regex_match, as_given}};

const Metric* find_metric(std::string_view name) {
  const auto found = std::ranges::find(kMetrics, name, &Metric::name);
  return found == std::end(kMetrics) ? nullptr : &*found;
}

Status check_options(const EvaluateOptions& options) {
  for (const std::string& name : options.metrics)
    if (find_metric(name) == nullptr)
      return invalid_option("metric", "is '{}', expected {}", name, one_of_these(metric_names()));
  if (options.metrics.empty() && options.score_fields.empty())
    return invalid_argument("there is nothing to score, expected a metric or a field with scores");
  for (const uint64_t k : options.pass_at)
    if (k == 0) return invalid_option("pass_at", "has 0 in it, expected at least 1");
  return {};
}

// Statistics of a metric, in the order in which they are shown; behind them one for each of
// pass_at.
enum Statistic : size_t { kMean, kMajority, kFirstPass };

std::string statistic_name(size_t statistic, const EvaluateOptions& options) {
  if (statistic == kMean) return "mean";
  if (statistic == kMajority) return "majority";
  return fmt::format("pass@{}", options.pass_at[statistic - kFirstPass]);
}

// Means of one metric, over all questions and over those of each group.
class Means {
 public:
  void add(size_t statistic, const EvaluatedQuestion& question, double score) {
    groups_[""][statistic].add(score, question.cluster);
    if (!question.group.empty()) groups_[question.group][statistic].add(score, question.cluster);
  }

  // By their statistics.
  std::map<size_t, MeanOf> of(const std::string& group) const {
    const auto found = groups_.find(group);
    return found == groups_.end() ? std::map<size_t, MeanOf>() : found->second;
  }

 private:
  std::map<std::string, std::map<size_t, MeanOf>> groups_;
};

class Scorer {
 public:
  explicit Scorer(const EvaluateOptions& options)
      : options_(options), means_(options.metrics.size() + options.score_fields.size()) {}

  // Errors: of an expression among the references; the question is left out then.
  Status add(const EvaluatedQuestion& question) {
    const bool lacks_reference = !options_.metrics.empty() && !question.has_references;
    if (lacks_reference) result_.without_reference += question.answers.size();
    std::vector<std::string> texts;
    for (const auto& [choice, parts] : question.answers) texts.push_back(whole_answer(parts));
    std::vector<std::vector<double>> scores(means_.size());
    for (size_t i = 0; i < options_.metrics.size() && !lacks_reference; ++i) {
      Result<std::vector<double>> found =
          scores_of(*find_metric(options_.metrics[i]), texts, question.references);
      if (!found) return of_field(options_.reference, found.error());
      scores[i] = std::move(*found);
    }
    for (size_t i = 0; i < options_.score_fields.size(); ++i)
      for (const auto& [choice, parts] : question.answers)
        scores[options_.metrics.size() + i].push_back(parts.front().of_fields[i]);
    for (size_t i = 0; i < scores.size(); ++i) add(means_[i], question, scores[i], keys(i, texts));
    const auto is_empty = [](const std::vector<double>& of_metric) { return of_metric.empty(); };
    if (std::ranges::all_of(scores, is_empty)) return {};
    ++result_.questions;
    result_.answers += question.answers.size();
    if (!question.group.empty()) groups_.insert(question.group);
    return {};
  }

  Evaluation take() {
    groups_.insert("");
    for (const std::string& group : groups_)
      for (size_t i = 0; i < means_.size(); ++i)
        for (const auto& [statistic, mean] : means_[i].of(group)) {
          const Estimate estimate = mean.estimate();
          result_.scores.push_back({metric_name(i), statistic_name(statistic, options_), group,
                                    estimate.n, estimate.mean, estimate.standard_error});
        }
    return std::move(result_);
  }

 private:
  static Result<std::vector<double>> scores_of(const Metric& metric,
                                               const std::vector<std::string>& texts,
                                               const References& references) {
    std::vector<double> scores;
    for (const std::string& text : texts) {
      const Result<std::optional<double>> score = metric.score(text, references);
      if (!score) return score.error();
      if (*score) scores.push_back(**score);
    }
    return scores;
  }

  const std::string& metric_name(size_t i) const {
    const size_t n = options_.metrics.size();
    return i < n ? options_.metrics[i] : options_.score_fields[i - n];
  }

  // The vote of each answer, by a metric or a field.
  std::vector<std::string> keys(size_t i, const std::vector<std::string>& texts) const {
    std::vector<std::string> keys;
    if (!options_.majority) return keys;
    const bool is_field = i >= options_.metrics.size();
    const auto key = is_field ? as_words : find_metric(options_.metrics[i])->vote_key;
    std::ranges::transform(texts, std::back_inserter(keys), key);
    return keys;
  }

  void add(Means& means, const EvaluatedQuestion& question, const std::vector<double>& scores,
           const std::vector<std::string>& keys) const {
    if (scores.empty()) return;
    double sum = 0;
    for (const double score : scores) sum += score;
    means.add(kMean, question, sum / static_cast<double>(scores.size()));
    if (!keys.empty()) means.add(kMajority, question, scores[majority(keys)]);
    const auto n_right = static_cast<uint64_t>(std::ranges::count(scores, 1.0));
    for (size_t i = 0; i < options_.pass_at.size(); ++i)
      if (const uint64_t k = options_.pass_at[i]; k <= scores.size())
        means.add(kFirstPass + i, question, pass_at_k(scores.size(), n_right, k));
  }

  const EvaluateOptions& options_;
  std::vector<Means> means_;  // [metrics, then score_fields]
  std::set<std::string> groups_;
  Evaluation result_;
};

}  // namespace

std::span<const std::string_view> metric_names() {
  static const auto kNames = [] {
    std::array<std::string_view, std::size(kMetrics)> names;
    std::ranges::transform(kMetrics, names.begin(), &Metric::name);
    return names;
  }();
  return kNames;
}

Result<Evaluation> evaluate(std::istream& input, const EvaluateOptions& options) {
  if (Status status = check_options(options); !status) return status.error();
  Result<EvaluatedLines> lines = EvaluatedLines::open(options);
  if (!lines) return of_option("extract", lines.error());
  RecordScanner scanner(input, options.format, BatchTask::kEmbed);
  uint64_t n_bad = 0;
  const auto check = [&](const Status& status, const char* place, uint64_t line) {
    if (status) return;
    ++n_bad;
    if (options.on_problem)
      options.on_problem(fmt::format("{} {}: {}", place, line, status.error().message()));
  };
  while (const std::optional<InputRecord> record = scanner.next())
    check(lines->take(*record), record->place(), record->line);
  if (!scanner.failure().empty()) return bad_file("cannot read the input: {}", scanner.failure());
  Scorer scorer(options);
  for (const EvaluatedQuestion& question : lines->questions())
    check(scorer.add(question), question.place, question.line);
  Evaluation result = scorer.take();
  result.lines = lines->n_rows();
  result.bad_lines = n_bad;
  return result;
}

}  // namespace pando
