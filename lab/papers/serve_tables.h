// Tables of `pando bench serve`.
#pragma once

#include <string>
#include <vector>

#include "lab/experiment.h"
#include "lab/papers/serve_figures.h"
#include "schedule/predictor.h"

namespace pando::lab {

struct NamedFigures {
  std::string name;  // of the contender
  ServeFigures figures;
};

// A row for each contender.
Table figures_table(std::string title, const std::vector<NamedFigures>& all);

// Each against the last one; budget: seconds of a step.
Table ratios_table(std::string title, const std::vector<NamedFigures>& all, double budget);

// Predicted cost of adding a short prompt (`n_short` tokens) to a step of a long one, by the number
// of tokens of the long one that are already computed. `budget`: seconds of a step, `n_rows`: its
// rows at most.
Table slack_table(std::string title, const Predictor& predictor, uint32_t n_short, uint32_t n_long,
                  double budget, uint32_t n_rows);

}  // namespace pando::lab
