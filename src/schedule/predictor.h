// Predicts the time of a step as a sum of a few terms, fitted to measured steps and corrected while
// steps run. (Medha uses Vidur.)
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "pando/values/result.h"
#include "schedule/rank_shape.h"
#include "schedule/step_features.h"

namespace pando {

// Experts of each layer of a model with mixtures; a row has n_used of them.
struct ExpertCounts {
  int n_experts = 0;
  int n_used = 0;

  // Expected number of distinct experts that these rows use, if all experts are equally likely.
  double touched(double rows) const;
};

// Seconds, none negative, summed over all stages; each slice of a step counts as a step. A row
// costs less where many are computed together, or more where they no longer hide behind the reading
// of weights, so that its cost depends on how many there are: row[i] is that of each row from
// kRowSteps[i] on.
struct StepCosts {
  static constexpr std::array<double, 5> kRowSteps = {0, 4, 16, 32, 128};

  double step = 0;  // of every step
  std::array<double, kRowSteps.size()> row{};
  double head = 0;    // of a step with rows of logits: their weights are read once
  double output = 0;  // of one of those rows
  double key = 0;     // of one row seeing one position
  double read = 0;    // of one position read
  double move = 0;    // of one row that goes to another part
  ExpertCounts experts;
  double expert = 0;  // of an expert that rows have: its weights are read once, in every layer
};

struct StepSample {
  StepFeatures features;
  double seconds = 0;  // measured, above 0
};

// Seconds in two parts, since other work on a machine may slow one more than the other.
struct StepTime {
  double once = 0;  // for the step: weights, and the keys and values that are read
  double rows = 0;  // for each row: products, logits, and the keys that it sees

  double sum() const { return once + rows; }
  StepTime& operator+=(const StepTime& other) {
    once += other.once;
    rows += other.rows;
    return *this;
  }
  friend StepTime operator+(StepTime a, const StepTime& b) { return a += b; }
  friend StepTime operator*(double factor, const StepTime& time) {
    return {factor * time.once, factor * time.rows};
  }
};

// Slices of a step flow through the stages one after another. A step waits for those in flight
// before it. Stages are cut so that all take equally long.
class Predictor {
 public:
  explicit Predictor(const StepCosts& costs, const RankShape& ranks = {})
      : costs_(costs), ranks_(ranks) {}

  // From the choice of a step to its end.
  double seconds(const StepFeatures& step) const { return corrected(fitted(step)); }
  // Time by the costs, without the corrections; and with them.
  StepTime fitted(const StepFeatures& step) const;
  // Time between the ends of consecutive steps like this one, with as many in flight as allowed.
  StepTime interval(const StepFeatures& step) const;
  double corrected(const StepTime& time) const {
    return correction_.once * time.once + correction_.rows * time.rows;
  }
  // Learns from a step that was run: the corrections follow the last twenty steps or so. The part
  // that took more of the predicted time learns more. One step counts for no more than a factor of
  // 2, so that an interrupted one does little.
  void observe(const StepFeatures& step, double seconds);

  const StepCosts& costs() const { return costs_; }
  const RankShape& ranks() const { return ranks_; }
  // Factors on the two parts of the time: 1 as fitted, 0.1 to 10.
  const StepTime& correction() const { return correction_; }

  // The costs as fitted, without the corrections.
  std::string to_json() const;
  // kBadFile, naming `source` and the field.
  static Result<Predictor> from_json(std::string_view text, std::string_view source,
                                     const RankShape& ranks = {});

 private:
  StepTime alone(const StepFeatures& step) const;

  StepCosts costs_;
  RankShape ranks_;
  StepTime correction_{1, 1};
};

// Fits the costs by the sum of relative errors; steps with equal features count as their median.
// The cost of a row is never 0, also beyond the measured numbers of rows. Each step was alone in
// flight. experts: of the model that was measured. kInvalidArgument if there are no samples, or one
// took no time.
Result<Predictor> fit_predictor(std::span<const StepSample> samples,
                                const ExpertCounts& experts = {}, const RankShape& ranks = {});

// Error of a predictor on samples, beside the noise that no predictor can beat.
struct FitReport {
  double median_error = 0;  // median of |predicted - measured| / measured
  double repeat_noise = 0;  // median of |a - b| / min(a, b) over successive steps of equal features
  size_t n_samples = 0;
  size_t n_repeats = 0;  // pairs behind repeat_noise

  // True if the median error is at most the greater of 5% and 1.5 times the noise.
  bool good() const;
};
FitReport report_fit(const Predictor& predictor, std::span<const StepSample> samples);

}  // namespace pando
