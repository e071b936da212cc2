// Scores of answers as `pando eval` shows them.
#pragma once

#include <string>

#include "pando/evaluate.h"

namespace pando::cli {

// A table for people, a row per score; empty for no scores.
std::string eval_table(const Evaluation& evaluation);

// Returns the same and the counts of lines, as JSON.
std::string eval_json(const Evaluation& evaluation);

// Bars of all scores with their 95% confidence intervals (1.96 standard errors), as SVG.
std::string eval_svg(const Evaluation& evaluation, const std::string& title);

}  // namespace pando::cli
