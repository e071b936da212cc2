#include "mpi/mpi_comm.h"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/errors.h"
#include "comm/transport.h"
#include "mpi/heart.h"

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

class MpiComm final : public Comm {
 public:
  // many_threads: several of them may call MPI at the same time.
  explicit MpiComm(bool many_threads) {
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "size");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (size_ == 1) return;
    if (many_threads)
      heart_.emplace([this](const std::string& why) { abort(why); });
    else if (rank_ == 0)
      fprintf(
          stderr,
          "pando: this MPI does not support MPI_THREAD_MULTIPLE, so a process that hangs is not "
          "noticed\n");
  }
  ~MpiComm() override {
    heart_.reset();
    MPI_Finalize();
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, std::span<const std::byte> bytes) override {
    start();
    add_send(to, bytes);
    wait_all();
  }
  void receive(int from, std::span<std::byte> bytes) override {
    start();
    add_receive(from, bytes);
    wait_all();
  }
  void exchange(std::span<const int> peers, std::span<const std::span<const std::byte>> own,
                std::span<const std::span<std::byte>> theirs) override {
    start();
    for (size_t i = 0; i < peers.size(); ++i) add_receive(peers[i], theirs[i]);
    for (size_t i = 0; i < peers.size(); ++i) add_send(peers[i], own[i]);
    wait_all();
  }

  void abort(std::string_view why) noexcept override {
    if (is_over_.exchange(true)) return check_time_is_left();
    fprintf(stderr, "pando: %.*s\n", static_cast<int>(why.size()), why.data());
    const std::chrono::milliseconds time = last_words_;
    if (time.count() > 0) try {
        std::thread([time] {
          std::this_thread::sleep_for(time);
          MPI_Abort(MPI_COMM_WORLD, 1);
        }).detach();
        return;
      } catch (const std::system_error&) {  // then without last words
      }
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  void set_last_words(std::chrono::milliseconds time) override { last_words_ = time; }

 private:
  static constexpr size_t kPiece = size_t{1} << 30;  // lengths are int

  void start() {
    check_goes_on();
    requests_.clear();
  }
  void check_goes_on() const {
    if (!is_over_) return;
    check_time_is_left();
    throw std::runtime_error("a process of this run has failed");  // clients may read it
  }
  // Returns if there is time for last words. Otherwise another thread is ending the process.
  void check_time_is_left() const {
    while (last_words_.load().count() == 0) std::this_thread::sleep_for(std::chrono::hours(1));
  }

  // Lets the processor go to others while nothing arrives: a server may wait for hours.
  void wait_all() {
    using namespace std::chrono_literals;
    constexpr int kSpins = 20'000;
    for (int n = 0;;) {
      int done = 0;
      check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                        MPI_STATUSES_IGNORE),
            "waiting for a message");
      if (done != 0) return;
      if (is_over_) drop_requests();
      check_goes_on();
      if (n > kSpins) std::this_thread::sleep_for(n < 2 * kSpins ? 20us : 500us);
      n += n < 2 * kSpins ? 1 : 0;
    }
  }

  // Their buffers may be gone soon.
  void drop_requests() {
    for (MPI_Request& request : requests_)
      if (request != MPI_REQUEST_NULL) MPI_Cancel(&request);
  }

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
  std::atomic<bool> is_over_{false};
  std::atomic<std::chrono::milliseconds> last_words_{std::chrono::milliseconds(0)};
  std::optional<Heart> heart_;  // first to go
};

Result<std::unique_ptr<Comm>> open_mpi() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_SERIALIZED)
    return unsupported(
        "this MPI does not support calls from several threads, expected MPI_THREAD_SERIALIZED");
  return std::unique_ptr<Comm>(
      std::make_unique<MpiComm>(/*many_threads=*/provided == MPI_THREAD_MULTIPLE));
}

}  // namespace

void register_mpi() { register_transport(open_mpi); }

}  // namespace pando
