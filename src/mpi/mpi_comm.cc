#include "mpi/mpi_comm.h"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <memory>
#include <mutex>
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

// One thread calls MPI at a time, and none waits in it.
class MpiComm final : public Comm {
 public:
  MpiComm() {
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "size");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (size_ > 1) heart_.emplace(mutex_, [this](const std::string& why) { abort(why); });
  }
  ~MpiComm() override {
    heart_.reset();
    MPI_Finalize();
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, std::span<const std::byte> bytes) override {
    communicate([&] { add_send(to, bytes); });
  }
  void receive(int from, std::span<std::byte> bytes) override {
    communicate([&] { add_receive(from, bytes); });
  }
  void exchange(std::span<const int> peers, std::span<const std::byte> own,
                std::span<const std::span<std::byte>> theirs) override {
    communicate([&] {
      for (size_t i = 0; i < peers.size(); ++i) add_receive(peers[i], theirs[i]);
      for (const int peer : peers) add_send(peer, own);
    });
  }

  void abort(std::string_view why) noexcept override {
    if (is_over_.exchange(true)) return check_time_is_left();
    fprintf(stderr, "pando: %.*s\n", static_cast<int>(why.size()), why.data());
    const std::chrono::milliseconds time = last_words_;
    if (time.count() > 0) try {
        std::thread([this, time] {
          std::this_thread::sleep_for(time);
          end_all();
        }).detach();
        return;
      } catch (const std::system_error&) {  // then without last words
      }
    end_all();
  }
  void set_last_words(std::chrono::milliseconds time) override { last_words_ = time; }

 private:
  static constexpr size_t kPiece = size_t{1} << 30;  // lengths are int

  void end_all() {
    const std::scoped_lock lock(mutex_);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  // Throws if the run is over.
  void check_goes_on() const {
    if (!is_over_) return;
    check_time_is_left();
    throw std::runtime_error("a process of this run has failed");  // clients may read it
  }
  // Returns if there is time for last words. Otherwise another thread is ending the process.
  void check_time_is_left() const {
    while (last_words_.load().count() == 0) std::this_thread::sleep_for(std::chrono::hours(1));
  }

  // Waits for what `start` adds.
  template <class Start>
  void communicate(const Start& start) {
    check_goes_on();
    requests_.clear();
    {
      const std::scoped_lock lock(mutex_);
      start();
    }
    wait_all();
  }
  // Lets the processor go to others while nothing arrives: a server may wait for hours.
  void wait_all() {
    using namespace std::chrono_literals;
    constexpr int kSpins = 20'000;
    for (int n = 0; !are_done();) {
      check_goes_on();
      if (n > kSpins) std::this_thread::sleep_for(n < 2 * kSpins ? 20us : 500us);
      n += n < 2 * kSpins ? 1 : 0;
    }
  }
  bool are_done() {
    int done = 0;
    const std::scoped_lock lock(mutex_);
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                      MPI_STATUSES_IGNORE),
          "waiting for a message");
    if (done == 0 && is_over_)  // their buffers may be gone soon
      for (MPI_Request& request : requests_)
        if (request != MPI_REQUEST_NULL) MPI_Cancel(&request);
    return done != 0;
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
  std::mutex mutex_;  // of MPI
  std::vector<MPI_Request> requests_;
  std::atomic<bool> is_over_{false};
  std::atomic<std::chrono::milliseconds> last_words_{std::chrono::milliseconds(0)};
  std::optional<Heart> heart_;  // first to go
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
