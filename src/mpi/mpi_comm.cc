#include "mpi/mpi_comm.h"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "mpi/heart.h"

namespace pando {
namespace {

using namespace std::chrono_literals;

constexpr int kTag = 0;

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string("MPI: ") + what + ": " + text);
}

// Ranks over MPI. Only one thread calls MPI at a time, and none waits in it.
class MpiComm final : public Comm {
 public:
  MpiComm() {
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "size");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (size_ > 1) heart_.emplace(mutex_, [this](const std::string& why) { abort(why); });
  }
  ~MpiComm() override {
    {
      const std::scoped_lock lock(mutex_);
      is_ending_ = true;
    }
    has_posted_.notify_one();
    if (poster_.joinable()) poster_.join();
    heart_.reset();
    MPI_Finalize();
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, std::span<const std::byte> bytes) override {
    communicate([&](Requests& requests) { add_send(to, bytes, requests); });
  }
  void receive(int from, std::span<std::byte> bytes) override {
    communicate([&](Requests& requests) { add_receive(from, bytes, requests); });
  }
  void exchange(std::span<const int> peers, std::span<const std::span<const std::byte>> own,
                std::span<const std::span<std::byte>> theirs) override {
    communicate([&](Requests& requests) {
      for (size_t i = 0; i < peers.size(); ++i) add_receive(peers[i], theirs[i], requests);
      for (size_t i = 0; i < peers.size(); ++i) add_send(peers[i], own[i], requests);
    });
  }

  void post(int to, std::vector<std::byte> bytes) override {
    check_goes_on();
    const std::scoped_lock lock(mutex_);
    if (!failure_.empty()) throw std::runtime_error(failure_);
    if (!poster_.joinable()) poster_ = std::thread([this] { finish_posted(); });
    posted_.push_back({std::move(bytes)});
    Posted& one = posted_.back();
    add_send(to, one.bytes, one.requests);
    has_posted_.notify_one();
  }
  bool has_message(int from) override {
    check_goes_on();
    int found = 0;
    const std::scoped_lock lock(mutex_);
    if (!failure_.empty()) throw std::runtime_error(failure_);
    check(MPI_Iprobe(from, kTag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE), "probing");
    return found != 0;
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

  using Requests = std::vector<MPI_Request>;
  struct Posted {
    std::vector<std::byte> bytes;
    Requests requests = {};
  };

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
    Requests requests;
    {
      const std::scoped_lock lock(mutex_);
      start(requests);
    }
    wait_all(requests);
  }
  // Lets the processor go to others while nothing arrives: a server may wait for hours.
  void wait_all(Requests& requests) {
    constexpr int kSpins = 20'000;
    for (int n = 0; !are_done(requests);) {
      check_goes_on();
      if (n > kSpins) std::this_thread::sleep_for(n < 2 * kSpins ? 20us : 500us);
      n += n < 2 * kSpins ? 1 : 0;
    }
  }
  bool are_done(Requests& requests) {
    const std::scoped_lock lock(mutex_);
    const bool done = test(requests);
    if (!done && is_over_)  // their buffers may be gone soon
      for (MPI_Request& request : requests)
        if (request != MPI_REQUEST_NULL) MPI_Cancel(&request);
    return done;
  }

  // Call with the lock, as the next two.
  static bool test(Requests& requests) {
    int done = 0;
    check(
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
        "waiting for a message");
    return done != 0;
  }
  static void add_send(int to, std::span<const std::byte> bytes, Requests& requests) {
    do {
      const size_t n = std::min(bytes.size(), kPiece);
      check(MPI_Isend(bytes.data(), static_cast<int>(n), MPI_BYTE, to, kTag, MPI_COMM_WORLD,
                      &requests.emplace_back()),
            "sending");
      bytes = bytes.subspan(n);
    } while (!bytes.empty());
  }
  static void add_receive(int from, std::span<std::byte> bytes, Requests& requests) {
    do {
      const size_t n = std::min(bytes.size(), kPiece);
      check(MPI_Irecv(bytes.data(), static_cast<int>(n), MPI_BYTE, from, kTag, MPI_COMM_WORLD,
                      &requests.emplace_back()),
            "receiving");
      bytes = bytes.subspan(n);
    } while (!bytes.empty());
  }

  // Runs on a thread of its own, so that posted messages go out while their sender computes.
  void finish_posted() noexcept {
    std::unique_lock lock(mutex_);
    try {
      while (true) {
        has_posted_.wait(lock, [&] { return is_ending_ || !posted_.empty(); });
        if (posted_.empty()) return;
        if (test(posted_.front().requests)) {
          posted_.pop_front();
          continue;
        }
        lock.unlock();
        std::this_thread::sleep_for(50us);
        lock.lock();
      }
    } catch (const std::exception& error) {
      failure_ = error.what();
    }
  }

  int rank_ = 0, size_ = 1;
  std::mutex mutex_;  // of MPI
  std::condition_variable has_posted_;
  std::deque<Posted> posted_;  // that may not be over
  std::string failure_;        // of these
  bool is_ending_ = false;
  std::thread poster_;
  std::atomic<bool> is_over_{false};
  std::atomic<std::chrono::milliseconds> last_words_{std::chrono::milliseconds(0)};
  std::optional<Heart> heart_;  // first to go
};

}  // namespace
}  // namespace pando

extern "C" __attribute__((visibility("default"))) pando::Comm* pando_open_mpi(
    const char** refusal) {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) == MPI_SUCCESS &&
      provided >= MPI_THREAD_SERIALIZED)
    return new pando::MpiComm;
  *refusal = "this MPI does not allow calls from several threads, expected MPI_THREAD_SERIALIZED";
  return nullptr;
}

// The signature is the one that the program expects.
static_assert(std::is_same_v<decltype(pando_open_mpi), pando::OpenMpi>);
