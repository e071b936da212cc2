// Inputs of benchmarks besides their sizes: a model, files of --data, other engines.
#pragma once

#include <string>
#include <string_view>

#include "bench/bench.h"

namespace pando::bench {

// kNotFound if there is no such benchmark.
Result<Inputs> inputs_of(std::string_view benchmark);

// "needs --data, takes --model".
std::string in_words(const Inputs& inputs);

// kInvalidArgument for settings that the benchmark has no use for, or lacks; kNotFound for a
// --data that is no directory, and else with the names of all files that are not there.
Status check_inputs(std::string_view benchmark, const Settings& settings);

}  // namespace pando::bench
