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

// What another short prompt costs in the steps of a long one, as predicted, by the tokens that the
// long one has behind it. `n_short`: tokens of its prompt; `budget`: seconds of a step, `n_rows`
// its rows at most.
Table slack_table(std::string title, const Predictor& predictor, uint32_t n_short, uint32_t n_long,
                  double budget, uint32_t n_rows);

}  // namespace pando::lab
