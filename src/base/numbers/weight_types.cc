#include "base/numbers/weight_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/numbers/block_codes.h"
#include "base/numbers/blocks.h"
#include "base/numbers/grid_blocks.h"

namespace pando {
namespace {

constexpr WeightTypeInfo kTypes[] = {
    {.type = DType::kF32,
     .name = "f32",
     .gguf_id = 0,
     .safetensors = "F32",
     .torch = "float32",
     .block_bytes = 4,
     .all_finite = all_finite_f32,
     .made_as = WeightType::kF32},
    {.type = DType::kF16,
     .name = "f16",
     .gguf_id = 1,
     .safetensors = "F16",
     .torch = "float16",
     .block_bytes = 2,
     .all_finite = all_finite_f16,
     .made_as = WeightType::kF16},
    {.type = DType::kBF16,
     .name = "bf16",
     .gguf_id = 30,
     .safetensors = "BF16",
     .torch = "bfloat16",
     .block_bytes = 2,
     .all_finite = all_finite_bf16,
     .made_as = WeightType::kBF16},
    {.type = DType::kQ8_0,
     .name = "q8_0",
     .gguf_id = 8,
     .block_len = 32,
     .block_bytes = 34,
     .read_codes = read_q8_0,
     .all_finite = all_finite_blocks<0>,
     .made_as = WeightType::kQ8_0},
    {.type = DType::kQ4_0,
     .name = "q4_0",
     .gguf_id = 2,
     .block_len = 32,
     .block_bytes = 18,
     .read_codes = read_q4_0,
     .all_finite = all_finite_blocks<0>,
     .made_as = WeightType::kQ4_0},
    {.type = DType::kI8, .name = "int8", .made_as = WeightType::kInt8},
    {.type = DType::kQ4_K,
     .name = "q4_K",
     .gguf_id = 12,
     .block_len = 256,
     .block_bytes = 144,
     .read_codes = read_q4_k,
     .all_finite = all_finite_blocks<0, 2>},
    {.type = DType::kQ6_K,
     .name = "q6_K",
     .gguf_id = 14,
     .block_len = 256,
     .block_bytes = 210,
     .read_codes = read_q6_k,
     .all_finite = all_finite_blocks<208>},
    {.type = DType::kBF16Dot, .name = "bf16_dot", .made_as = WeightType::kBF16Dot},
    {.type = DType::kQ4_1,
     .name = "q4_1",
     .gguf_id = 3,
     .block_len = 32,
     .block_bytes = 20,
     .read_codes = read_q4_1,
     .all_finite = all_finite_blocks<0, 2>},
    {.type = DType::kQ5_0,
     .name = "q5_0",
     .gguf_id = 6,
     .block_len = 32,
     .block_bytes = 22,
     .read_codes = read_q5_0,
     .all_finite = all_finite_blocks<0>},
    {.type = DType::kQ5_1,
     .name = "q5_1",
     .gguf_id = 7,
     .block_len = 32,
     .block_bytes = 24,
     .read_codes = read_q5_1,
     .all_finite = all_finite_blocks<0, 2>},
    {.type = DType::kQ5_K,
     .name = "q5_K",
     .gguf_id = 13,
     .block_len = 256,
     .block_bytes = 176,
     .read_codes = read_q5_k,
     .all_finite = all_finite_blocks<0, 2>},
    {.type = DType::kIQ4_NL,
     .name = "iq4_nl",
     .gguf_id = 20,
     .block_len = 32,
     .block_bytes = 18,
     .read_codes = read_iq4_nl,
     .all_finite = all_finite_blocks<0>},
    {.type = DType::kIQ4_XS,
     .name = "iq4_xs",
     .gguf_id = 23,
     .block_len = 256,
     .block_bytes = 136,
     .read_codes = read_iq4_xs,
     .all_finite = all_finite_blocks<0>},
    {.type = DType::kMXFP4,
     .name = "mxfp4",
     .gguf_id = 39,
     .block_len = 32,
     .block_bytes = 17,
     .read_codes = read_mxfp4,
     .all_finite = all_finite_powers},
    {.type = DType::kQ2_K,
     .name = "q2_K",
     .gguf_id = 10,
     .block_len = 256,
     .block_bytes = 84,
     .read_block = read_q2_k,
     .all_finite = all_finite_blocks<80, 2>},
    {.type = DType::kQ3_K,
     .name = "q3_K",
     .gguf_id = 11,
     .block_len = 256,
     .block_bytes = 110,
     .read_codes = read_q3_k,
     .all_finite = all_finite_blocks<108>,
     .codes = DType::kQ6_K},
    {.type = DType::kIQ2_XXS,
     .name = "iq2_xxs",
     .gguf_id = 16,
     .block_len = 256,
     .block_bytes = 66,
     .read_block = read_iq2_xxs,
     .all_finite = all_finite_blocks<0>},
    {.type = DType::kIQ2_XS,
     .name = "iq2_xs",
     .gguf_id = 17,
     .block_len = 256,
     .block_bytes = 74,
     .read_block = read_iq2_xs,
     .all_finite = all_finite_blocks<0>},
    {.type = DType::kIQ2_S,
     .name = "iq2_s",
     .gguf_id = 22,
     .block_len = 256,
     .block_bytes = 82,
     .read_block = read_iq2_s,
     .all_finite = all_finite_blocks<0>},
    {.type = DType::kIQ3_XXS,
     .name = "iq3_xxs",
     .gguf_id = 18,
     .block_len = 256,
     .block_bytes = 98,
     .read_block = read_iq3_xxs,
     .all_finite = all_finite_blocks<0>},
    {.type = DType::kIQ3_S,
     .name = "iq3_s",
     .gguf_id = 21,
     .block_len = 256,
     .block_bytes = 110,
     .read_block = read_iq3_s,
     .all_finite = all_finite_blocks<0>},
    {.type = DType::kIQ1_S,
     .name = "iq1_s",
     .gguf_id = 19,
     .block_len = 256,
     .block_bytes = 50,
     .read_block = read_iq1_s,
     .all_finite = all_finite_blocks<0>},
    {.type = DType::kIQ1_M,
     .name = "iq1_m",
     .gguf_id = 29,
     .block_len = 256,
     .block_bytes = 56,
     .read_block = read_iq1_m,
     .all_finite = all_finite_iq1_m},
    {.type = DType::kTQ1_0,
     .name = "tq1_0",
     .gguf_id = 34,
     .block_len = 256,
     .block_bytes = 54,
     .read_block = read_tq1_0,
     .all_finite = all_finite_blocks<52>},
    {.type = DType::kTQ2_0,
     .name = "tq2_0",
     .gguf_id = 35,
     .block_len = 256,
     .block_bytes = 66,
     .read_block = read_tq2_0,
     .all_finite = all_finite_blocks<64>},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (kTypes[i].type != static_cast<DType>(i)) return false;
  return true;
}
static_assert(in_order());

// The names of GGUF by number, for messages. Gaps are types that were withdrawn.
constexpr std::array<const char*, 41> kGgufNames = {
    "F32",     "F16",   "Q4_0",   "Q4_1",  "Q4_2",  "Q4_3",   "Q5_0", "Q5_1",    "Q8_0",
    "Q8_1",    "Q2_K",  "Q3_K",   "Q4_K",  "Q5_K",  "Q6_K",   "Q8_K", "IQ2_XXS", "IQ2_XS",
    "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",   "I16",     "I32",
    "I64",     "F64",   "IQ1_M",  "BF16",  "",      "",       "",     "TQ1_0",   "TQ2_0",
    "",        "",      "",       "MXFP4", "NVFP4"};

template <class Test>
const WeightTypeInfo* find(const Test& test) {
  const auto found = std::ranges::find_if(kTypes, test);
  return found == std::end(kTypes) ? nullptr : found;
}

}  // namespace

std::span<const WeightTypeInfo> weight_types() { return kTypes; }

const WeightTypeInfo& info_of(DType type) {
  const auto index = static_cast<size_t>(type);
  PANDO_CHECK(index < std::size(kTypes));
  return kTypes[index];
}

const WeightTypeInfo* find_gguf_type(uint32_t id) {
  return find([&](const WeightTypeInfo& info) { return info.gguf_id == static_cast<int64_t>(id); });
}

const WeightTypeInfo* find_safetensors_type(std::string_view name) {
  return find([&](const WeightTypeInfo& info) {
    return !info.safetensors.empty() && info.safetensors == name;
  });
}

std::optional<DType> made_type(WeightType choice) {
  const WeightTypeInfo* info =
      find([&](const WeightTypeInfo& each) { return each.made_as == choice; });
  return info == nullptr ? std::nullopt : std::optional(info->type);
}

std::string gguf_type_name(uint32_t id) {
  return id < kGgufNames.size() && *kGgufNames[id] != '\0' ? kGgufNames[id]
                                                           : fmt::format("type {}", id);
}

std::vector<std::string_view> gguf_type_names() {
  std::vector<std::string_view> names;
  for (const WeightTypeInfo& info : kTypes)
    if (info.gguf_id >= 0) names.push_back(kGgufNames[static_cast<size_t>(info.gguf_id)]);
  return names;
}

std::vector<std::string_view> safetensors_type_names() {
  std::vector<std::string_view> names;
  for (const WeightTypeInfo& info : kTypes)
    if (!info.safetensors.empty()) names.push_back(info.safetensors);
  return names;
}

}  // namespace pando

namespace pando {
namespace {

constexpr std::string_view kStored = "stored";

}  // namespace

std::vector<std::string_view> weight_type_names() {
  std::vector<std::string_view> names = {kStored};
  for (const WeightTypeInfo& info : weight_types())
    if (info.made_as) names.push_back(info.name);
  return names;
}

std::optional<WeightType> weight_type_of(std::string_view name) {
  if (name == kStored) return WeightType::kAsStored;
  for (const WeightTypeInfo& info : weight_types())
    if (info.made_as && info.name == name) return info.made_as;
  return std::nullopt;
}

std::string_view weight_type_name(WeightType type) {
  if (type == WeightType::kNone) return "none";
  const std::optional<DType> made = made_type(type);
  return made ? dtype_name(*made) : kStored;
}

}  // namespace pando
