#include "base/numbers/grid_blocks.h"

#include <bit>
#include <cstring>

#include "base/half.h"
#include "base/numbers/grids.h"

namespace pando {
namespace {

// Values that the entries of a grid stand for.
constexpr int kIq2Levels[4] = {8, 25, 43, 0};
constexpr int kIq3XxsLevels[8] = {4, 12, 20, 28, 36, 44, 52, 62};

template <class T>
T part_at(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
float scale_at(const std::byte* from) { return f16_to_f32(part_at<uint16_t>(from)); }
int byte_at(const std::byte* from) { return static_cast<int>(*from); }

// Seven bits stand for eight signs of which an even number are negative.
int even_signs(uint32_t seven) {
  seven &= 127;
  return static_cast<int>(seven | (std::popcount(seven) % 2) << 7);
}

float signed_value(float value, int signs, int i) { return (signs >> i & 1) != 0 ? -value : value; }

void write_iq2(float scale, uint16_t entry, int signs, float* to) {
  for (int i = 0; i < 8; ++i)
    to[i] = signed_value(scale * static_cast<float>(kIq2Levels[entry >> (2 * i) & 3]), signs, i);
}

// Four of the eight values that share a byte of signs.
void write_iq3_xxs(float scale, uint16_t entry, int signs, float* to) {
  for (int i = 0; i < 4; ++i)
    to[i] = signed_value(scale * static_cast<float>(kIq3XxsLevels[entry >> (4 * i) & 7]), signs, i);
}
void write_iq3_s(float scale, uint16_t entry, int signs, float* to) {
  for (int i = 0; i < 4; ++i)
    to[i] = signed_value(scale * static_cast<float>(2 * (entry >> (4 * i) & 7) + 1), signs, i);
}

void write_iq1(float scale, uint16_t entry, float delta, float* to) {
  for (int i = 0; i < 8; ++i)
    to[i] = scale * (static_cast<float>((entry >> (2 * i) & 3) - 1) + delta);
}

float iq2_scale(float d, int factor) { return d * (0.5f + static_cast<float>(factor)) * 0.25f; }

}  // namespace

void read_q2_k(const std::byte* block, float* to) {
  const float d = scale_at(block + 80), m = scale_at(block + 82);
  for (int i = 0; i < 256; ++i) {
    const int factors = byte_at(block + i / 16), half = i / 128, run = i % 128 / 32;
    const int q = byte_at(block + 16 + half * 32 + i % 32) >> (2 * run) & 3;
    to[i] = d * static_cast<float>(factors & 15) * static_cast<float>(q) -
            m * static_cast<float>(factors >> 4);
  }
}

void read_iq2_xxs(const std::byte* block, float* to) {
  const float d = scale_at(block);
  for (int group = 0; group < 8; ++group) {
    const std::byte* own = block + 2 + 8 * group;
    const auto rest = part_at<uint32_t>(own + 4);
    for (int i = 0; i < 4; ++i, to += 8)
      write_iq2(iq2_scale(d, static_cast<int>(rest >> 28)), kIq2XxsGrid[byte_at(own + i)],
                even_signs(rest >> (7 * i)), to);
  }
}

void read_iq2_xs(const std::byte* block, float* to) {
  const float d = scale_at(block);
  for (int i = 0; i < 32; ++i, to += 8) {
    const int own = part_at<uint16_t>(block + 2 + 2 * i);
    const int factor = byte_at(block + 66 + i / 4) >> (i / 2 % 2 * 4) & 15;
    write_iq2(iq2_scale(d, factor), kIq2XsGrid[own & 511],
              even_signs(static_cast<uint32_t>(own >> 9)), to);
  }
}

void read_iq2_s(const std::byte* block, float* to) {
  const float d = scale_at(block);
  for (int i = 0; i < 32; ++i, to += 8) {
    const int high = byte_at(block + 66 + i / 4) >> (i % 4 * 2) & 3;
    const int factor = byte_at(block + 74 + i / 4) >> (i / 2 % 2 * 4) & 15;
    write_iq2(iq2_scale(d, factor), kIq2SGrid[byte_at(block + 2 + i) | high << 8],
              byte_at(block + 34 + i), to);
  }
}

void read_iq3_xxs(const std::byte* block, float* to) {
  const float d = scale_at(block);
  for (int group = 0; group < 8; ++group) {
    const auto rest = part_at<uint32_t>(block + 66 + 4 * group);
    const float scale = d * (0.5f + static_cast<float>(rest >> 28)) * 0.5f;
    for (int i = 0; i < 8; ++i, to += 4)
      write_iq3_xxs(scale, kIq3XxsGrid[byte_at(block + 2 + 8 * group + i)],
                    even_signs(rest >> (i / 2 * 7)) >> (i % 2 * 4), to);
  }
}

void read_iq3_s(const std::byte* block, float* to) {
  const float d = scale_at(block);
  for (int i = 0; i < 64; ++i, to += 4) {
    const int high = byte_at(block + 66 + i / 8) >> (i % 8) & 1;
    const int factor = byte_at(block + 106 + i / 16) >> (i / 8 % 2 * 4) & 15;
    write_iq3_s(d * static_cast<float>(1 + 2 * factor),
                kIq3SGrid[byte_at(block + 2 + i) | high << 8],
                byte_at(block + 74 + i / 2) >> (i % 2 * 4), to);
  }
}

void read_iq1_s(const std::byte* block, float* to) {
  const float d = scale_at(block);
  for (int i = 0; i < 32; ++i, to += 8) {
    const int high = part_at<uint16_t>(block + 34 + i / 4 * 2);
    write_iq1(d * static_cast<float>(2 * (high >> 12 & 7) + 1),
              kIq1Grid[byte_at(block + 2 + i) | (high >> (i % 4 * 3) & 7) << 8],
              (high & 0x8000) != 0 ? -0.125f : 0.125f, to);
  }
}

uint16_t iq1_m_scale(const std::byte* block) {
  int bits = 0;
  for (int i = 0; i < 4; ++i) bits |= (part_at<uint16_t>(block + 48 + 2 * i) >> 12) << (4 * i);
  return static_cast<uint16_t>(bits);
}

void read_iq1_m(const std::byte* block, float* to) {
  const float d = f16_to_f32(iq1_m_scale(block));
  for (int i = 0; i < 32; ++i, to += 8) {
    const int factors = part_at<uint16_t>(block + 48 + i / 8 * 2);
    const int high = byte_at(block + 32 + i / 2) >> (i % 2 * 4);
    write_iq1(d * static_cast<float>(2 * (factors >> (i / 2 % 4 * 3) & 7) + 1),
              kIq1Grid[byte_at(block + i) | (high & 7) << 8], (high & 8) != 0 ? -0.125f : 0.125f,
              to);
  }
}

// Digit `at` of a byte that holds digits of three as a fraction of 256.
void read_tq1_0(const std::byte* block, float* to) {
  constexpr int kPowers[5] = {1, 3, 9, 27, 81};
  const float d = scale_at(block + 52);
  const auto write = [&](int first, int n_bytes, int n_digits) {
    for (int digit = 0; digit < n_digits; ++digit)
      for (int i = 0; i < n_bytes; ++i) {
        const int rest = byte_at(block + first + i) * kPowers[digit] & 255;
        *to++ = d * static_cast<float>((rest * 3 >> 8) - 1);
      }
  };
  write(0, 32, 5);
  write(32, 16, 5);
  write(48, 4, 4);
}

void read_tq2_0(const std::byte* block, float* to) {
  const float d = scale_at(block + 64);
  for (int i = 0; i < 256; ++i) {
    const int q = byte_at(block + i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2) & 3;
    to[i] = d * static_cast<float>(q - 1);
  }
}

}  // namespace pando
