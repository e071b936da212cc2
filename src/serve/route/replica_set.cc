#include "serve/route/replica_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <utility>

#include "base/errors.h"
#include "serve/model_names.h"

namespace pando::serve {
namespace {

constexpr std::chrono::milliseconds kOwnPause{200};    // after a problem of this router
constexpr std::chrono::milliseconds kFirstPause{500};  // between questions
constexpr std::chrono::seconds kSteady{5};  // after such a time up, earlier breaks do not count

// After so many failures, one after the other. Jitter keeps routers from asking in step.
std::chrono::milliseconds pause_after(int n_failures, std::chrono::milliseconds longest) {
  static thread_local std::minstd_rand random{std::random_device{}()};
  const std::chrono::milliseconds first = std::min(kFirstPause, longest);
  const double full = std::min(1.0 * longest.count(), first.count() * std::exp2(n_failures - 1));
  std::uniform_real_distribution<double> jitter(0.5, 1);
  return std::max(first, std::chrono::milliseconds(static_cast<int64_t>(full * jitter(random))));
}

bool has_model(const ReplicaStatus& status, std::string_view model) {
  return model.empty() || status.takes_any_model || has_name(status.models, model);
}

ReplicaState state_of(ReplicaHealth health) {
  if (health == ReplicaHealth::kUp) return ReplicaState::kUp;
  return health == ReplicaHealth::kDraining ? ReplicaState::kDraining : ReplicaState::kPaused;
}

}  // namespace

const char* replica_health_name(ReplicaHealth health) {
  constexpr const char* kNames[] = {"unknown", "up", "down", "draining"};
  return kNames[static_cast<int>(health)];
}

ReplicaSet::ReplicaSet(const RouteOptions& options, boost::asio::ssl::context* tls)
    : options_(options), tls_(tls), router_(options.router) {}

double ReplicaSet::seconds(Clock::time_point time) const {
  return std::chrono::duration<double>(time - start_).count();
}

ReplicaSet::Entry* ReplicaSet::find(const Replica& replica) {
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.replica.get() == &replica; });
  return found == entries_.end() ? nullptr : &*found;
}

