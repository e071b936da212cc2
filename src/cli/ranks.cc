#include "cli/ranks.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "cli/exit_code.h"
#include "cli/model_options.h"
#include "mpi/mpi_comm.h"

namespace pando::cli {
namespace {

std::shared_ptr<Ranks> joined;

std::string value_of(const CLI::App& command, const char* name, const char* absent) {
  const CLI::Option* option = command.get_option_no_throw(name);
  return option == nullptr || option->count() == 0 ? absent : option->as<std::string>();
}

}  // namespace

std::shared_ptr<Ranks> joined_ranks() { return joined; }
void leave_ranks() {
  if (joined == nullptr) return;
  std::fflush(stdout);  // the end of other ranks may end this one
  joined = nullptr;
}

std::optional<int> run_as_rank(const CLI::App& command) {
  const std::string parallel = value_of(command, "--parallel", "");
  if (parallel.empty()) return std::nullopt;
  register_mpi();
  Result<std::shared_ptr<Ranks>> ranks = Ranks::join(parallel);
  if (!ranks) {  // kUnavailable: rank 0 reports it
    if (ranks.error().code == ErrorCode::kUnavailable) return kOk;
    return refuse(ranks.error());
  }
  joined = std::move(*ranks);
  if (joined->rank() == 0) return std::nullopt;
  std::signal(SIGINT, SIG_IGN);  // rank 0 says when it is over
  std::signal(SIGTERM, SIG_IGN);
  ModelArguments arguments;
  arguments.model = value_of(command, "--model", "");
  const Result<std::filesystem::path> path = model_path(arguments);
  const std::string weights = value_of(command, "--weights", "stored");
  const CLI::Option* threads = command.get_option_no_throw("--threads");
  try {
    // Rank 0 tells of an error, and its exit code is that of the run.
    (void)joined->serve(path ? *path : std::filesystem::path(arguments.model),
                        weight_type_of(weights).value_or(WeightType::kAsStored),
                        threads == nullptr || threads->count() == 0 ? 0 : threads->as<int>());
    return kOk;
  } catch (const std::exception& error) {
    joined->abort(fmt::format("rank {}: {}", joined->rank(), error.what()));
    return kFailed;
  }
}

}  // namespace pando::cli
