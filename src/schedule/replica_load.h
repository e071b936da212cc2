// Work that waits at one replica, and when it would answer one request more.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>

#include "schedule/pieces.h"

namespace pando {

using TicketId = uint64_t;

// A request, as far as a router knows it without a tokenizer.
struct RoutedWork {
  std::span<const Piece> pieces;  // of its prompt
  double n_prompt = 0;            // tokens of the prompt, about
  double n_answer = 0;            // tokens expected, of each answer
  double n_sequences = 1;         // answers
  // Time at which the first token is due.
  double deadline = std::numeric_limits<double>::infinity();
};

// Load and costs that a replica reports. A cost of 0 is not known: the one known before stays.
struct ReplicaReport {
  double seconds_left = 0;              // predicted, of all prompts that wait or are computed
  double n_running = 0, n_waiting = 0;  // requests
  double max_running = 0;               // 0: no limit
  double kv_tokens = 0;  // room of its cache, for tokens of kBytesPerToken; 0: unknown
  double seconds_per_prompt_token = 0;
  double seconds_per_prompt_key = 0;  // more, for each position before the token
  double seconds_per_step = 0;        // of decoding, with the requests that run now

  // With 0 for each value that is negative, not a number, or 1e15 and more.
  ReplicaReport checked() const;
};

// Seconds from now.
struct RoutePrediction {
  double prefill = 0;  // of what is not held
  double begins = 0;   // until the first token
  double ends = 0;     // until the last
};

// Load of one replica: its latest report, and the requests sent there since. One thread.
class ReplicaLoad {
 public:
  // asked: when it was asked for the report, which counts all requests sent before.
  void report(const ReplicaReport& report, double asked);
  void sent(TicketId ticket, const RoutedWork& work, size_t n_held, double now);
  void first_token(TicketId ticket, double now);
  void ended(TicketId ticket, double now);

  // n_held: leading pieces of the prompt that are held. patience: seconds that the request waits
  // for each prompt before it, for each second of its own prefill; infinite if none is overtaken.
  RoutePrediction predict(const RoutedWork& work, size_t n_held, double patience, double now) const;
  // Seconds of the prefill alone.
  double prefill(const RoutedWork& work, size_t n_held) const;
  // Predicted seconds of prompts that are not computed, at least half the prefill of requests
  // without a first token. So a replica that falls behind between two reports is not taken for
  // idle.
  double seconds_left(double now) const;
  // Open requests, of this router and of others.
  double n_open() const { return n_foreign_ + n_sequences_; }
  size_t n_tickets() const { return tickets_.size(); }
  // Forgets all but the costs, and calls forget(ticket) for each ticket.
  template <class Forget>
  void clear(const Forget& forget) {
    for (const auto& [id, ticket] : tickets_) forget(id);
    keep_costs_alone();
  }

 private:
  struct Ticket {
    double sent = 0;
    double prefill = 0;  // predicted seconds
    double n_sequences = 1;
    bool is_begun = false;
  };
  // Tickets without a first token whose prefills are about as long.
  struct Waiting {
    double n = 0;
    double prefill = 0;  // seconds, of all
  };
  static constexpr size_t kLengths = 16;

  void keep_costs_alone();
  Waiting& waiting_like(const Ticket& ticket);
  void begin(Ticket& ticket, double now);
  double seconds_before(double most_each, double now) const;

  // The latest. Costs that are not known are assumed to be these, so that longer prompts cost more.
  ReplicaReport report_{.seconds_per_prompt_token = 1e-4, .seconds_per_step = 1e-2};
  double free_at_ = 0;            // when all prompts are computed, as predicted
  double foreign_until_ = 0;      // when those are that tickets do not account for
  double n_foreign_ = 0;          // open requests of others, at the report
  double n_sequences_ = 0;        // of tickets
  double n_foreign_waiting_ = 0;  // of these
  size_t n_waiting_ = 0;          // tickets without a first token
  double waiting_ = 0;            // their prefill
  std::array<Waiting, kLengths> waiting_by_length_{};  // each twice as long as the one before
  std::unordered_map<TicketId, Ticket> tickets_;
};

}  // namespace pando
