#include "mpi/heart.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

namespace pando {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kBeat = 1s;
constexpr Seconds kPatience = 20s;
constexpr auto kLeavingBeat = 5ms;

enum class Beat : unsigned char { kAlive, kLeaving };

std::vector<std::string> hosts_of_ranks(int n_ranks) {
  constexpr int kLength = MPI_MAX_PROCESSOR_NAME;
  std::vector<char> own(kLength), all(size_t{kLength} * n_ranks);
  int length = 0;
  MPI_Get_processor_name(own.data(), &length);
  MPI_Allgather(own.data(), kLength, MPI_CHAR, all.data(), kLength, MPI_CHAR, MPI_COMM_WORLD);
  std::vector<std::string> hosts;
  for (int rank = 0; rank < n_ranks; ++rank) hosts.emplace_back(&all[size_t{kLength} * rank]);
  return hosts;
}

}  // namespace

// The other end of messages.
class Heart::Peer {
 public:
  Peer(MPI_Comm comm, int rank, Seconds patience) : comm_(comm), rank_(rank), patience_(patience) {
    listen();
  }

  // `passed`: time since the last call.
  void hear(Seconds passed) {
    silence_ += passed;
    for (int done = 1; !has_left_;) {
      MPI_Test(&heard_, &done, MPI_STATUS_IGNORE);
      if (done == 0) return;
      silence_ = 0s;
      has_left_ = in_ == Beat::kLeaving;
      if (!has_left_) listen();
    }
  }
  // Does nothing until the message before has gone out.
  void tell(Beat beat) {
    int done = 0;
    MPI_Test(&told_, &done, MPI_STATUS_IGNORE);
    if (done == 0 || out_ == Beat::kLeaving) return;
    out_ = beat;
    MPI_Isend(&out_, 1, MPI_BYTE, rank_, /*tag=*/0, comm_, &told_);
  }

  int rank() const { return rank_; }
  bool is_over() const { return has_left_ && out_ == Beat::kLeaving && told_ == MPI_REQUEST_NULL; }
  bool is_silent() const { return !has_left_ && silence_ > patience_; }

 private:
  void listen() { MPI_Irecv(&in_, 1, MPI_BYTE, rank_, /*tag=*/0, comm_, &heard_); }

  MPI_Comm comm_;
  int rank_;
  Seconds patience_, silence_{0};
  Beat in_{}, out_{};
  MPI_Request heard_ = MPI_REQUEST_NULL, told_ = MPI_REQUEST_NULL;
  bool has_left_ = false;
};

Heart::Heart(std::mutex& mpi, std::function<void(const std::string&)> on_silence)
    : mpi_(mpi), on_silence_(std::move(on_silence)) {
  int rank = 0, n_ranks = 0;
  MPI_Comm comm{};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &n_ranks);
  hosts_ = hosts_of_ranks(n_ranks);
  // Staggered: if rank 0 falls silent, one rank reports it and ends the run before the next does.
  const Seconds patience = kPatience + Seconds(std::clamp(rank - 1, 0, 10));
  for (int other = rank == 0 ? 1 : 0; other < (rank == 0 ? n_ranks : 1); ++other)
    peers_.push_back(std::make_unique<Peer>(comm, other, patience));
  thread_ = std::thread([this] { run(); });
}

Heart::~Heart() {
  {
    const std::scoped_lock lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Heart::run() {
  auto last = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool leaving = leaving_;
    lock.unlock();
    // A process that was stopped itself has heard nothing meanwhile: that time does not count.
    const auto now = std::chrono::steady_clock::now();
    const bool is_over =
        beat(std::min<Seconds>(now - std::exchange(last, now), 2 * kBeat), leaving);
    for (const std::unique_ptr<Peer>& peer : peers_)
      if (peer->is_silent())
        return on_silence_(fmt::format("rank {} on {} is silent for {} s, so all processes end",
                                       peer->rank(), hosts_[peer->rank()], kPatience.count()));
    if (is_over) return;
    lock.lock();
    const Seconds pause = leaving ? Seconds(kLeavingBeat) : kBeat;
    changed_.wait_for(lock, pause, [&] { return leaving_ != leaving; });
  }
}

// `passed`: time since the last call. Returns whether all have left.
bool Heart::beat(Seconds passed, bool leaving) {
  const std::scoped_lock lock(mpi_);
  bool is_over = leaving;
  for (const std::unique_ptr<Peer>& peer : peers_) {
    peer->hear(passed);
    peer->tell(leaving ? Beat::kLeaving : Beat::kAlive);
    is_over = is_over && peer->is_over();
  }
  return is_over;
}

}  // namespace pando
