// Division of a step over ranks that divide the positions of paths.
#pragma once

#include <cstdint>
#include <vector>

#include "contract/ranks.h"
#include "contract/step_plan.h"
#include "exec/cpu/layers/rows.h"

namespace pando::exec {

// Pages are in parts, one on each rank: page p is page p % n_pages_each of part p / n_pages_each.
struct KvParts {
  uint32_t n_parts;
  uint32_t n_pages_each;
  uint32_t block_len;  // positions of a block
  uint32_t tile_len;
  uint32_t rows_each;  // see RankLayout
};

// Table of the part that holds each block of each row's path.
class KvRoutes {
 public:
  KvRoutes() = default;
  KvRoutes(const StepPlan& plan, const KvParts& parts);

  uint32_t n_rows() const { return n_rows_; }
  uint32_t n_blocks() const { return n_blocks_; }
  // True if the part holds the block of the row's path; no part holds blocks behind the row.
  bool has(uint32_t part, uint32_t block, uint32_t row) const {
    return holders_[block * n_rows_ + row] == part;
  }
  // Pages of the part that the row reads.
  uint32_t n_pages(uint32_t part, uint32_t row) const { return n_pages_[part * n_rows_ + row]; }
  // True if the part holds any block of the row's path.
  bool reads(uint32_t part, uint32_t row) const { return n_pages(part, row) > 0; }

 private:
  static constexpr uint8_t kNobody = 0xff;

  uint32_t n_rows_ = 0, n_blocks_ = 0;
  std::vector<uint8_t> holders_;   // [n_blocks, n_rows]
  std::vector<uint32_t> n_pages_;  // [n_parts, n_rows]
};

// A step whose rows are ordered by the part that computes them.
struct DealtStep {
  StepPlan plan;
  std::vector<uint32_t> row_begin;  // [n_parts + 1] part p computes rows from row_begin[p] on
  // [n_outputs] the part of each output, in the order that the outputs had before. Outputs of one
  // part keep their order.
  std::vector<uint8_t> output_parts;
  std::vector<bool> reads_logits;  // [n_outputs] in the same order

  RowRange rows_of(uint32_t part) const { return {row_begin[part], row_begin[part + 1]}; }
  size_t n_outputs_of(uint32_t part) const;
};

// Gives each row to the part that has most of its keys. If one part would compute many more rows
// than others, it computes no more than its share, and the next best parts compute the others.
DealtStep deal_rows(StepPlan plan, const KvParts& parts);

// The plan as one part carries it out: its slots, copies and tasks, with its own page numbers. Rows
// and outputs stay.
StepPlan plan_of_part(const StepPlan& plan, const KvParts& parts, uint32_t part);

// Positions of the longest path, where each part has pages for part_len positions.
size_t longest_path(size_t part_len, const KvParts& parts);

}  // namespace pando::exec
