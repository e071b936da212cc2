#include "mpi/mpi_comm.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/errors.h"
#include "comm/transport.h"

namespace pando {
namespace {

constexpr int kTag = 0;

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string("MPI: ") + what + ": " + text);
}

// Lets the processor go to others while nothing arrives: a server may wait for hours.
void wait_all(std::span<MPI_Request> requests) {
  using namespace std::chrono_literals;
  constexpr int kSpins = 20'000;
  for (int n = 0;;) {
    int done = 0;
    check(
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
        "waiting for a message");
    if (done != 0) return;
    if (n > kSpins) std::this_thread::sleep_for(n < 2 * kSpins ? 20us : 500us);
    n += n < 2 * kSpins ? 1 : 0;
  }
}

class MpiComm final : public Comm {
 public:
  MpiComm() {
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "size");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  ~MpiComm() override { MPI_Finalize(); }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, std::span<const std::byte> bytes) override {
    start();
    add_send(to, bytes);
    wait_all(requests_);
  }
  void receive(int from, std::span<std::byte> bytes) override {
    start();
    add_receive(from, bytes);
    wait_all(requests_);
  }
  void exchange(std::span<const int> peers, std::span<const std::span<const std::byte>> own,
                std::span<const std::span<std::byte>> theirs) override {
    start();
    for (size_t i = 0; i < peers.size(); ++i) add_receive(peers[i], theirs[i]);
    for (size_t i = 0; i < peers.size(); ++i) add_send(peers[i], own[i]);
    wait_all(requests_);
  }

  void abort() noexcept override { MPI_Abort(MPI_COMM_WORLD, 1); }

 private:
  static constexpr size_t kPiece = size_t{1} << 30;  // lengths are int

  void start() { requests_.clear(); }
  void add_send(int to, std::span<const std::byte> bytes) {
    do {
      const size_t n = std::min(bytes.size(), kPiece);
      check(MPI_Isend(bytes.data(), static_cast<int>(n), MPI_BYTE, to, kTag, MPI_COMM_WORLD,
                      &requests_.emplace_back()),
            "sending");
      bytes = bytes.subspan(n);
    } while (!bytes.empty());
  }
  void add_receive(int from, std::span<std::byte> bytes) {
    do {
      const size_t n = std::min(bytes.size(), kPiece);
      check(MPI_Irecv(bytes.data(), static_cast<int>(n), MPI_BYTE, from, kTag, MPI_COMM_WORLD,
                      &requests_.emplace_back()),
            "receiving");
      bytes = bytes.subspan(n);
    } while (!bytes.empty());
  }

  int rank_ = 0, size_ = 1;
  std::vector<MPI_Request> requests_;
};

Result<std::unique_ptr<Comm>> open_mpi() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_SERIALIZED)
    return unsupported(
        "this MPI does not support calls from several threads, expected MPI_THREAD_SERIALIZED");
  return std::unique_ptr<Comm>(std::make_unique<MpiComm>());
}

}  // namespace

void register_mpi() { register_transport(open_mpi); }

}  // namespace pando
