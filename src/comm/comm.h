// Sums over the ranks that share a layer (tensor parallelism). The only traffic below the engine.
#pragma once

#include <cstdint>

namespace pando {

class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // values[i] becomes the sum over all ranks; [n] f32, equal n everywhere.
  virtual void all_reduce_sum(float* values, int64_t n) = 0;
};

// One process: every sum is already there.
class SingleProcessComm final : public Comm {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce_sum(float*, int64_t) override {}
};

}  // namespace pando
