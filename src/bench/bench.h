// `pando bench`: the gain of sharing on this machine, with one benchmark for each table or figure
// of the papers that applies to one machine; and the speed of the engine itself.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/result.h"

namespace pando::bench {

// Extent of the measurements. Quick shows that a benchmark works; usual takes minutes; full has the
// sizes of the papers, as far as the machine can do them in hours.
enum class RunLength { kQuick, kUsual, kFull };

struct Settings {
  RunLength length = RunLength::kUsual;
  int threads = 0;                 // 0: one for each fast processor that may be used
  std::filesystem::path model;     // instead of a model with random weights; empty: the latter
  std::string device;              // of `gpu`: "cuda" or "opencl"; empty: the first that works
  std::filesystem::path out;       // directory for CSV and SVG; empty: neither is written
  std::filesystem::path data;      // directory of published data sets; empty: benchmarks leave them
                                   // out
  std::filesystem::path cache;     // models with random weights are kept here
  std::vector<std::string> peers;  // commands of other engines, for `compare`
  std::vector<std::string> peer_variables;  // "PEER_NAME=value" of the environment, for its notes
};

// Inputs of a benchmark besides its sizes.
struct Inputs {
  bool model = false;                   // --model instead of its own
  bool device = false;                  // --device has an effect
  bool peers = false;                   // --peer, without which there is nothing to run
  std::vector<std::string_view> files;  // of --data
  bool files_optional = false;          // without them less is measured
  bool threads = true;                  // --threads has an effect
};

struct BenchmarkInfo {
  const char* name;  // "ippd-table-5"
  const char* what;  // a line for people
  Inputs inputs{};
};

// All benchmarks, in the order of `pando bench list`.
std::vector<BenchmarkInfo> benchmarks();

// Runs one: prints tables on standard output and writes them. Errors: kInvalidArgument (no such
// benchmark, settings that it has no use for or lacks), kNotFound (model or data), kBadFile, kIo,
// kUnavailable (memory).
Status run_benchmark(const std::string& name, const Settings& settings);

}  // namespace pando::bench
