#include "api/remote_requests.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "api/model_parts.h"
#include "api/ranks.h"
#include "api/replica_words.h"
#include "base/errors.h"
#include "comm/comm.h"

namespace pando {
namespace {

// Midnight of a day such as "2026-11-25".
LocalTime midnight_of(const std::string& day) {
  LocalTime time;
  const char* at = day.data();
  for (int* part : {&time.year, &time.month, &time.day})
    at = std::from_chars(at, day.data() + day.size(), *part).ptr + 1;
  return time;
}

// Only opening, waiting(), stats() and the end wait for the other process.
class RemoteRequests final : public AskedRequests {
 public:
  RemoteRequests(std::shared_ptr<Ranks> ranks, int rank, const Engine& engine)
      : ranks_(std::move(ranks)),
        comm_(*ranks_->impl().comm),
        rank_(rank),
        max_open_(engine.options().max_open),
        day_(engine.model().chat_day()) {
    say(ReplicaWord::kOpen, engine.options());
  }
  ~RemoteRequests() override {
    try {
      if (!is_opened_) static_cast<void>(opened());
      if (!is_open_) return;
      say(ReplicaWord::kClose);
      hear_until(ReplicaWord::kClosed);
    } catch (const std::exception&) {
      // It is gone already.
    }
  }

  // Waits until the engine is open.
  Status opened() {
    is_opened_ = true;
    const std::vector<std::byte> bytes = receive_message(comm_, rank_);
    ByteReader message(bytes);
    expect(ReplicaWord::kOpened, message.read<ReplicaWord>());
    const auto error = message.read<std::optional<Error>>();
    is_open_ = !error;
    return error ? in_file(fmt::format("rank {}", rank_), *error) : Status();
  }

  using AskedRequests::add;
  size_t add(std::shared_ptr<const Request> request) override {
    to_submit_.emplace(n_added_, std::move(request));
    return n_added_++;
  }

  void submit() override {
    while (!to_submit_.empty()) {
      const auto first = to_submit_.begin();
      const int n = std::max(first->second->sampling.n, 1);
      if (!in_engine_.empty() && n_open_ + n > max_open_) return;
      say(ReplicaWord::kSubmit, uint64_t{n_submitted_}, with_day(*first->second));
      in_engine_.emplace(n_submitted_, Entry{first->first, n});
      numbers_.emplace(first->first, n_submitted_++);
      n_open_ += n;
      to_submit_.erase(first);
    }
  }

  std::vector<GroupEvent> take() override {
    while (comm_.has_message(rank_)) hear();
    return std::exchange(found_, {});
  }
  std::optional<std::chrono::steady_clock::time_point> retry_at() const override { return {}; }

  void cancel(size_t request) override {
    std::erase_if(found_, [&](const GroupEvent& one) { return one.request == request; });
    to_submit_.erase(request);
    const auto found = numbers_.find(request);
    if (found == numbers_.end()) return;
    const uint64_t number = found->second;
    say(ReplicaWord::kCancel, number);
    end(number);
  }
  void cancel_all() override {
    to_submit_.clear();
    while (!numbers_.empty()) cancel(numbers_.begin()->first);
    found_.clear();
  }
  std::vector<size_t> waiting() override {
    say(ReplicaWord::kAskWaiting);
    waiting_.clear();
    hear_until(ReplicaWord::kWaiting);
    for (const auto& [request, unused] : to_submit_) waiting_.insert(request);
    return {waiting_.begin(), waiting_.end()};
  }

  bool is_over() const override {
    return to_submit_.empty() && in_engine_.empty() && found_.empty();
  }
  size_t n_to_submit() const override { return to_submit_.size(); }
  size_t n_in_engine() const override { return in_engine_.size(); }
  int n_open_answers() const override { return n_open_; }
  void set_max_open(int n_answers) override { max_open_ = n_answers; }
  EngineStats stats() override {
    say(ReplicaWord::kAskStats);
    hear_until(ReplicaWord::kStats);
    return stats_;
  }

