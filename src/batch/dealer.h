// Which replica answers what.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batch/open_line.h"

namespace pando {

// What a line is predicted to cost, in tokens as far as bytes tell.
struct LineWork {
  std::vector<uint64_t> blocks;  // its prompts begin with: hashes, each of all blocks up to its own
  double own = 0;                // tokens behind these blocks, and of answers

  static constexpr size_t kBytesEach = 4;  // of a token
  static constexpr size_t kBlockBytes = 256;
  static constexpr double kBlockTokens = double{kBlockBytes} / kBytesEach;

  // answer_tokens: what is expected of an answer that may have as many.
  static LineWork of(const ask::Line& line, double answer_tokens);
  double all() const { return kBlockTokens * static_cast<double>(blocks.size()) + own; }
};

// Gathers lines for a round, then deals them: the largest first, each to the replica with the least
// work that is not done. What shares most of its beginning with the line before goes with that
// line. What shares a beginning with earlier lines goes where these went, unless that replica has
// more work than another, by kAgain times what the beginning costs. One thread.
class Dealer {
 public:
  static constexpr double kAgain = 4;

  // in_order: lines are dealt in the order of the input instead.
  Dealer(size_t n_replicas, bool in_order) : in_order_(in_order), load_(n_replicas) {}

  // Not while a round is dealt. Of a line that has records.
  void add(std::vector<std::shared_ptr<OpenRecord>> records, LineWork work);
  size_t n_gathered() const { return n_gathered_; }  // records of the round that are not dealt

  void begin_round();
  bool is_dealing() const { return is_dealing_; }  // until nothing of the round is left
  // The next records; they know their replica.
  std::vector<std::shared_ptr<OpenRecord>> deal();
  // A record that was dealt is over, or taken back.
  void end(const OpenRecord& record) { load_[record.replica] -= record.work; }
  // All that is not dealt; the round is over.
  std::vector<std::shared_ptr<OpenRecord>> take_back();

  // Work of a replica that is not done.
  double load(size_t replica) const { return load_[replica]; }

 private:
  // Lines that stay together.
  struct Unit {
    std::vector<std::shared_ptr<OpenRecord>> records;
    LineWork work;  // the blocks are those of the first line
  };
  size_t replica_of(const LineWork& work, size_t& n_known) const;
  void remember(const LineWork& work, size_t replica);

  bool in_order_;
  std::vector<double> load_;  // [n_replicas]
  std::deque<Unit> units_;
  size_t n_gathered_ = 0;
  bool is_dealing_ = false;
  // Replicas that were dealt a beginning, by the hash of its last block; of the latest blocks.
  std::unordered_map<uint64_t, std::vector<size_t>> dealt_;
  std::deque<uint64_t> order_;  // of these blocks
};

}  // namespace pando
