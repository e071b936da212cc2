#include "cli/stop_signal.h"

#include <csignal>

namespace pando::cli {
namespace {

std::atomic<bool> stopped;
std::atomic<int> came;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void set(void (*handler)(int)) {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

void on_signal(int signal) {
  came = signal;
  stopped = true;
  set(SIG_DFL);
}

}  // namespace

StopSignal::StopSignal() {
  came = 0;
  stopped = false;
  set(on_signal);
}

StopSignal::~StopSignal() { set(SIG_DFL); }

const std::atomic<bool>& StopSignal::flag() const { return stopped; }
int StopSignal::signal() const { return came; }

}  // namespace pando::cli
