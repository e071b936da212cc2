#include "schedule/predictor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/statistics.h"
#include "schedule/least_squares.h"

namespace pando {
namespace {

constexpr size_t kRowTerms = StepCosts::kRowSteps.size();
constexpr size_t kTerms = kRowTerms + 7;
constexpr double kRate = 0.05;
constexpr double kMostCorrection = 10;

// Multipliers of the costs: rows in each range, step, head, outputs, keys, reads, experts, moves.
using Terms = std::array<double, kTerms>;

void add(Terms& sum, double factor, const Terms& terms) {
  for (size_t i = 0; i < kTerms; ++i) sum[i] += factor * terms[i];
}

// Features of all layers, for `n` of the step's rows.
Terms slice_terms(const StepFeatures& step, double n, const ExpertCounts& experts) {
  Terms terms{};
  for (size_t i = 0; i < kRowTerms; ++i) {
    const double begin = StepCosts::kRowSteps[i];
    const double end =
        i + 1 < kRowTerms ? StepCosts::kRowSteps[i + 1] : std::numeric_limits<double>::infinity();
    terms[i] = std::clamp(n, begin, end) - begin;
  }
  const double share = step.rows > 0 ? n / step.rows : 1;
  terms[kRowTerms] = 1;
  terms[kRowTerms + 3] = share * step.keys;
  terms[kRowTerms + 4] = step.reads;
  terms[kRowTerms + 5] = experts.touched(n);
  terms[kRowTerms + 6] = share * step.moved;
  return terms;
}

Terms head_terms(const StepFeatures& step) {
  Terms terms{};
  terms[kRowTerms + 1] = step.outputs > 0 ? 1 : 0;
  terms[kRowTerms + 2] = step.outputs;
  return terms;
}

// Features of one of the stages, for all slices. With the head, all stages take equally long.
Terms stage_terms(const StepFeatures& step, const ExpertCounts& experts, const RankShape& ranks) {
  const double per_stage = 1.0 / ranks.n_stages;
  Terms terms{};
  add(terms, per_stage, head_terms(step));
  if (ranks.slice_rows == 0 || step.rows <= ranks.slice_rows) {
    add(terms, per_stage, slice_terms(step, step.rows, experts));
    return terms;
  }
  const double n_full = std::floor(step.rows / ranks.slice_rows);
  const double n_last = step.rows - n_full * ranks.slice_rows;
  add(terms, n_full * per_stage, slice_terms(step, ranks.slice_rows, experts));
  if (n_last > 0) add(terms, per_stage, slice_terms(step, n_last, experts));
  return terms;
}

// Cost of a step that is alone: the first slice goes through all stages, and the others follow it.
Terms alone_terms(const StepFeatures& step, const ExpertCounts& experts, const RankShape& ranks) {
  Terms terms = stage_terms(step, experts, ranks);
  if (ranks.n_stages == 1) return terms;
  const double n =
      ranks.slice_rows == 0 ? step.rows : std::min<double>(step.rows, ranks.slice_rows);
  const double others = 1 - 1.0 / ranks.n_stages;
  add(terms, others, slice_terms(step, n, experts));
  add(terms, others, head_terms(step));
  return terms;
}

StepTime time_of(const Terms& n, const StepCosts& costs) {
  StepTime time{.once = n[kRowTerms] * costs.step + n[kRowTerms + 1] * costs.head +
                        n[kRowTerms + 4] * costs.read + n[kRowTerms + 5] * costs.expert,
                .rows = n[kRowTerms + 2] * costs.output + n[kRowTerms + 3] * costs.key +
                        n[kRowTerms + 6] * costs.move};
  for (size_t i = 0; i < kRowTerms; ++i) time.rows += n[i] * costs.row[i];
  return time;
}

const StepTime& longer(const StepTime& a, const StepTime& b) { return a.sum() < b.sum() ? b : a; }

double median_or_zero(std::vector<double> values) {
  return values.empty() ? 0 : median(std::move(values));
}

// Measured times of steps with equal features, in order of measurement.
using Groups = std::map<std::tuple<double, double, double, double, double>, std::vector<double>>;
Groups group(std::span<const StepSample> samples) {
  Groups groups;
  for (const auto& [features, seconds] : samples)
    groups[{features.rows, features.outputs, features.keys, features.reads, features.moved}]
        .push_back(seconds);
  return groups;
}

// x >= 0 that makes the sum of |a x - 1| about as small as can be, by least squares whose rows
// count the less the larger their error was: a few disturbed steps must not bend what fits all
// others.
std::vector<double> fit(std::span<const double> a) {
  constexpr int kRounds = 10;
  constexpr double kLeastError = 0.01;  // a row that fits must not outweigh all others
  std::vector<double> weighted(a.begin(), a.end()), b(a.size() / kTerms, 1.0);
  std::vector<double> x = non_negative_least_squares(weighted, b, kTerms);
  for (int round = 1; round < kRounds; ++round) {
    for (size_t row = 0; row < b.size(); ++row) {
      const std::span<const double> of_row = a.subspan(row * kTerms, kTerms);
      const double error = std::inner_product(of_row.begin(), of_row.end(), x.begin(), -1.0);
      b[row] = 1 / std::sqrt(std::max(std::abs(error), kLeastError));
      for (size_t i = 0; i < kTerms; ++i) weighted[row * kTerms + i] = b[row] * of_row[i];
    }
    x = non_negative_least_squares(weighted, b, kTerms);
  }
  return x;
}

// Gives a range of rows that no step reached the cost of the last measured range, or of the average
// row if that is more: least squares alone would make its rows free.
void extend_rows(StepCosts& costs, double most_rows) {
  const auto& begins = StepCosts::kRowSteps;
  double of_rows = 0;
  for (size_t i = 0; i < kRowTerms; ++i) {
    if (begins[i] >= most_rows) {
      costs.row[i] = std::max(costs.row[i - 1], of_rows / most_rows);
      continue;
    }
    const double end = i + 1 < kRowTerms ? std::min(begins[i + 1], most_rows) : most_rows;
    of_rows += costs.row[i] * (end - begins[i]);
  }
}

}  // namespace

double ExpertCounts::touched(double rows) const {
  if (n_experts == 0) return 0;
  return n_experts * (1 - std::pow(1 - static_cast<double>(n_used) / n_experts, rows));
}

StepTime Predictor::alone(const StepFeatures& step) const {
  return time_of(alone_terms(step, costs_.experts, ranks_), costs_);
}

StepTime Predictor::interval(const StepFeatures& step) const {
  if (ranks_.depth == 1) return alone(step);
  return longer(1.0 / ranks_.depth * alone(step),
                time_of(stage_terms(step, costs_.experts, ranks_), costs_));
}

StepTime Predictor::fitted(const StepFeatures& step) const {
  const StepTime time = alone(step);
  return step.before == 0 ? time : longer(time, (step.before + 1) * interval(step));
}

// Normalised least mean squares on logarithms: with parts p and q of the predicted time, factors of
// ratio^(rate p / (p^2 + q^2)) and ratio^(rate q / (p^2 + q^2)) bring the prediction nearer by
// ratio^rate, by the smallest step that does.
void Predictor::observe(const StepFeatures& step, double seconds) {
  const StepTime time = fitted(step);
  const double predicted = corrected(time);
  if (!(predicted > 0) || !(seconds > 0)) return;
  const double ratio = std::clamp(seconds / predicted, 0.5, 2.0);
  const double once = correction_.once * time.once / predicted, rows = 1 - once;
  const auto correct = [&](double& correction, double part) {
    correction *= std::pow(ratio, kRate * part / (once * once + rows * rows));
    correction = std::clamp(correction, 1 / kMostCorrection, kMostCorrection);
  };
  correct(correction_.once, once);
  correct(correction_.rows, rows);
}

std::string Predictor::to_json() const {
  Json json = {{"step_s", costs_.step},     {"row_s", costs_.row}, {"head_s", costs_.head},
               {"output_s", costs_.output}, {"key_s", costs_.key}, {"read_s", costs_.read}};
  if (costs_.move > 0) json["move_s"] = costs_.move;
  if (costs_.experts.n_experts > 0)
    json.update({{"experts", costs_.experts.n_experts},
                 {"experts_of_row", costs_.experts.n_used},
                 {"expert_s", costs_.expert}});
  return sorted_json(json).dump();
}

Result<Predictor> Predictor::from_json(std::string_view text, std::string_view source,
                                       const RankShape& ranks) {
  const Result<Json> json = parse_json_object(text, source);
  if (!json) return json.error();
  Fields reader(*json, source);
  const auto is_cost = [](const Json& value) {
    return value.is_number() && value.get<double>() >= 0;
  };
  const auto cost = [&](std::string_view name) {
    const Json* value = reader.find(name);
    if (value != nullptr && is_cost(*value)) return value->get<double>();
    reader.refuse(name, "seconds, 0 or more");
    return 0.0;
  };
  StepCosts costs;
  costs.step = cost("step_s");
  costs.head = cost("head_s");
  costs.output = cost("output_s");
  costs.key = cost("key_s");
  costs.read = cost("read_s");
  if (reader.has("move_s")) costs.move = cost("move_s");
  if (reader.has("experts")) {
    constexpr int64_t kMost = int64_t{1} << 20;
    const int64_t n = reader.integer("experts", 1, kMost);
    costs.experts = {.n_experts = static_cast<int>(n),
                     .n_used = static_cast<int>(reader.integer("experts_of_row", 1, n))};
    costs.expert = cost("expert_s");
  }
  const Json* row = reader.find("row_s");
  if (row != nullptr && row->is_array() && row->size() == kRowTerms &&
      std::all_of(row->begin(), row->end(), is_cost)) {
    for (size_t i = 0; i < kRowTerms; ++i) costs.row[i] = (*row)[i].get<double>();
  } else {
    reader.refuse("row_s", fmt::format("a list of {} times in seconds, 0 or more", kRowTerms));
  }
  if (Status status = reader.status(); !status) return status.error();
  return Predictor(costs, ranks);
}

Result<Predictor> fit_predictor(std::span<const StepSample> samples, const ExpertCounts& experts,
                                const RankShape& ranks) {
  if (samples.empty())
    return invalid_argument("the predictor was fitted to no steps, expected at least one");
  std::vector<double> a;  // [steps, kTerms], each divided by the step's seconds
  double most_rows = 1, least_seconds = std::numeric_limits<double>::infinity();
  for (const auto& [key, seconds] : group(samples)) {
    const double measured = median(seconds);
    if (!(measured > 0) || !std::isfinite(measured))
      return invalid_argument("a step of {} seconds, expected more than 0", measured);
    const auto& [rows, outputs, keys, reads, moved] = key;
    const StepFeatures step{rows, outputs, keys, reads, moved};
    most_rows = std::max(most_rows, rows);
    least_seconds = std::min(least_seconds, measured);
    for (const double n : alone_terms(step, experts, ranks)) a.push_back(n / measured);
  }
  const std::vector<double> x = fit(a);
  StepCosts costs;
  std::copy_n(x.begin(), kRowTerms, costs.row.begin());
  costs.step = x[kRowTerms];
  costs.head = x[kRowTerms + 1];
  costs.output = x[kRowTerms + 2];
  costs.key = x[kRowTerms + 3];
  costs.read = x[kRowTerms + 4];
  costs.experts = experts;
  costs.expert = x[kRowTerms + 5];
  costs.move = x[kRowTerms + 6];
  extend_rows(costs,
              ranks.slice_rows == 0 ? most_rows : std::min<double>(most_rows, ranks.slice_rows));
  // Noise, or a large head, may leave nothing to a step without outputs; none takes no time.
  constexpr double kLeast = 0.01;
  if (costs.step + costs.row[0] + costs.expert <= 0) costs.step = kLeast * least_seconds;
  return Predictor(costs, ranks);
}

bool FitReport::good() const { return median_error <= std::max(0.05, 1.5 * repeat_noise); }

FitReport report_fit(const Predictor& predictor, std::span<const StepSample> samples) {
  std::vector<double> errors, differences;
  for (const auto& [features, seconds] : samples)
    errors.push_back(std::abs(predictor.seconds(features) - seconds) / seconds);
  for (const auto& [key, seconds] : group(samples))
    for (size_t i = 1; i < seconds.size(); ++i)
      differences.push_back(std::abs(seconds[i] - seconds[i - 1]) /
                            std::min(seconds[i], seconds[i - 1]));
  const size_t n_repeats = differences.size();
  return {median_or_zero(std::move(errors)), median_or_zero(std::move(differences)), samples.size(),
          n_repeats};
}

}  // namespace pando
