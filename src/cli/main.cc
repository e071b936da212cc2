#include <fmt/format.h>

#include "cli/commands.h"
#include "pando/version.h"

int main(int argc, char** argv) {
  using namespace pando::cli;
  CLI::App app("Pando: large language models over shared context, exactly.");
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("pando {} ({})", pando::version(), pando::build_commit()));
  app.failure_message(CLI::FailureMessage::simple);

  CLI::App* run = app.add_subcommand("run", "Answer the questions of a JSONL file");
  CLI::App* make_model = app.add_subcommand("make-model", "Write a model with random weights");
  const Command run_command = add_run(*run);
  const Command make_model_command = add_make_model(*make_model);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  try {
    return run->parsed() ? run_command() : make_model_command();
  } catch (const std::exception& error) {
    return report_error(error.what());
  }
}
