// Options that have no effect on lines of the input.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/run_options.h"
#include "pando/batch.h"

namespace pando::cli {

// Which of the options that were given a line leaves without effect.
class UnusedOptions {
 public:
  // `options` outlives it. `draws`: the command has options that say how tokens are drawn.
  explicit UnusedOptions(const RunOptions& options, bool draws = true)
      : options_(options), draws_(draws) {}

  // "line 3: --chat has no effect on lines with 'prompt' ...". Of an option and a kind of lines
  // only the first time.
  std::vector<std::string> of(const BatchLine& line);

 private:
  const RunOptions& options_;
  const bool draws_;
  std::set<std::pair<std::string_view, std::string_view>> said_;  // kinds of lines, and options
};

}  // namespace pando::cli
