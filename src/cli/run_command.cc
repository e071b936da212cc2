#include <memory>

#include "cli/commands.h"
#include "cli/run_batches.h"

namespace pando::cli {
namespace {

Command add_batch_command(CLI::App& app, void (*add)(CLI::App&, RunOptions&)) {
  auto options = std::make_shared<RunOptions>();
  add(app, *options);
  return [options, &app] {
    options->given = given_to(app);
    return run_batches(*options);
  };
}

}  // namespace

Command add_run(CLI::App& app) { return add_batch_command(app, add_run_options); }
Command add_verify(CLI::App& app) { return add_batch_command(app, add_verify_options); }

}  // namespace pando::cli
