// Features that the time of a step depends on.
#pragma once

namespace pando {

struct StepFeatures {
  double rows = 0;     // computed
  double outputs = 0;  // rows of logits
  // keys and reads: if the positions have several parts, of the part that has most of them.
  double keys = 0;    // attention: positions that each row sees, over all rows
  double reads = 0;   // cached positions whose keys and values are read, shared ones once
  double moved = 0;   // rows that go to other parts, once for each
  double before = 0;  // steps in flight when it is chosen

  StepFeatures& operator+=(const StepFeatures& other) {
    rows += other.rows;
    outputs += other.outputs;
    keys += other.keys;
    reads += other.reads;
    moved += other.moved;
    before += other.before;
    return *this;
  }
  friend StepFeatures operator+(StepFeatures a, const StepFeatures& b) { return a += b; }
  bool operator==(const StepFeatures&) const = default;
};

// Positions that `rows` rows from position `begin` on see: row p sees p + 1.
inline double keys_seen(double begin, double rows) { return rows * begin + rows * (rows + 1) / 2; }

}  // namespace pando
