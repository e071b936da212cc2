// The commands of `pando`. Each adds its options to the parser and returns what runs it: add_NAME
// is in NAME_command.cc; those of the hub's cache are in pull_command.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/exit_code.h"

namespace pando::cli {

using Command = std::function<int()>;

Command add_run(CLI::App& app);
Command add_verify(CLI::App& app);
Command add_serve(CLI::App& app);
Command add_route(CLI::App& app);
Command add_embed(CLI::App& app);
Command add_rerank(CLI::App& app);
Command add_classify(CLI::App& app);
Command add_score(CLI::App& app);
Command add_eval(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_tokenize(CLI::App& app);
Command add_detokenize(CLI::App& app);
Command add_tools(CLI::App& app);
Command add_make_model(CLI::App& app);
Command add_pull(CLI::App& app);
Command add_list(CLI::App& app);
Command add_remove(CLI::App& app);
Command add_bench(CLI::App& app);
Command add_devices(CLI::App& app);
Command add_completion(CLI::App& app);

}  // namespace pando::cli
