#include <fmt/format.h>

#include <csignal>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "pando/version.h"

int main(int argc, char** argv) {
  using namespace pando::cli;
  CLI::App app("Pando: large language models over shared context, exactly.", "pando");
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("pando {} ({})", pando::version(), pando::build_commit()));
  app.failure_message(CLI::FailureMessage::simple);

  app.set_config("--config", "",
                 "File of options: a part [run] for each command, of lines name = value");

  app.allow_config_extras(CLI::config_extras_mode::error);

  std::vector<std::pair<CLI::App*, Command>> commands;
  const auto add = [&](const char* name, const char* help, Command (*add_options)(CLI::App&)) {
    CLI::App* command = app.add_subcommand(name, help)->fallthrough();  // to --config
    commands.emplace_back(command, add_options(*command));
  };
  add("run", "Answer the questions of a file", add_run);
  add("verify", "Check on a file of questions that sharing changes no bit of an answer",
      add_verify);
  add("embed", "Vectors of texts", add_embed);
  add("rerank", "Rank documents by their relevance to a query", add_rerank);
  add("score", "Likelihoods of continuations, or the perplexity of a text", add_score);
  add("inspect", "What a run will cost and what its prompts share, before it is run", add_inspect);
  add("tokenize", "Tokens of a text", add_tokenize);
  add("detokenize", "Text of tokens", add_detokenize);
  add("make-model", "Write a model with random weights", add_make_model);
  add("completion", "Completion for a shell", add_completion);
  app.footer(
      "Each command has --help, with examples. Options of --config stand back behind the "
      "command's.");
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of writing
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
