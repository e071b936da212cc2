#include "cli/ranks.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/failures.h"
#include "cli/exit_code.h"
#include "cli/model_options.h"
#include "mpi/register_mpi.h"

namespace pando::cli {
namespace {

std::shared_ptr<Ranks> joined;

std::string value_of(const CLI::App& command, const char* name, const char* absent) {
  const CLI::Option* option = command.get_option_no_throw(name);
  return option == nullptr || option->count() == 0 ? absent : option->as<std::string>();
}

// Why a command has no use for replicas; null: it has.
const char* has_one_engine(const CLI::App& command) {
  const CLI::Option* text = command.get_option_no_throw("--perplexity");
  return command.get_name() == "serve"          ? "a server has one engine"
         : text != nullptr && text->count() > 0 ? "one text is not divided"
                                                : nullptr;
}

// Variables in which a launcher gives each process the number of processes and its own rank. A
// batch script of Slurm is one process with SLURM_NTASKS and SLURM_PROCID=0, so the number comes
// from the step of srun.
constexpr std::pair<const char*, const char*> kLaunchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},  // Open MPI
    {"PMI_SIZE", "PMI_RANK"},                          // MPICH, Intel MPI
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},    // MVAPICH
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
    {"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
    {"JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"}};  // jsrun
// Without a number beside it; any but the first process shows that there are several.
constexpr const char* kRanks[] = {"SLURM_PROCID", "PMIX_RANK", "PALS_RANKID", "ALPS_APP_PE"};

// Without this check, several processes would each do all of the work and write the same files.
std::optional<int> refuse_copies(const CLI::App& command) {
  if (command.get_option_no_throw("--parallel") == nullptr) return std::nullopt;
  const auto report = [](std::string_view found, std::string_view n) {
    report_error(
        fmt::format("{} processes were started without --parallel, each of which would do all of "
                    "the work, expected --parallel replicas={}",
                    found, n));
  };
  for (const auto& [size, number] : kLaunchers) {
    const char *const n = std::getenv(size), *const rank = std::getenv(number);
    if (n == nullptr || rank == nullptr) continue;
    if (std::string_view(n) == "1") return std::nullopt;
    if (std::string_view(rank) == "0") report(n, n);
    return kUsage;
  }
  for (const char* number : kRanks) {
    const char* const rank = std::getenv(number);
    if (rank == nullptr || std::string_view(rank) == "0") continue;
    report("several", "N");
    return kUsage;
  }
  return std::nullopt;
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
  if (parallel.empty()) return refuse_copies(command);
  register_mpi();
  Result<std::shared_ptr<Ranks>> ranks = Ranks::join(parallel);
  if (!ranks) {  // kUnavailable: rank 0 reports it
    if (ranks.error().code == ErrorCode::kUnavailable) return kOk;
    return refuse(ranks.error());
  }
  joined = std::move(*ranks);
  if (joined->rank() == 0) {
    const char* const what = has_one_engine(command);
    if (joined->replicas() == 1 || what == nullptr) return std::nullopt;
    report_error(fmt::format("--parallel: '{}' has replicas={}, but {}, expected replicas=1",
                             parallel, joined->replicas(), what));
    return kUsage;
  }
  std::signal(SIGINT, SIG_IGN);  // rank 0 says when it is over
  std::signal(SIGTERM, SIG_IGN);
  ModelArguments arguments;
  arguments.model = value_of(command, "--model", "");
  arguments.tokenizer = value_of(command, "--tokenizer", "");
  arguments.revision = value_of(command, "--revision", "");
  arguments.quiet = true;  // rank 0 shows what is fetched
  const CLI::Option* threads = command.get_option_no_throw("--threads");
  // A file that is not there is missing on rank 0 too, or else loading says so.
  const auto found = [](const Result<std::filesystem::path>& path, const std::string& name) {
    return path ? *path : std::filesystem::path(name);
  };
  try {
    // Rank 0 tells of an error, and its exit code is that of the run.
    (void)joined->serve(
        found(model_path(arguments), arguments.model),
        {.weights = weight_type_of(value_of(command, "--weights", "stored"))
                        .value_or(WeightType::kAsStored),
         .tokenizer = arguments.tokenizer.empty()
                          ? std::filesystem::path()
                          : found(tokenizer_path(arguments), arguments.tokenizer),
         .chat_template = value_of(command, "--chat-template", ""),
         .tool_format = value_of(command, "--tool-format", ""),
         .threads = threads == nullptr || threads->count() == 0 ? 0 : threads->as<int>(),
         .device = value_of(command, "--device", "")});
    return kOk;
  } catch (const std::exception& error) {
    joined->abort(fmt::format("rank {}: {}", joined->rank(), reason_of(error)));
    return kFailed;
  }
}

}  // namespace pando::cli
