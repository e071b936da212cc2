// What benchmarks take besides their sizes: a model, files of --data, other engines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/bench.h"

namespace pando::bench {

struct Inputs {
  bool model = false;                   // --model instead of its own
  bool peers = false;                   // --peer, without which there is nothing to run
  std::vector<std::string_view> files;  // of --data
  bool files_optional = false;          // without them less is measured
  bool threads = true;                  // --threads has an effect
};

// One table for all of them; kNotFound for a benchmark that it does not have.
Result<Inputs> inputs_of(std::string_view benchmark);

// "needs --data, takes --model".
std::string in_words(const Inputs& inputs);

// kInvalidArgument for settings that the benchmark has no use for, or lacks; kNotFound for a
// --data that is no directory, and else with the names of all files that are not there.
Status check_inputs(std::string_view benchmark, const Settings& settings);

}  // namespace pando::bench
