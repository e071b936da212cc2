#include "cli/exit_code.h"

#include "cli/print_stderr.h"

namespace pando::cli {

int report_error(const std::string& message) {
  print_stderr("pando: {}\n", message);
  return kFailed;
}

std::string message_of(const Error& error) { return error.message(OptionStyle::kCommandLine); }

int report_error(const Error& error) { return report_error(message_of(error)); }

int refuse(const Error& error) {
  report_error(error);
  return error.code == ErrorCode::kInvalidArgument ? kUsage : kFailed;
}

}  // namespace pando::cli
