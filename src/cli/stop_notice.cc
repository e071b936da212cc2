#include "cli/stop_notice.h"

#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "base/counted.h"
#include "cli/print_stderr.h"

namespace pando::cli {

void StopNotice::update(const BatchProgress& now) {
  if (!now.stopping || now.answers_open == 0 || std::exchange(said_so_, true)) return;
  progress_.clear();
  print_stderr("pando: {}: finishing {}{}; a second signal ends the run at once\n",
               signal_.signal() == SIGINT ? "SIGINT" : "SIGTERM",
               counted(now.answers_open, outputs_),
               now.seconds_left ? fmt::format(", about {} left", duration(*now.seconds_left)) : "");
}

int report_stop(int signal, uint64_t n, std::string_view outputs, std::string_view more) {
  print_stderr("pando: stopped after {}{}\n", counted(n, outputs), more);
  return 128 + signal;
}

}  // namespace pando::cli
