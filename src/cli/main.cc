#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/failures.h"
#include "base/write_file.h"
#include "cli/commands.h"
#include "cli/file_clashes.h"
#include "cli/laboratory.h"
#include "cli/options_file.h"
#include "cli/output_files.h"
#include "cli/ranks.h"
#include "cli/usage.h"
#include "pando/version.h"

namespace pando::cli {
namespace {

int cannot_print(int error) {
  if (reader_is_gone()) end_as_by_sigpipe();
  return report_error("cannot write to standard output" + reason_of_code(error));
}

// Flushes standard output. Returns `code`, or the exit code of a failed write.
int print_rest(int code) {
  if (code != kOk && !std::cout) return code;     // a command has reported the failure
  const bool is_lost = std::ferror(stdout) != 0;  // some of what was written before
  errno = 0;
  return std::fflush(stdout) == 0 && !is_lost ? code : cannot_print(errno);
}

}  // namespace
}  // namespace pando::cli

int main(int argc, char** argv) {
  using namespace pando::cli;
  fill_standard_descriptors();
  open_laboratory();
  CLI::App app("Pando: large language models over shared context, exactly.", "pando");
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("pando {} ({})", pando::version(), pando::build_commit()));
  app.set_config(
      "--config", "",
      "File with options: a section such as [run] for each command, with lines name = value");
  app.config_formatter(std::make_shared<OptionsFile>(app));

  std::vector<std::pair<CLI::App*, Command>> commands;
  const auto add = [&](const char* name, const char* help, Command (*add_options)(CLI::App&)) {
    CLI::App* command = app.add_subcommand(name, help)->fallthrough();  // to --config
    commands.emplace_back(command, add_options(*command));
  };
  add("run", "Answer the questions in a file", add_run);
  add("verify", "Check with a file of questions that sharing changes no bit of an answer",
      add_verify);
  add("serve", "Serve requests over HTTP, compatible with the OpenAI API", add_serve);
  add("route", "Route requests over HTTP to servers on other machines", add_route);
  add("embed", "Compute embeddings of texts", add_embed);
  add("rerank", "Rank documents by their relevance to a query", add_rerank);
  add("classify", "Label texts or their words by a classifier", add_classify);
  add("score", "Compute likelihoods of continuations, or the perplexity of a text", add_score);
  add("eval", "Score the answers of a run again, and draw the scores", add_eval);
  add("inspect", "Show what a run would cost and what its prompts share, without running it",
      add_inspect);
  add("tokenize", "Convert text to tokens", add_tokenize);
  add("detokenize", "Convert tokens to text", add_detokenize);
  add("pull", "Fetch a model from the hub, or its newest revision", add_pull);
  add("list", "List the models of the hub that are in the local cache", add_list);
  add("remove", "Remove a model of the hub from the local cache", add_remove);
  add("tools", "Show how a model's tool calls are read", add_tools);
  add("bench",
      "Run benchmarks: the papers' tables and figures, and the engine's speed on this machine",
      add_bench);
  add("make-model", "Write a model with random weights", add_make_model);
  add("devices", "List what this build and machine can compute with", add_devices);
  add("completion", "Print a completion script for a shell", add_completion);
  check_numbers(app);
  app.footer(
      "Each command has --help, with examples. Options on the command line override those in "
      "--config.");
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of writing
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error), print_rest(kOk);  // --help, --version
    return report_error(usage_error(app, error)), kUsage;
  }
  int code = kUsage;  // not left so: a command is required
  try {
    for (const auto& [command, run] : commands) {
      if (!command->parsed()) continue;
      const std::optional<int> of_rank = run_as_rank(*command);
      const pando::Status clashes = of_rank ? pando::Status() : check_clashes(*command);
      code = of_rank ? *of_rank : clashes ? run() : refuse(clashes.error());
    }
    leave_ranks();
  } catch (const std::exception& error) {
    if (reader_is_gone()) end_as_by_sigpipe();
    const auto* of_system = dynamic_cast<const std::system_error*>(&error);
    if (of_system != nullptr && std::ferror(stdout) != 0)
      return cannot_print(of_system->code().value());
    if (of_system != nullptr && of_system->code() == std::errc::resource_unavailable_try_again)
      return report_error(pando::cannot_start("a thread", error.what()));
    return report_error(pando::reason_of(error));
  }
  return print_rest(code);
}
