// Measured times of steps.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace pando {

// Costs fitted to measured steps, and the error of their predictions.
struct MeasuredSteps {
  static constexpr size_t kFewestRepeats = 10;
  static constexpr int kMostTimes = 3;  // factor on the seconds asked for, until kFewestRepeats
                                        // were run

  std::string costs;           // JSON
  double median_error = 0;     // median of |predicted - measured| / measured
  double repeat_noise = 0;     // median of the relative differences of repeated equal steps
  size_t n_steps = 0;          // that were run
  size_t n_repeats = 0;        // pairs behind repeat_noise
  std::filesystem::path file;  // that keeps them; empty: none
  std::string not_kept;        // why they could not be saved: "cannot write ..."; else empty

  bool good() const;             // the error is at most the greater of 5% and 1.5 times the noise
  bool disturbed() const;        // equal steps differ by more than a quarter, or fewer than
                                 // kFewestRepeats were run
  std::string in_words() const;  // one line for people
};

// The work of a step, or the mean of many steps.
struct StepWork {
  double rows = 0;     // tokens
  double outputs = 0;  // rows of logits
  double keys = 0;     // positions that each row sees, over all rows
  double reads = 0;    // positions whose keys and values are read, shared ones once
};

}  // namespace pando
