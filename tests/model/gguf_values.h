// Values as GGUF files hold them: types, blocks, the order of rows.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/gguf_writer.h"
#include "base/half.h"
#include "base/numbers/weight_types.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "model/family.h"
#include "reference/reference_quantise.h"

namespace pando::testing {

// Numbers of ggml's types.
inline uint32_t ggml_type(DType type) {
  switch (type) {
    case DType::kF32:
      return 0;
    case DType::kF16:
      return 1;
    case DType::kQ4_0:
      return 2;
    case DType::kQ4_1:
      return 3;
    case DType::kQ5_0:
      return 6;
    case DType::kQ5_1:
      return 7;
    case DType::kQ8_0:
      return 8;
    case DType::kQ3_K:
      return 11;
    case DType::kQ4_K:
      return 12;
    case DType::kQ5_K:
      return 13;
    case DType::kQ6_K:
      return 14;
    case DType::kIQ4_NL:
      return 20;
    case DType::kIQ4_XS:
      return 23;
    case DType::kMXFP4:
      return 39;
    default:
      return 30;
  }
}

inline std::vector<float> widened(const model::TensorView& view) {
  size_t n = 1;
  for (const int64_t size : view.shape) n *= static_cast<size_t>(size);
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i) {
    uint16_t half;
    if (view.dtype == DType::kF32) {
      std::memcpy(&out[i], view.data + 4 * i, 4);
      continue;
    }
    std::memcpy(&half, view.data + 2 * i, 2);
    out[i] = view.dtype == DType::kF16 ? f16_to_f32(half) : bf16_to_f32(half);
  }
  return out;
}

// Blocks of 32: an f16 scale, then 32 integers or 16 pairs (element i low, element i + 16 high).
inline std::string quantised_blocks(const std::vector<float>& w, DType type) {
  std::string bytes;
  for (size_t i = 0; i < w.size(); i += 32) {
    const reference::Quantised group = reference::quantise(&w[i], 32, type);
    GgufWriter::append(&bytes, f32_to_f16(group.scale));
    for (int j = 0; j < (type == DType::kQ8_0 ? 32 : 16); ++j)
      bytes += static_cast<char>(
          type == DType::kQ8_0 ? group.q[j] : (group.q[j] + 8) + 16 * (group.q[j + 16] + 8));
  }
  return bytes;
}

inline bool is_in_blocks(DType type) { return type == DType::kQ8_0 || type == DType::kQ4_0; }

// Bytes of the values as f32, f16 or bf16.
inline std::string narrowed(const std::vector<float>& values, DType type) {
  std::string bytes;
  for (const float x : values) {
    if (type == DType::kF32)
      GgufWriter::append(&bytes, x);
    else
      GgufWriter::append(&bytes, type == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x));
  }
  return bytes;
}

inline std::string f32_bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// Architectures whose files hold a head's rows i and i + head_dim / 2 side by side, where
// checkpoints do not.
inline bool has_paired_rows(const model::ModelConfig& c) {
  for (const char* name :
       {"llama", "smollm3", "mistral3", "granite", "granitemoe", "granitehybrid", "arcee"})
    if (c.family->gguf_architecture == std::string_view(name)) return true;
  return false;
}

// Rows of queries and keys as these files hold them.
inline std::string paired_rows(const std::string& bytes, int64_t n_rows, int head_dim) {
  const size_t row = bytes.size() / static_cast<size_t>(n_rows);
  std::string out;
  for (int64_t head = 0; head < n_rows; head += head_dim)
    for (int i = 0; i < head_dim / 2; ++i)
      for (const int half : {0, head_dim / 2})
        out += bytes.substr(static_cast<size_t>(head + half + i) * row, row);
  return out;
}

// Does the same for GLM-4.1V, whose checkpoints hold the first n_turn rows of a head in pairs, and
// whose files do not.
inline std::string halved_rows(const std::string& bytes, int64_t n_rows, int head_dim, int n_turn) {
  const size_t row = bytes.size() / static_cast<size_t>(n_rows);
  std::string out;
  for (int64_t head = 0; head < n_rows; head += head_dim) {
    const auto add = [&](int i) { out += bytes.substr(static_cast<size_t>(head + i) * row, row); };
    for (const int first : {0, 1})
      for (int i = first; i < n_turn; i += 2) add(i);
    for (int i = n_turn; i < head_dim; ++i) add(i);
  }
  return out;
}

}  // namespace pando::testing