ReplicaSet::Entry* ReplicaSet::find(std::string_view name) {
  const auto found = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.replica->name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

ReplicaSet::Choice ReplicaSet::sent(Entry& entry, const Wanted& wanted) {
  const double now = seconds(Clock::now());
  RoutedWork work = wanted.work;
  work.deadline += now;
  ++entry.replica->n_requests;
  return {.replica = entry.replica,
          .fingerprint = entry.status.fingerprint,
          .ticket = router_.sent(entry.id, work, now)};
}

Result<ReplicaSet::Choice> ReplicaSet::choose(const Wanted& wanted) {
  const std::lock_guard lock(mutex_);
  excluded_.clear();
  bool is_known = false;  // the model
  for (const Entry& entry : entries_) {
    const bool serves = has_model(entry.status, wanted.model);
    is_known |= serves && !entry.status.models.empty();
    if (!serves ||
        (!wanted.fingerprint.empty() && entry.status.fingerprint != wanted.fingerprint) ||
        std::ranges::find(wanted.excluded, entry.replica) != wanted.excluded.end())
      excluded_.push_back(entry.id);
  }
  const double now = seconds(Clock::now());
  RoutedWork work = wanted.work;
  work.deadline += now;
  const std::optional<RouteChoice> choice = router_.choose(work, now, excluded_);
  if (!choice) {
    const bool knows_all =
        is_whole_ && !entries_.empty() && std::ranges::none_of(entries_, [](const Entry& entry) {
          return entry.status.models.empty();
        });
    if (!is_known && knows_all)
      return not_found("the model '{}' is served by no replica", one_line(wanted.model));
    return make_error(ErrorCode::kUnavailable, "no replica is available (hint: try again later)");
  }
  const auto chosen = std::ranges::find(entries_, choice->replica, &Entry::id);
  return sent(*chosen, wanted);
}

std::optional<ReplicaSet::Choice> ReplicaSet::choose_named(const std::string& name,
                                                           const Wanted& wanted) {
  const std::lock_guard lock(mutex_);
  Entry* entry = find(name);
  if (entry == nullptr || entry->health != ReplicaHealth::kUp ||
      !has_model(entry->status, wanted.model) ||
      std::ranges::find(wanted.excluded, entry->replica) != wanted.excluded.end())
    return std::nullopt;
  return sent(*entry, wanted);
}

void ReplicaSet::first_token(TicketId ticket) {
  const std::lock_guard lock(mutex_);
  router_.first_token(ticket, seconds(Clock::now()));
}

void ReplicaSet::ended(TicketId ticket) {
  const std::lock_guard lock(mutex_);
  router_.ended(ticket, seconds(Clock::now()));
}

void ReplicaSet::set_health(Entry& entry, ReplicaHealth health, std::string problem) {
  if (health == ReplicaHealth::kUp && entry.is_leaving) health = ReplicaHealth::kDraining;
  const bool is_news = std::exchange(entry.health, health) != health;
  entry.problem = std::move(problem);
  router_.set_state(entry.id, state_of(health));
  if (is_news && log)
    log(fmt::format("replica {} is {}{}{}", entry.replica->name, replica_health_name(health),
                    entry.problem.empty() ? "" : ": ", entry.problem));
}

void ReplicaSet::pause(const Replica& replica, std::string problem) {
  const std::lock_guard lock(mutex_);
  Entry* entry = find(replica);
  // Requests break together: those that follow the first tell nothing new.
  if (entry == nullptr || entry->health == ReplicaHealth::kDown) return;
  const Clock::time_point now = Clock::now();
  if (now - entry->up_since > kSteady) entry->n_breaks = 0;
  entry->asks_from = now;
  if (entry->n_breaks > 0) entry->asks_from += pause_after(entry->n_breaks, options_.longest_pause);
  ++entry->n_breaks;
  entry->next_ask = now + until_asked(*entry, entry->asks_from - now);
  set_health(*entry, ReplicaHealth::kDown, std::move(problem));
}

// In time to notice its silence, while it has requests.
ReplicaSet::Clock::duration ReplicaSet::until_asked(const Entry& entry,
                                                    Clock::duration pause) const {
  const Clock::duration longest = options_.replica_timeout / 4;
  return entry.replica->n_exchanges() > 0 ? std::min(pause, longest) : pause;
}

void ReplicaSet::replace(const std::vector<Address>& addresses, bool is_whole) {
  std::set<std::string> wanted;  // names, as two URLs may be one replica
  for (const auto& [url, endpoint] : addresses) wanted.insert(Replica::name_of(url, endpoint));
  const std::lock_guard lock(mutex_);
  is_whole_ = is_whole;
  for (Entry& entry : entries_) {
    const bool stays = wanted.erase(entry.replica->name) > 0;
    if (stays == !entry.is_leaving) continue;
    entry.is_leaving = !stays;
    if (!stays && entry.health == ReplicaHealth::kUp)
      set_health(entry, ReplicaHealth::kDraining, "it was taken from the list");
    if (stays) entry.next_ask = Clock::now();
  }
  for (const Address& address : addresses) {
    if (wanted.empty() || router_.n_replicas() + 1 >= Router::kMostReplicas) break;
    if (wanted.erase(Replica::name_of(address.first, address.second)) == 0) continue;
    Entry entry{.replica = std::make_shared<Replica>(address.first, address.second, tls_),
                .id = router_.join()};
    entry.next_ask = Clock::now();
    router_.set_state(entry.id, ReplicaState::kPaused);
    entries_.push_back(std::move(entry));
  }
}

std::vector<ReplicaSet::Due> ReplicaSet::due(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::vector<Due> due;
  due.reserve(entries_.size());  // one that is marked as asked is returned
  for (Entry& entry : entries_) {
    if (entry.is_asked || entry.next_ask > now) continue;
    entry.is_asked = true;
    if (!entry.silent_since) entry.silent_since = now;
    due.push_back({entry.replica, entry.status.held.version});
  }
  return due;
}

void ReplicaSet::take(const Replica& replica, ReplicaStatus status, Clock::time_point asked) {
  const std::lock_guard lock(mutex_);
  Entry* entry = find(replica);
  if (entry == nullptr) return;
  const Clock::time_point now = Clock::now();
  if (entry->status.process != status.process && !entry->status.process.empty()) {
    router_.restarted(entry->id);
    // Later requests may be the new process's. If not, their connections break.
    const size_t n_cut = entry->replica->cut_begun(entry->last_asked);
    if (log)
      log(fmt::format("replica {} was started again: {} open requests of its earlier process",
                      entry->replica->name, n_cut));
  }
  router_.report(entry->id, status.report, status.held, seconds(asked), seconds(now));
  status.held.pieces = {};
  entry->status = std::move(status);
  entry->is_asked = false;
  entry->n_failures = 0;
  entry->silent_since.reset();
  entry->last_asked = asked;
  if (asked < entry->asks_from) {  // it has broken a request since
    entry->next_ask = now + until_asked(*entry, entry->asks_from - now);
    return;
  }
  // Requests may come before the next question.
  entry->next_ask = now + std::min(options_.probe_interval, options_.replica_timeout / 4);
  if (entry->health != ReplicaHealth::kUp) entry->up_since = now;
  set_health(*entry, entry->status.is_draining ? ReplicaHealth::kDraining : ReplicaHealth::kUp, "");
}

void ReplicaSet::fail(const Replica& replica, std::string problem, bool is_refused) {
  const std::lock_guard lock(mutex_);
  Entry* entry = find(replica);
  if (entry == nullptr) return;
  const Clock::time_point now = Clock::now();
  if (is_refused) entry->silent_since.reset();
  entry->is_asked = false;
  const auto pause = pause_after(++entry->n_failures, options_.longest_pause);
  entry->next_ask = now + until_asked(*entry, pause);
  set_health(*entry, ReplicaHealth::kDown, std::move(problem));
}

void ReplicaSet::ask_again(const Replica& replica) noexcept {
  const std::lock_guard lock(mutex_);
  Entry* entry = find(replica);
  if (entry == nullptr) return;
  entry->is_asked = false;
  entry->silent_since.reset();
  entry->next_ask = Clock::now() + kOwnPause;
}

void ReplicaSet::look(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    entry.replica->close_old(now);
    if (entry.silent_since && now - *entry.silent_since > options_.replica_timeout)
      entry.replica->cut_silent(now - options_.replica_timeout);
  }
  std::erase_if(entries_, [&](const Entry& entry) {
    if (!entry.is_leaving || entry.is_asked || entry.replica->n_exchanges() > 0) return false;
    entry.replica->close_idle();
    router_.leave(entry.id);
    return true;
  });
}

