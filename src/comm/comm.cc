#include "comm/comm.h"

#include <utility>

namespace pando {

void send_message(Comm& comm, int to, std::span<const std::byte> bytes) {
  const uint64_t n = bytes.size();
  comm.send(to, std::as_bytes(std::span(&n, 1)));
  comm.send(to, bytes);
}

void post_message(Comm& comm, int to, std::vector<std::byte> bytes) {
  const uint64_t n = bytes.size();
  const auto length = std::as_bytes(std::span(&n, 1));
  comm.post(to, {length.begin(), length.end()});
  comm.post(to, std::move(bytes));
}

std::vector<std::byte> receive_message(Comm& comm, int from) {
  uint64_t n = 0;
  comm.receive(from, std::as_writable_bytes(std::span(&n, 1)));
  std::vector<std::byte> bytes(n);
  comm.receive(from, bytes);
  return bytes;
}

}  // namespace pando
