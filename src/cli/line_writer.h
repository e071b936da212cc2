// Lines for a file that may be slow.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace pando::cli {

// Writes on a thread of its own: whoever puts a line waits for no reader. What is too much is lost,
// and the loss is said. Any thread.
class LineWriter {
 public:
  explicit LineWriter(int file);
  // Writes what is left, for a second at most.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  void put(const std::string& line);

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::string waiting;
    size_t n_lost = 0;  // lines
    bool is_ending = false, is_over = false;
  };
  static void write_all(int file, State& state);

  std::shared_ptr<State> state_;  // the thread's too: it may hang in a write
  std::thread thread_;
};

}  // namespace pando::cli
