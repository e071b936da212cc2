// Exit codes of commands, and the message that goes with a failure.
#pragma once

#include <string>

#include "pando/values/result.h"

namespace pando::cli {

// 0 all done, 1 failed (bad file, no memory, unwritable output, answers that differ under --compare
// or verifying, or no answers to compare), 2 wrong usage, 3 done, but some lines or questions have
// no answer, 128 + n ended by signal n.
constexpr int kOk = 0, kFailed = 1, kUsage = 2, kIncomplete = 3;

// The message, with options as the command line names them.
std::string message_of(const Error& error);
// "pando: MESSAGE" on stderr; returns kFailed.
int report_error(const std::string& message);
int report_error(const Error& error);
// Does the same, and kUsage for an option that can never work (kInvalidArgument).
int refuse(const Error& error);

}  // namespace pando::cli