 private:
  struct Entry {
    size_t request = 0;
    int n_open = 0;  // answers to come
  };

  // A chat template takes the same day for today in all replicas.
  Request with_day(Request request) const {
    if (!request.messages.empty() && !request.chat.now && !day_.empty())
      request.chat.now = midnight_of(day_);
    return request;
  }

  template <class... T>
  void say(ReplicaWord word, const T&... values) {
    post_message(comm_, rank_, replica_message(word, values...));
  }
  static void expect(ReplicaWord expected, ReplicaWord found) {
    if (found != expected)
      throw std::runtime_error(fmt::format("a replica sent message {}, expected {}",
                                           static_cast<uint32_t>(found),
                                           static_cast<uint32_t>(expected)));
  }

  void hear_until(ReplicaWord word) {
    while (hear() != word) {
    }
  }
  ReplicaWord hear() {
    const std::vector<std::byte> bytes = receive_message(comm_, rank_);
    ByteReader message(bytes);
    const auto word = message.read<ReplicaWord>();
    switch (word) {
      case ReplicaWord::kCompletion: {
        const auto number = message.read<uint64_t>();
        auto completion = message.read<Completion>();
        Event event{.choice = completion.choice, .completion = std::move(completion)};
        note(number, std::move(event));
        break;
      }
      case ReplicaWord::kFailed: {
        const auto number = message.read<uint64_t>();
        note(number, Event{.error = message.read<Error>()});
        break;
      }
      case ReplicaWord::kWaiting:
        for (const uint64_t number : message.read<std::vector<uint64_t>>())
          if (const auto found = in_engine_.find(number); found != in_engine_.end())
            waiting_.insert(found->second.request);
        break;
      case ReplicaWord::kStats:
        stats_ = message.read<EngineStats>();
        break;
      default:
        expect(ReplicaWord::kClosed, word);
    }
    return word;
  }

  void note(uint64_t number, Event event) {
    const auto found = in_engine_.find(number);
    if (found == in_engine_.end()) return;  // cancelled
    Entry& entry = found->second;
    const bool is_last = event.error.has_value() || entry.n_open == 1;
    found_.push_back({entry.request, std::move(event), std::chrono::steady_clock::now()});
    if (is_last) return end(number);
    --entry.n_open;
    --n_open_;
  }
  void end(uint64_t number) {
    const auto found = in_engine_.find(number);
    n_open_ -= found->second.n_open;
    numbers_.erase(found->second.request);
    in_engine_.erase(found);
  }

  std::shared_ptr<Ranks> ranks_;
  Comm& comm_;
  int rank_;  // the first of the replica
  int max_open_;
  std::string day_;
  bool is_opened_ = false, is_open_ = false;  // told so; and without an error
  std::map<size_t, std::shared_ptr<const Request>> to_submit_;
  std::map<uint64_t, Entry> in_engine_;  // by number
  std::map<size_t, uint64_t> numbers_;   // of these
  std::vector<GroupEvent> found_;
  std::set<size_t> waiting_;
  EngineStats stats_;
  size_t n_added_ = 0;
  uint64_t n_submitted_ = 0;
  int n_open_ = 0;
};

}  // namespace

Result<std::vector<std::unique_ptr<AskedRequests>>> open_other_replicas(const Engine& engine) {
  std::vector<std::unique_ptr<AskedRequests>> opened;
  const std::shared_ptr<Ranks> ranks = engine.model().parts().ranks;
  if (ranks == nullptr) return opened;
  const RankLayout& layout = ranks->impl().layout;
  std::vector<std::unique_ptr<RemoteRequests>> all;  // they open at the same time
  for (int replica = 1; replica < layout.replicas; ++replica)
    all.push_back(std::make_unique<RemoteRequests>(ranks, replica * layout.n_ranks(), engine));
  for (std::unique_ptr<RemoteRequests>& one : all)
    if (Status status = one->opened(); !status) return status.error();
  for (std::unique_ptr<RemoteRequests>& one : all) opened.push_back(std::move(one));
  return opened;
}

}  // namespace pando
