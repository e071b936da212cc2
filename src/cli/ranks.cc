#include "cli/ranks.h"

#include <exception>
#include <string>

#include "cli/exit_code.h"
#include "cli/model_options.h"
#include "cli/print_stderr.h"
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
void leave_ranks() { joined = nullptr; }

std::optional<int> run_as_rank(const CLI::App& command) {
  const std::string parallel = value_of(command, "--parallel", "");
  if (parallel.empty()) return std::nullopt;
  register_mpi();
  Result<std::shared_ptr<Ranks>> ranks = Ranks::join(parallel);
  if (!ranks) {  // rank 0 says it once
    if (ranks.error().code != ErrorCode::kUnavailable) report_error(ranks.error().message);
    return kUsage;
  }
  joined = std::move(*ranks);
  if (joined->rank() == 0) return std::nullopt;
  ModelArguments arguments;
  arguments.model = value_of(command, "--model", "");
  const Result<std::filesystem::path> path = model_path(arguments);
  const std::string weights = value_of(command, "--weights", "stored");
  const int threads = std::stoi(value_of(command, "--threads", "0"));
  try {
    const Status status =
        joined->serve(path ? *path : std::filesystem::path(arguments.model),
                      weight_type_of(weights).value_or(WeightType::kAsStored), threads);
    return status ? kOk : kFailed;
  } catch (const std::exception& error) {
    print_stderr("pando: rank {}: {}\n", joined->rank(), error.what());
    std::_Exit(kFailed);  // MPI then ends the other ranks
  }
}

}  // namespace pando::cli
