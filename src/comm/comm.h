// Messages between the processes of one run.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace pando {

// One rank's end of the run. Messages between two ranks arrive in the order in which they were
// sent. Calls throw std::runtime_error if a peer is gone. Several threads may use it at the same
// time if no two exchange messages with the same rank.
class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sends a message. Returns when the bytes may be changed.
  virtual void send(int to, std::span<const std::byte> bytes) = 0;
  // Waits for the next message, which the peer has sent with this length.
  virtual void receive(int from, std::span<std::byte> bytes) = 0;
  // Sends own[i] to peers[i] and receives theirs[i] from it, all at the same time.
  virtual void exchange(std::span<const int> peers, std::span<const std::span<const std::byte>> own,
                        std::span<const std::span<std::byte>> theirs) = 0;
  // Sends the bytes after earlier messages, and returns at once.
  virtual void post(int to, std::vector<std::byte> bytes) = 0;
  // True if a message has come and was not received yet.
  virtual bool has_message(int from) = 0;
  // Ends the run of all ranks. Over MPI: writes `why` to standard error and ends all processes, at
  // once and without returning. With time for last words, returns and ends them later; every call
  // throws until then.
  virtual void abort(std::string_view why) noexcept = 0;
  // Time that abort() leaves this process, so that a server can tell its clients. 0: abort() ends
  // it at once.
  virtual void set_last_words(std::chrono::milliseconds) {}
};

// Messages of any length: the length, then the bytes.
void send_message(Comm& comm, int to, std::span<const std::byte> bytes);
void post_message(Comm& comm, int to, std::vector<std::byte> bytes);
std::vector<std::byte> receive_message(Comm& comm, int from);

}  // namespace pando
