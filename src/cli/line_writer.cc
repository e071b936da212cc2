#include "cli/line_writer.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

namespace pando::cli {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;

// Text that cannot be written is lost.
void write_lines(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd ready{.fd = file, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, /*timeout=*/-1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace

LineWriter::LineWriter(int file)
    : state_(std::make_shared<State>()),
      thread_([file, state = state_] { write_all(file, *state); }) {}

LineWriter::~LineWriter() {
  std::unique_lock lock(state_->mutex);
  state_->is_ending = true;
  state_->changed.notify_all();
  const bool is_over =
      state_->changed.wait_for(lock, std::chrono::seconds(1), [&] { return state_->is_over; });
  lock.unlock();
  if (is_over) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void LineWriter::put(const std::string& line) {
  const std::lock_guard lock(state_->mutex);
  if (state_->waiting.size() + line.size() > kMostBytes) {
    ++state_->n_lost;
    return;
  }
  state_->waiting += line;
  state_->changed.notify_all();
}

void LineWriter::write_all(int file, State& state) {
  std::unique_lock lock(state.mutex);
  for (;;) {
    state.changed.wait(lock, [&] { return !state.waiting.empty() || state.is_ending; });
    if (state.waiting.empty()) break;
    std::string text = std::exchange(state.waiting, {});
    const size_t n_lost = std::exchange(state.n_lost, 0);
    if (n_lost > 0)
      text +=
          fmt::format("pando: log lines dropped, because nothing read them in time: {}\n", n_lost);
    lock.unlock();
    write_lines(file, text);
    lock.lock();
  }
  state.is_over = true;
  state.changed.notify_all();
}

}  // namespace pando::cli
