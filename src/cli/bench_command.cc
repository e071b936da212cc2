// `pando bench`: what sharing is worth on this machine.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "bench/bench.h"
#include "bench/inputs.h"
#include "cli/cache_directory.h"
#include "cli/commands.h"
#include "cli/model_options.h"

namespace pando::cli {
namespace {

struct BenchOptions {
  std::string name;
  bool quick = false, full = false;
  bench::Settings settings;
};

// Returns variables as the environment has them: tools/peers/ read such.
std::vector<std::string> peer_variables() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::string_view(*variable).starts_with("PEER_")) variables.emplace_back(*variable);
  std::sort(variables.begin(), variables.end());
  return variables;
}

int list() {
  for (const bench::BenchmarkInfo& info : bench::benchmarks()) {
    const std::string takes = in_words(info.inputs);
    fmt::print("{:24} {}{}\n", info.name, info.what, takes.empty() ? "" : " [" + takes + "]");
  }
  return kOk;
}

}  // namespace

Command add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  bench::Settings& settings = options->settings;
  settings.cache = cache_directory() / "models";
  app.add_option("name", options->name, "list, or the name of a benchmark")->required();
  CLI::Option* quick = app.add_flag("--quick", options->quick,
                                    "Small sizes that take seconds, to see that everything works");
  app.add_flag("--full", options->full, "The published sizes, where memory allows; may take hours")
      ->excludes(quick);
  app.add_option("--threads", settings.threads, "Threads (default: one per fast processor)")
      ->check(thread_number());
  app.add_option("--model", settings.model,
                 "Model directory or GGUF file to use instead of random weights or the demo model")
      ->check(not_empty());
  app.add_option("--device", settings.device,
                 "For gpu: cuda or opencl (default: the first that works)")
      ->check(not_empty());
  app.add_option("--data", settings.data, "Directory with the published data sets")
      ->check(not_empty());
  app.add_option("--out", settings.out, "Directory to write CSV tables and SVG charts to")
      ->check(not_empty());
  app.add_option("--models", settings.cache, "Directory where models with random weights are kept")
      ->check(not_empty())
      ->default_str("the user's cache");
  app.add_option("--peer", settings.peers,
                 "For compare: command that runs another engine. Its last line, on standard output "
                 "or error, must be its tokens per second. {kind}, {tokens}, {sequences}, "
                 "{answer}, {threads} and {weights} are filled in; {{print}} stands for {print}");
  app.footer(
      "`pando bench list` shows in brackets which benchmarks need or accept --model, "
      "--device, --data and --peer.\n"
      "Examples:\n"
      "  pando bench list\n"
      "  pando bench speed --quick\n"
      "  pando bench attention --out figures\n"
      "  pando bench compare --peer 'tools/peers/llama_cpp.sh BIN MODELS {kind} {tokens} "
      "{sequences} {answer} {threads} {weights}'");
  return [options] {
    if (options->name == "list") {
      if (options->quick || options->full)
        return refuse({ErrorCode::kInvalidArgument,
                       "bench list: --quick and --full need the name of a benchmark, not 'list'"});
      return list();
    }
    bench::Settings settings = options->settings;
    settings.peer_variables = peer_variables();
    settings.length = options->quick  ? bench::RunLength::kQuick
                      : options->full ? bench::RunLength::kFull
                                      : bench::RunLength::kUsual;
    if (Status status = bench::run_benchmark(options->name, settings); !status)
      return refuse(status.error());
    return kOk;
  };
}

}  // namespace pando::cli
