#include "api/serve_replica.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "api/model_parts.h"
#include "api/replica_words.h"
#include "api/request_group.h"
#include "api/waker.h"

namespace pando {
namespace {

constexpr std::chrono::milliseconds kListenEvery{1};

template <class... T>
void say(Comm& comm, ReplicaWord word, const T&... values) {
  post_message(comm, 0, replica_message(word, values...));
}

// Requests of rank 0 to one engine. It neither waits for rank 0 to hear nor to speak.
class Session {
 public:
  Session(Comm& comm, Engine& engine)
      : comm_(comm),
        engine_(engine),
        group_(engine, {.waits_for_room = true, .on_events = [this] { waker_.wake(); }}) {}

  void run() {
    while (true) {
      {  // an idle engine plans together what came together
        const Engine::Hold filling = group_.n_in_engine() == 0 ? engine_.hold() : nullptr;
        while (comm_.has_message(0))
          if (!take(receive_message(comm_, 0))) return;
        group_.submit();
      }
      for (GroupEvent& one : group_.take()) tell(one);
      waker_.wait(std::chrono::steady_clock::now() + kListenEvery);
    }
  }

 private:
  // Handles one message. Returns true if more are to come.
  bool take(const std::vector<std::byte>& bytes) {
    ByteReader message(bytes);
    switch (message.read<ReplicaWord>()) {
      case ReplicaWord::kSubmit: {
        const auto number = message.read<uint64_t>();
        auto request = message.read<Request>();
        const int n = std::max(request.sampling.n, 1);
        const size_t index = group_.add(std::move(request));
        indexes_.emplace(number, index);
        asked_.emplace(index, Asked{number, n});
        return true;
      }
      case ReplicaWord::kCancel:
        if (const auto found = indexes_.find(message.read<uint64_t>()); found != indexes_.end()) {
          const size_t index = found->second;
          group_.cancel(index);
          forget(index);
        }
        return true;
      case ReplicaWord::kAskWaiting: {
        std::vector<uint64_t> waiting;
        for (const size_t index : group_.waiting()) waiting.push_back(asked_.at(index).number);
        say(comm_, ReplicaWord::kWaiting, waiting);
        return true;
      }
      case ReplicaWord::kAskStats:
        say(comm_, ReplicaWord::kStats, engine_.stats());
        return true;
      case ReplicaWord::kClose:
        return false;
      default:
        throw std::runtime_error("rank 0 sent a message that no open engine expects");
    }
  }

  void tell(const GroupEvent& one) {
    Asked& asked = asked_.at(one.request);
    if (one.event.error) {
      say(comm_, ReplicaWord::kFailed, asked.number, *one.event.error);
      forget(one.request);
    } else {
      say(comm_, ReplicaWord::kCompletion, asked.number, *one.event.completion);
      if (--asked.n_open == 0) forget(one.request);
    }
  }

  void forget(size_t index) {
    indexes_.erase(asked_.at(index).number);
    asked_.erase(index);
  }

  struct Asked {
    uint64_t number = 0;  // that rank 0 calls it by
    int n_open = 0;       // answers to come
  };

  Comm& comm_;
  Engine& engine_;
  std::map<size_t, Asked> asked_;       // by index in the group
  std::map<uint64_t, size_t> indexes_;  // of these, by number
  Waker waker_;
  RequestGroup group_;
};

Result<std::unique_ptr<Engine>> open(const Result<std::shared_ptr<const Model>>& model,
                                     EngineOptions options, int threads) {
  if (!model) return model.error();
  options.threads = threads;
  // Instruction sets give the same bits: a processor without that of rank 0 uses its best one.
  if (!(*model)->parts().device->isa_name(options.isa)) options.isa.clear();
  return Engine::open(*model, options);
}

}  // namespace

void serve_replica(Comm& comm, const Result<std::shared_ptr<const Model>>& model, int threads) {
  while (true) {
    const std::vector<std::byte> bytes = receive_message(comm, 0);
    ByteReader message(bytes);
    const auto word = message.read<ReplicaWord>();
    if (word == ReplicaWord::kDismiss) return;
    if (word != ReplicaWord::kOpen)
      throw std::runtime_error("rank 0 sent a message for an engine before it opened one");
    {
      const Result<std::unique_ptr<Engine>> engine =
          open(model, message.read<EngineOptions>(), threads);
      say(comm, ReplicaWord::kOpened, engine ? std::optional<Error>() : engine.error());
      if (!engine) continue;
      Session(comm, **engine).run();
    }
    say(comm, ReplicaWord::kClosed);
  }
}

void dismiss_replicas(Comm& comm, int ranks_each) {
  for (int rank = ranks_each; rank < comm.size(); rank += ranks_each)
    post_message(comm, rank, replica_message(ReplicaWord::kDismiss));
}

}  // namespace pando
