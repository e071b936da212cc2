#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cli/commands.h"
#include "pando/version.h"

int main(int argc, char** argv) {
  using namespace pando::cli;
  CLI::App app("Pando: large language models over shared context, exactly.");
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("pando {} ({})", pando::version(), pando::build_commit()));
  app.failure_message(CLI::FailureMessage::simple);

  std::vector<std::pair<CLI::App*, Command>> commands;
  const auto add = [&](const char* name, const char* help, Command (*add_options)(CLI::App&)) {
    CLI::App* command = app.add_subcommand(name, help);
    commands.emplace_back(command, add_options(*command));
  };
  add("run", "Answer the questions of a JSONL file", add_run);
  add("verify", "Check on a JSONL file that sharing changes no bit of an answer", add_verify);
  add("score", "Perplexity of a text", add_score);
  add("make-model", "Write a model with random weights", add_make_model);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  try {
    for (const auto& [command, run] : commands)
      if (command->parsed()) return run();
    return kUsage;  // not reached: a command is required
  } catch (const std::exception& error) {
    return report_error(error.what());
  }
}
