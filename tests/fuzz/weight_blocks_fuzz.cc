// A row of weights as files hold it: a byte that chooses its type, one for the type that it
// becomes, then elements or blocks.
#include <cmath>
#include <cstring>

#include "base/numbers/blocks.h"
#include "exec/cpu/kernel/linear.h"
#include "exec/cpu/kernel/read_weights.h"
#include "fuzz/fuzz.h"
#include "kernel/isas.h"

using namespace pando;
using namespace pando::kernel;

namespace {

constexpr int64_t kMostWeights = 2048;  // of a row

// Says whether both have the same bits, or neither is a number.
bool is_alike(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

// The i-th of the types for which `test` holds, around and around.
template <class Test>
const WeightTypeInfo& choose(size_t i, const Test& test) {
  std::vector<const WeightTypeInfo*> all;
  for (const WeightTypeInfo& info : weight_types())
    if (test(info)) all.push_back(&info);
  return *all[i % all.size()];
}

// Packed alike by every instruction set, and one product, which is the same on every one.
void check_product(const WeightTypeInfo& stored, DType packed, const std::byte* from, int k) {
  static ThreadPool pool(1);
  std::vector<float> x(k);
  for (int i = 0; i < k; ++i) x[i] = static_cast<float>(i % 13 - 6) / 4;
  PackedMatrix first;
  float expected = 0;
  for (const Kernels* kernels : all_kernels()) {
    PackedMatrix matrix(packed, 1, k);
    if (!matrix.set_rows(*kernels, 0, 1, stored.type, from)) return;
    PackedRows scratch;
    float y = 0;
    linear(*kernels, pool, matrix, {.x = x.data(), .x_stride = k, .m = 1, .y = &y, .y_stride = 1},
           scratch);
    if (first.n() == 0) {
      first = std::move(matrix);
      expected = y;
      continue;
    }
    fuzz::demand(std::memcmp(first.data(), matrix.data(), first.bytes()) == 0, "packed otherwise");
    fuzz::demand(is_alike(y, expected), "another product");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const WeightTypeInfo& stored =
      choose(data[0], [](const WeightTypeInfo& info) { return info.is_in_files(); });
  const WeightTypeInfo& becomes = choose(data[1], [&](const WeightTypeInfo& info) {
    return info.type == kernel::packed_type(stored.type) || info.made_as.has_value();
  });
  const int64_t n_blocks = std::min(static_cast<int64_t>((size - 2) / stored.block_bytes),
                                    kMostWeights / stored.block_len);
  const int64_t n = n_blocks * stored.block_len;
  // From an odd address to the last byte of its memory.
  std::vector<std::byte> bytes(1 + stored_bytes(stored.type, n));
  std::memcpy(bytes.data() + 1, data + 2, bytes.size() - 1);
  const std::byte* from = bytes.data() + 1;

  const bool is_finite = all_finite(stored.type, from, n);
  std::vector<float> first(n);
  read_weights(best_kernels(), stored.type, from, n, first.data());
  fuzz::demand(!is_finite || std::ranges::all_of(first, [](float w) { return std::isfinite(w); }),
               "a finite block with a weight that is not");
  for (const Kernels* kernels : all_kernels()) {
    std::vector<float> weights(n);
    read_weights(*kernels, stored.type, from, n, weights.data());
    fuzz::demand(std::ranges::equal(weights, first, is_alike), "read otherwise");
  }
  const auto k = static_cast<int>(n / 2 * 2);
  if (is_finite && k > 0) check_product(stored, becomes.type, from, k);
  return 0;
}
