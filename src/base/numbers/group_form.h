// Differences between the types of weights in groups of 32 integers that share factors. The memory
// layout (cpu/linear_layout.h), the reading of blocks (block_codes.h) and the products
// (cpu/linear_block_grouped.h) all follow from them.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace pando {

struct GroupForm {
  int code_bits = 0;     // of an integer as it is stored: 8, or 4, 5 or 6; 0: no such type
  int offset = 0;        // added to integers as they are stored, or by their table
  int heads = 0;         // numbers in f16 for 256 weights: none; d; or d and the minima's
  int factor_bytes = 0;  // factors of each group
  int factor_len = 32;   // weights that share a factor
  bool minima = false;   // w = scale q + minimum, not scale q alone
};

// Compiled for several instruction sets, hence `static`.
static constexpr GroupForm group_form(DType type) {
  switch (type) {
    case DType::kQ8_0:
      return {.code_bits = 8, .offset = 128, .factor_bytes = 2};
    case DType::kQ4_0:
      return {.code_bits = 4, .offset = 8, .factor_bytes = 2};
    case DType::kQ4_1:
      return {.code_bits = 4, .factor_bytes = 4, .minima = true};
    case DType::kQ5_0:
      return {.code_bits = 5, .offset = 16, .factor_bytes = 2};
    case DType::kQ5_1:
      return {.code_bits = 5, .factor_bytes = 4, .minima = true};
    case DType::kQ4_K:
      return {.code_bits = 4, .heads = 2, .factor_bytes = 2, .minima = true};
    case DType::kQ5_K:
      return {.code_bits = 5, .heads = 2, .factor_bytes = 2, .minima = true};
    case DType::kQ6_K:
      return {.code_bits = 6, .offset = 32, .heads = 1, .factor_bytes = 2, .factor_len = 16};
    case DType::kIQ4_NL:
      return {.code_bits = 4, .offset = 128, .factor_bytes = 2};
    case DType::kIQ4_XS:
      return {.code_bits = 4, .offset = 128, .heads = 1, .factor_bytes = 1};
    case DType::kMXFP4:
      return {.code_bits = 4, .offset = 128, .factor_bytes = 1};
    default:
      return {};
  }
}

// The integers + 128 that codes of four bits stand for.
inline constexpr uint8_t kIq4Table[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                          129, 141, 153, 166, 181, 197, 217, 241};
// Twice the values of e2m1.
inline constexpr uint8_t kMxfp4Table[16] = {128, 129, 130, 131, 132, 134, 136, 140,
                                            128, 127, 126, 125, 124, 122, 120, 116};
// True if codes are indices of a table. The codes of other types are the integers themselves.
constexpr bool has_code_table(DType type) {
  return type == DType::kIQ4_NL || type == DType::kIQ4_XS || type == DType::kMXFP4;
}
// Null without a table. Constant expressions must not compare it with null: GCC with UBSan refuses
// that, so they call has_code_table.
static constexpr const uint8_t* code_table(DType type) {
  if (!has_code_table(type)) return nullptr;
  return type == DType::kMXFP4 ? kMxfp4Table : kIq4Table;
}

}  // namespace pando
