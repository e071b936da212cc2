#include "exec/gpu/products.h"

#include "base/check.h"

namespace pando::exec::gpu {
namespace {

constexpr uint32_t kFewRows = 16;  // up to this many, the kernels for few rows are faster
constexpr size_t kGroup = 32;

// In the order of WeightForm.
constexpr struct {
  Kernel few, many;
} kProducts[] = {
    {Kernel::few_bytes, Kernel::many_bytes},
    {Kernel::few_integer_rows, Kernel::many_integer_rows},
    {Kernel::few_nibbles, Kernel::many_nibbles},
    {Kernel::few_fives, Kernel::many_fives},
    {Kernel::few_sixes, Kernel::many_sixes},
    {Kernel::few_table, Kernel::many_table},
    {Kernel::few_f32, Kernel::many_f32},
    {Kernel::few_f16, Kernel::many_f16},
    {Kernel::few_bf16, Kernel::many_bf16},
    {Kernel::few_dot, Kernel::many_dot},
};

uint32_t parts(size_t n, size_t part) { return static_cast<uint32_t>((n + part - 1) / part); }

void grow(Host& host, Buffer& buffer, size_t n_bytes) {
  if (n_bytes > buffer.bytes()) buffer = Buffer(host, n_bytes);
}

// GPUs start groups with equal y together: these share weights, and their rows are in caches.
void launch_product(Host& host, const Matrix& matrix, uint32_t n_rows, std::span<const Arg> args) {
  const bool is_few = n_rows <= kFewRows;
  const uint32_t width = is_few ? 8 : 64;  // rows and outputs of a work group
  const auto& kernels = kProducts[static_cast<int>(matrix.form())];
  host.launch(is_few ? kernels.few : kernels.many, {parts(n_rows, width), parts(matrix.n(), width)},
              args);
}

}  // namespace

const Products::Integers& Products::groups(const Rows& x) {
  if (groups_.are_made) return groups_;
  const uint32_t n_groups = parts(x.width, kGroup), n = x.n * n_groups;
  grow(host_, groups_.q, n * kGroup);
  grow(host_, groups_.scales, n * sizeof(float));
  grow(host_, groups_.sums, n * sizeof(float));
  const Arg args[] = {&x.values,
                      &groups_.q,
                      &groups_.scales,
                      &groups_.sums,
                      static_cast<int32_t>(x.n),
                      static_cast<int32_t>(x.width),
                      static_cast<int32_t>(n_groups)};
  host_.launch(Kernel::quantise_groups, {parts(n, 32)}, args);
  groups_.are_made = true;
  return groups_;
}

const Products::Integers& Products::integer_rows(const Rows& x) {
  if (integer_rows_.are_made) return integer_rows_;
  const size_t n_bytes = parts(x.width, kGroup) * kGroup;  // bytes of a row
  grow(host_, integer_rows_.q, x.n * n_bytes);
  grow(host_, integer_rows_.scales, x.n * sizeof(float));
  const Arg args[] = {&x.values, &integer_rows_.q, &integer_rows_.scales,
                      static_cast<int32_t>(x.width), static_cast<int32_t>(n_bytes / 4)};
  host_.launch(Kernel::quantise_rows, {x.n}, args);
  integer_rows_.are_made = true;
  return integer_rows_;
}

const Buffer& Products::rounded(const Rows& x) {
  if (is_rounded_) return rounded_;
  const uint64_t n = x.n * x.width;
  grow(host_, rounded_, n * sizeof(float));
  const Arg args[] = {&x.values, &rounded_, n};
  host_.launch(Kernel::round_for_dot, {parts(n, 1024)}, args);
  is_rounded_ = true;
  return rounded_;
}

void Products::multiply_groups(const Matrix& matrix, const Rows& x, Rows& y, size_t first) {
  const bool is_rows = matrix.form() == WeightForm::kIntegerRows;
  const Integers& inputs = is_rows ? integer_rows(x) : groups(x);
  const Arg args[] = {&matrix.words(),
                      &matrix.high(),
                      &matrix.scales(),
                      &matrix.minima(),
                      &matrix.factors(),
                      static_cast<int32_t>(matrix.scales_are_f16()),
                      matrix.table()[0],
                      matrix.table()[1],
                      matrix.table()[2],
                      matrix.table()[3],
                      &inputs.q,
                      &inputs.scales,
                      &inputs.sums,
                      &y.values,
                      static_cast<int32_t>(x.n),
                      matrix.n(),
                      static_cast<int32_t>(parts(x.width, kGroup)),
                      static_cast<int32_t>(first),
                      static_cast<int32_t>(y.width)};
  launch_product(host_, matrix, x.n, args);
}

void Products::multiply_values(const Matrix& matrix, const Rows& x, Rows& y, size_t first) {
  const Buffer& inputs = matrix.form() == WeightForm::kDot ? rounded(x) : x.values;
  const Arg args[] = {&matrix.words(),
                      &inputs,
                      &y.values,
                      static_cast<int32_t>(x.n),
                      matrix.n(),
                      matrix.k(),
                      static_cast<int32_t>(first),
                      static_cast<int32_t>(y.width)};
  launch_product(host_, matrix, x.n, args);
}

void Products::multiply(std::span<const Matrix> stack, const Rows& x, Rows& y) {
  size_t n = 0;
  for (const Matrix& matrix : stack) n += matrix.n();
  y.resize(host_, x.n, n);
  if (x.n == 0) return;
  groups_.are_made = integer_rows_.are_made = is_rounded_ = false;
  size_t first = 0;
  for (const Matrix& matrix : stack) {
    PANDO_CHECK(x.width == static_cast<size_t>(matrix.k()));
    const bool is_values = matrix.form() >= WeightForm::kF32;
    if (is_values)
      multiply_values(matrix, x, y, first);
    else
      multiply_groups(matrix, x, y, first);
    first += matrix.n();
  }
}

}  // namespace pando::exec::gpu
