// Deals the lines of a batch to replicas.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "batch/open_line.h"
#include "schedule/router.h"

namespace pando {

// Predicted cost of a line, in tokens, estimated from its bytes.
struct LineWork {
  std::vector<Piece> pieces;  // that its prompts begin with
  double own = 0;             // tokens behind these pieces, and of answers

  // answer_tokens: what is expected of an answer that may have as many.
  static LineWork of(const ask::Line& line, double answer_tokens);
  double all() const { return kPieceTokens * static_cast<double>(pieces.size()) + own; }
};

// Gathers lines for a round, then deals them: the largest first, each to the replica with the least
// work that is not done. What shares most of its beginning with the line before goes with that
// line. What shares a beginning with earlier lines goes where these went, unless that replica has
// more work than another, by kAgain times what the beginning costs. One thread.
class Dealer {
 public:
  static constexpr double kAgain = 4;

  // in_order: lines are dealt in the order of the input instead.
  Dealer(size_t n_replicas, bool in_order);

  // Not while a round is dealt. Of a line that has records.
  void add(std::vector<std::shared_ptr<OpenRecord>> records, LineWork work);
  size_t n_gathered() const { return n_gathered_; }  // records of the round that are not dealt

  void begin_round();
  bool is_dealing() const { return is_dealing_; }  // until nothing of the round is left
  // The next records; they know their replica.
  std::vector<std::shared_ptr<OpenRecord>> deal();
  // A record that was dealt is over, or taken back.
  void end(const OpenRecord& record) { router_.ended(record.ticket, kNow); }
  // All that is not dealt; the round is over.
  std::vector<std::shared_ptr<OpenRecord>> take_back();

  // Work of a replica that is not done, in tokens.
  double load(size_t replica) const {
    return router_.view(static_cast<ReplicaId>(replica), kNow).seconds_left;
  }

 private:
  // Lines that stay together.
  struct Unit {
    std::vector<std::shared_ptr<OpenRecord>> records;
    LineWork work;  // the pieces are those of the first line
  };
  // Tokens count instead of seconds, and no time passes: work is done when it ends.
  static constexpr double kNow = 0;

  bool in_order_;
  Router router_;
  std::deque<Unit> units_;
  size_t n_gathered_ = 0;
  bool is_dealing_ = false;
};

}  // namespace pando