bool ReplicaSet::is_any_up() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::find(entries_, ReplicaHealth::kUp, &Entry::health) != entries_.end();
}

bool ReplicaSet::is_any_unknown() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::find(entries_, ReplicaHealth::kUnknown, &Entry::health) != entries_.end();
}

std::vector<std::shared_ptr<Replica>> ReplicaSet::up() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Replica>> up;
  for (const Entry& entry : entries_)
    if (entry.health == ReplicaHealth::kUp) up.push_back(entry.replica);
  return up;
}

std::vector<ReplicaOverview> ReplicaSet::facts() const {
  const std::lock_guard lock(mutex_);
  std::vector<ReplicaOverview> all;
  const double now = seconds(Clock::now());
  for (const Entry& entry : entries_) {
    const ReplicaView view = router_.view(entry.id, now);
    all.push_back({.name = entry.replica->name,
                   .health = entry.health,
                   .problem = entry.problem,
                   .models = entry.status.models,
                   .longest = entry.status.longest,
                   .n_requests = entry.replica->n_requests,
                   .n_failed = entry.replica->n_failed,
                   .n_continued = entry.replica->n_continued,
                   .n_open = view.n_open,
                   .seconds_left = view.seconds_left});
  }
  return all;
}

std::vector<std::pair<std::string, uint64_t>> ReplicaSet::models() const {
  std::vector<std::pair<std::string, uint64_t>> models;
  for (const ReplicaOverview& facts : facts())
    for (const std::string& name : facts.models) {
      const auto known = std::ranges::find(models, name, &std::pair<std::string, uint64_t>::first);
      if (known == models.end())
        models.emplace_back(name, facts.longest);
      else
        known->second = std::min(known->second, facts.longest);
    }
  return models;
}

void ReplicaSet::close_idle() {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) entry.replica->close_idle();
}

}  // namespace pando::serve
