// The commands of `pando`. Each adds its options to the parser and returns what runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "pando/result.h"

namespace pando::cli {

// Exit codes: 0 all done, 1 failed (bad file, no memory, unwritable output, answers that
// --compare or verifying found to differ), 2 wrong usage, 3 done, but some lines or questions were
// left out, 128 + n ended by signal n.
constexpr int kOk = 0, kFailed = 1, kUsage = 2, kIncomplete = 3;

using Command = std::function<int()>;

Command add_run(CLI::App& app);
Command add_verify(CLI::App& app);
Command add_serve(CLI::App& app);
Command add_embed(CLI::App& app);
Command add_rerank(CLI::App& app);
Command add_score(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_tokenize(CLI::App& app);
Command add_detokenize(CLI::App& app);
Command add_make_model(CLI::App& app);
Command add_bench(CLI::App& app);
Command add_completion(CLI::App& app);

// "pando: MESSAGE" on stderr; returns kFailed.
int report_error(const std::string& message);
// The same, and kUsage for an option that can never work (kInvalidArgument).
int refuse(const Error& error);

}  // namespace pando::cli
