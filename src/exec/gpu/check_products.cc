// Checks products of every weight type.
#include "base/numbers/weight_types.h"
#include "exec/gpu/check_cases.h"
#include "exec/gpu/products.h"

namespace pando::exec::gpu {
namespace {

// Random blocks whose 16-bit scales are finite.
std::vector<std::byte> blocks(CheckCases& cases, DType type, int k) {
  const WeightTypeInfo& info = info_of(type);
  std::vector<std::byte> row = cases.bytes(stored_bytes(type, k));
  for (std::byte& byte : row)
    if ((byte & std::byte{0x7c}) == std::byte{0x7c}) byte ^= std::byte{0x40};
  if (type == DType::kMXFP4)  // the first byte of a block is an exponent
    for (size_t at = 0; at < row.size(); at += info.block_bytes)
      row[at] = static_cast<std::byte>(cases.uniform(110, 130));
  return row;
}

scalar::Matrix matrix(CheckCases& cases, DType type, int n, int k) {
  scalar::Matrix matrix(type, n, k);
  const bool has_blocks = info_of(type).read_codes != nullptr;
  for (int row = 0; row < n; ++row) {
    if (has_blocks) {
      matrix.set_row(row, type, blocks(cases, type, k).data());
    } else {
      const std::vector<float> from = cases.values(static_cast<size_t>(k));
      matrix.set_row(row, DType::kF32, reinterpret_cast<const std::byte*>(from.data()));
    }
  }
  return matrix;
}

// Inputs that lie halfway between integers when they are rounded: each group's largest is 127.
void fill_with_halves(float* x, int k) {
  for (int i = 0; i < k; ++i) x[i] = i % 32 == 0 ? 127.0f : static_cast<float>(i % 101) - 49.5f;
}

void check_stack(CheckCases& cases, Products& products, DType type, int n, int k, uint32_t m) {
  scalar::Stack stack;
  stack.push_back(matrix(cases, type, n, k));
  stack.push_back(matrix(cases, type, cases.uniform(1, 9), k));
  Stack packed;
  for (const scalar::Matrix& one : stack) packed.push_back(Matrix::pack(cases.host(), one));
  scalar::Rows x = cases.rows(m, static_cast<size_t>(k));
  if (m > 1) fill_with_halves(x.row(0), k);
  Rows y;
  products.multiply(packed, cases.upload(x), y);
  cases.compare("products of " + std::string(dtype_name(type)),
                scalar::multiply(stack, x, cases.pool()), y);
}

}  // namespace

void check_products(CheckCases& cases) {
  Products products(cases.host());
  for (const WeightTypeInfo& info : weight_types()) {
    if (scalar::kept_type(info.type) != info.type) continue;  // in files only
    const int unit = std::max(info.block_len, 2);             // bf16_dot takes pairs
    for (int round = 0; round < cases.n_rounds(); ++round)
      for (const uint32_t m : {1, 4, 13, 33}) {
        const int k = (cases.uniform(1, cases.is_all() ? 900 : 300) / unit + 1) * unit;
        check_stack(cases, products, info.type, cases.uniform(1, 70), k, m);
      }
  }
}

}  // namespace pando::exec::gpu
