#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/run_batches.h"
#include "cli/verify_kernels.h"

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

Command add_verify(CLI::App& app) {
  const Command of_answers = add_batch_command(app, add_verify_options);
  return [&app, of_answers] {
    const IsGiven given = given_to(app);
    if (given("--input")) return of_answers();
    if (given("--device") && !given("--model"))
      return verify_kernels(app.get_option("--device")->as<std::string>());
    return report_error("verify: --input is required"), kUsage;
  };
}

}  // namespace pando::cli
