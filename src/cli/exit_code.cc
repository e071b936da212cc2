#include "cli/exit_code.h"

#include "cli/print_stderr.h"

namespace pando::cli {

int report_error(const std::string& message) {
  print_stderr("pando: {}\n", message);
  return kFailed;
}

int refuse(const Error& error) {
  report_error(error.message);
  return error.code == ErrorCode::kInvalidArgument ? kUsage : kFailed;
}

}  // namespace pando::cli
