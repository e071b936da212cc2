#include "schedule/replica_load.h"

#include <algorithm>
#include <cmath>

namespace pando {

void ReplicaLoad::keep_costs_alone() {
  const ReplicaReport known = report_;
  *this = {};
  report_ = {.max_running = known.max_running,
             .seconds_per_prompt_token = known.seconds_per_prompt_token,
             .seconds_per_prompt_key = known.seconds_per_prompt_key,
             .seconds_per_step = known.seconds_per_step};
}

ReplicaReport ReplicaReport::checked() const {
  ReplicaReport checked = *this;
  for (double ReplicaReport::*value :
       {&ReplicaReport::seconds_left, &ReplicaReport::n_running, &ReplicaReport::n_waiting,
        &ReplicaReport::max_running, &ReplicaReport::kv_tokens,
        &ReplicaReport::seconds_per_prompt_token, &ReplicaReport::seconds_per_prompt_key,
        &ReplicaReport::seconds_per_step})
    if (!(checked.*value > 0 && checked.*value < 1e15)) checked.*value = 0;
  return checked;
}

void ReplicaLoad::report(const ReplicaReport& report, double asked) {
  const ReplicaReport before = report_;
  report_ = report;
  for (double ReplicaReport::*cost :
       {&ReplicaReport::seconds_per_prompt_token, &ReplicaReport::seconds_per_prompt_key,
        &ReplicaReport::seconds_per_step})
    if (report_.*cost <= 0) report_.*cost = before.*cost;
  double counted = 0, since = 0, n_counted = 0, n_waiting_counted = 0;
  for (const auto& [id, ticket] : tickets_) {
    if (!ticket.is_begun) (ticket.sent < asked ? counted : since) += ticket.prefill;
    if (ticket.sent >= asked) continue;
    n_counted += ticket.n_sequences;
    n_waiting_counted += !ticket.is_begun;
  }
  free_at_ = asked + report.seconds_left + since;
  n_foreign_waiting_ = std::max(0.0, report.n_waiting - n_waiting_counted);
  foreign_until_ = asked + std::max(0.0, report.seconds_left - counted);
  n_foreign_ = std::max(0.0, report.n_running + report.n_waiting - n_counted);
}

void ReplicaLoad::sent(TicketId id, const RoutedWork& work, size_t n_held, double now) {
  const Ticket ticket{
      .sent = now, .prefill = prefill(work, n_held), .n_sequences = work.n_sequences};
  tickets_.emplace(id, ticket);
  free_at_ = std::max(free_at_, now) + ticket.prefill;
  waiting_ += ticket.prefill;
  ++n_waiting_;
  Waiting& like = waiting_like(ticket);
  ++like.n;
  like.prefill += ticket.prefill;
  n_sequences_ += ticket.n_sequences;
}

void ReplicaLoad::begin(Ticket& ticket, double now) {
  if (ticket.is_begun) return;
  ticket.is_begun = true;
  waiting_ = --n_waiting_ == 0 ? 0 : std::max(0.0, waiting_ - ticket.prefill);
  Waiting& like = waiting_like(ticket);
  like.prefill = --like.n == 0 ? 0 : std::max(0.0, like.prefill - ticket.prefill);
  free_at_ = std::min(free_at_, std::max(foreign_until_, now) + waiting_);
}

void ReplicaLoad::first_token(TicketId id, double now) {
  const auto found = tickets_.find(id);
  if (found != tickets_.end()) begin(found->second, now);
}

void ReplicaLoad::ended(TicketId id, double now) {
  const auto found = tickets_.find(id);
  if (found == tickets_.end()) return;
  begin(found->second, now);
  n_sequences_ -= found->second.n_sequences;
  tickets_.erase(found);
  if (tickets_.empty()) n_sequences_ = 0;
}

double ReplicaLoad::prefill(const RoutedWork& work, size_t n_held) const {
  // The last token is computed in any case.
  const double held =
      std::min(kPieceTokens * static_cast<double>(n_held), std::max(0.0, work.n_prompt - 1));
  const double n_new = work.n_prompt - held, n_before = (work.n_prompt + held) / 2;
  return n_new * (report_.seconds_per_prompt_token + n_before * report_.seconds_per_prompt_key);
}

RoutePrediction ReplicaLoad::predict(const RoutedWork& work, size_t n_held, double patience,
                                     double now) const {
  RoutePrediction predicted{.prefill = prefill(work, n_held)};
  double n_running = n_open() + work.n_sequences, wait = 0;
  const double decode = work.n_answer * report_.seconds_per_step;
  if (report_.max_running > 0 && n_running > report_.max_running) {
    // Until as many have ended, if others' answers are as long.
    wait = decode * (n_running - report_.max_running) / report_.max_running;
    n_running = report_.max_running;
  }
  const double before =
      std::isinf(patience) ? seconds_left(now) : seconds_before(patience * predicted.prefill, now);
  predicted.begins = std::max(before, wait) + predicted.prefill;
  // About half of a step's time grows with the number of answers.
  const double growth = std::max(1.0, n_running / std::max(1.0, report_.n_running));
  predicted.ends = predicted.begins + decode * (1 + growth) / 2;
  return predicted;
}

ReplicaLoad::Waiting& ReplicaLoad::waiting_like(const Ticket& ticket) {
  constexpr int kShortest = -10;  // about a millisecond
  const int length = ticket.prefill > 0 ? std::ilogb(ticket.prefill) - kShortest : 0;
  return waiting_by_length_[static_cast<size_t>(std::clamp(length, 0, int{kLengths} - 1))];
}

// The part of seconds_left that a prompt waits for, at most so long for each prompt before it.
double ReplicaLoad::seconds_before(double most_each, double now) const {
  double before =
      std::min(std::max(0.0, foreign_until_ - now), std::max(1.0, n_foreign_waiting_) * most_each);
  for (const Waiting& like : waiting_by_length_)
    if (like.n > 0) before += std::min(like.prefill, like.n * most_each);
  return std::min(seconds_left(now), before);
}

double ReplicaLoad::seconds_left(double now) const {
  return std::max(free_at_ - now, waiting_ / 2);
}

}  // namespace pando
