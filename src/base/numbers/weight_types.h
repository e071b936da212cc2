// The one table of weight types: their names, how files hold them, and how memory holds them. A new
// type is a value of DType, a row in weight_types.cc, a reader in block_codes.h or grid_blocks.h
// and, where products take it as it is, its form in group_form.h (docs/add-an-op.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "pando/values/weight_type.h"

namespace pando {

struct BlockCodes;  // base/numbers/block_codes.h

struct WeightTypeInfo {
  DType type;
  std::string_view name;  // in messages; in options too, where made_as is set

  // Names and sizes in files. A type that no file holds has these defaults.
  int gguf_id = -1;                   // its number in GGUF files
  std::string_view safetensors = {};  // its name in safetensors files
  std::string_view torch = {};        // its name in config.json
  int block_len = 1;                  // weights of one block; 1: single elements
  size_t block_bytes = 0;             // of one block, or of one element
  // A type in blocks has one of the two. They give one block as the integers and factors of
  // `codes`, which is exact, or as f32, [block_len].
  void (*read_codes)(const std::byte* block, BlockCodes& to) = nullptr;
  void (*read_block)(const std::byte* block, float* to) = nullptr;
  // True if n weights of the type, whole blocks of them, are finite numbers.
  bool (*all_finite)(DType type, const std::byte* from, int64_t n) = nullptr;

  // The type whose integers `read_codes` gives.
  DType codes = type;
  // The WeightType that makes matrices of this type from any other while loading, where there is
  // one.
  std::optional<WeightType> made_as = {};

  bool is_in_files() const { return block_bytes != 0; }
  // True if rows of this type become rows of `other` without rounding.
  bool becomes(DType other) const {
    return type == other || (codes == other && read_codes != nullptr);
  }
};

// All types, in the order of DType.
std::span<const WeightTypeInfo> weight_types();
const WeightTypeInfo& info_of(DType type);

// The type with this number in GGUF files, or with this name in safetensors files; null where there
// is none.
const WeightTypeInfo* find_gguf_type(uint32_t id);
const WeightTypeInfo* find_safetensors_type(std::string_view name);
// The type that a WeightType makes; nothing if it makes none.
std::optional<DType> made_type(WeightType choice);

// The name of a GGUF type number, whether Pando reads the type or not: "Q8_K", or "type 99".
std::string gguf_type_name(uint32_t id);
// The types that are read from GGUF files and from safetensors files: "F32", "F16", ...
std::vector<std::string_view> gguf_type_names();
std::vector<std::string_view> safetensors_type_names();

// Weights of one block; 1 for types without blocks.
inline int block_len(DType type) { return info_of(type).block_len; }
// Bytes of one block, or of one element; 0 for types that no file holds.
inline size_t block_bytes(DType type) { return info_of(type).block_bytes; }
// Bytes of n weights in whole blocks.
inline size_t stored_bytes(DType type, int64_t n) {
  const WeightTypeInfo& info = info_of(type);
  return static_cast<size_t>(n / info.block_len) * info.block_bytes;
}

// Bytes of one element that a file holds; 0 for types that come in blocks, or in memory only.
inline size_t dtype_size(DType type) {
  const WeightTypeInfo& info = info_of(type);
  return info.block_len == 1 ? info.block_bytes : 0;
}
inline std::string_view dtype_name(DType type) { return info_of(type).name; }

}  // namespace pando
