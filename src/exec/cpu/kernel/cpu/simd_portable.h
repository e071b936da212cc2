// Sixteen f32 lanes in plain C++: the definition that the vector versions follow bit for bit.
// Part of the kernel templates: every function here belongs to one struct, so that code compiled
// for one instruction set is never linked into another's.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace pando::kernel {

struct SimdPortable {
  static constexpr int kRegisters = 16;     // blocks of kernels are sized by it
  static constexpr bool kDotsBf16 = false;  // an instruction for bf16_dot
  // A product with bytes costs no more than one with halves, so that these may become bytes.
  static constexpr bool kDotsBytes = false;
  // Codes of 5 and 6 bits are multiplied two quads at a time, by dot_pair.
  static constexpr bool kPairsQuads = false;
  static constexpr bool kPairsRows = false;  // products of rows two at a time, by RowPairs
  static constexpr bool kTiles = false;      // products of many rows go by AMX

  struct F {
    float lane[16];
  };
  struct I {
    int32_t lane[16];
  };

  // Integer weights of sixteen outputs, [16][4] s8, and four activations of one row.
  struct Weights {
    int8_t q[16][4];
  };
  using Nibbles = Weights;  // below 16
  using NibbleSums = I;
  struct Quad {
    int8_t q[4];
  };

  static F zero() { return set1(0.0f); }
  static F set1(float x) {
    F r;
    for (int i = 0; i < 16; ++i) r.lane[i] = x;
    return r;
  }
  static F load(const float* p) {
    F r;
    std::memcpy(r.lane, p, sizeof r.lane);
    return r;
  }
  static void store(float* p, F x) { std::memcpy(p, x.lane, sizeof x.lane); }
  // Lanes from n on are zero and their memory is not read.
  static F load_first(const float* p, int n) {
    F r = zero();
    for (int i = 0; i < n && i < 16; ++i) r.lane[i] = p[i];
    return r;
  }
  static void store_first(float* p, F x, int n) {
    for (int i = 0; i < n && i < 16; ++i) p[i] = x.lane[i];
  }

  static F add(F a, F b) {
    for (int i = 0; i < 16; ++i) a.lane[i] += b.lane[i];
    return a;
  }
  static F sub(F a, F b) {
    for (int i = 0; i < 16; ++i) a.lane[i] -= b.lane[i];
    return a;
  }
  static F mul(F a, F b) {
    for (int i = 0; i < 16; ++i) a.lane[i] *= b.lane[i];
    return a;
  }
  static F div(F a, F b) {
    for (int i = 0; i < 16; ++i) a.lane[i] /= b.lane[i];
    return a;
  }
  // a * b + c, rounded once.
  static F fma(F a, F b, F c) {
    for (int i = 0; i < 16; ++i) c.lane[i] = std::fma(a.lane[i], b.lane[i], c.lane[i]);
    return c;
  }
  // a > b ? a : b, so b where either is NaN.
  static F max(F a, F b) {
    for (int i = 0; i < 16; ++i) a.lane[i] = a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i];
    return a;
  }
  // a < b ? a : b, so b where either is NaN.
  static F min(F a, F b) {
    for (int i = 0; i < 16; ++i) a.lane[i] = a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i];
    return a;
  }
  static F abs(F a) {
    for (int i = 0; i < 16; ++i) a.lane[i] = std::fabs(a.lane[i]);
    return a;
  }
  // Lanes below n from a, the others from b; n may lie outside [0, 16].
  static F select_first(int n, F a, F b) {
    for (int i = 0; i < 16; ++i) a.lane[i] = i < n ? a.lane[i] : b.lane[i];
    return a;
  }
  // a < b ? yes : no, lane by lane.
  static F select_less(F a, F b, F yes, F no) {
    for (int i = 0; i < 16; ++i) a.lane[i] = a.lane[i] < b.lane[i] ? yes.lane[i] : no.lane[i];
    return a;
  }
  // Rounds to the nearest integer, ties to even.
  static F round(F a) {
    for (int i = 0; i < 16; ++i) a.lane[i] = std::nearbyint(a.lane[i]);
    return a;
  }
  // x * 2^n by addition to the exponent: n integral, result a normal number.
  static F scale_by_pow2(F x, F n) {
    for (int i = 0; i < 16; ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(x.lane[i]);
      const uint32_t shift = static_cast<uint32_t>(static_cast<int32_t>(n.lane[i])) << 23;
      x.lane[i] = std::bit_cast<float>(bits + shift);
    }
    return x;
  }

  // Sum of the lanes in one fixed tree: lanes 8 apart, then 4, 2, 1.
  static float reduce_add(F a) {
    for (int half = 8; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) a.lane[i] += a.lane[i + half];
    return a.lane[0];
  }
  static float reduce_max(F a) {
    for (int half = 8; half > 0; half /= 2)
      for (int i = 0; i < half; ++i)
        a.lane[i] = a.lane[i] > a.lane[i + half] ? a.lane[i] : a.lane[i + half];
    return a.lane[0];
  }

  // Sixteen values of a 16-bit type, widened exactly / rounded to nearest even.
  static F load_f16(const uint16_t* p) {
    F r;
    for (int i = 0; i < 16; ++i) r.lane[i] = f16_to_f32(p[i]);
    return r;
  }
  static F load_u8(const uint8_t* p) {
    F r;
    for (int i = 0; i < 16; ++i) r.lane[i] = p[i];
    return r;
  }
  static F load_s8(const uint8_t* p) {
    F r;
    for (int i = 0; i < 16; ++i) r.lane[i] = static_cast<int8_t>(p[i]);
    return r;
  }
  // 2^(p[i] - 128), below the normal numbers for 0 and 1.
  static F load_powers(const uint8_t* p) {
    F r;
    for (int i = 0; i < 16; ++i) {
      const uint32_t bits = uint32_t{p[i]} << 23;
      r.lane[i] = 0.5f * std::bit_cast<float>(bits > 0x400000 ? bits : 0x400000);
    }
    return r;
  }
  static F load_bf16(const uint16_t* p) {
    F r;
    for (int i = 0; i < 16; ++i) r.lane[i] = bf16_to_f32(p[i]);
    return r;
  }
  static void store_f16(uint16_t* p, F x) {
    for (int i = 0; i < 16; ++i) p[i] = f32_to_f16(x.lane[i]);
  }
  static void store_bf16(uint16_t* p, F x) {
    for (int i = 0; i < 16; ++i) p[i] = f32_to_bf16(x.lane[i]);
  }
  // Thirty-two bf16 interleaved as (a0 b0 a1 b1 ...): a holds the even places, b the odd ones.
  static void load_bf16_pair(const uint16_t* p, F& a, F& b) {
    for (int i = 0; i < 16; ++i) {
      a.lane[i] = bf16_to_f32(p[2 * i]);
      b.lane[i] = bf16_to_f32(p[2 * i + 1]);
    }
  }

  // Integer dot products: `sum` begins as first_dot(bias) and after any number of calls of `dot`
  // holds the sums of products; bias is -128 * the sum of all the activations in the chain.
  static I first_dot(int32_t) { return {}; }
  static Weights load_weights(const uint8_t* p) {  // [16][4], integers + 128
    Weights w;
    for (int i = 0; i < 64; ++i) w.q[i / 4][i % 4] = static_cast<int8_t>(p[i] - 128);
    return w;
  }
  // Does the same for integers of four bits that are stored with an offset: sums over one group of
  // 32 activations, with a bias of -offset * their sum. [16][4]: the low halves of the bytes, and
  // the high halves.
  static NibbleSums first_nibbles(int32_t bias) {
    NibbleSums sums;
    for (int32_t& lane : sums.lane) lane = bias;
    return sums;
  }
  static Nibbles load_low(const uint8_t* p) {
    Nibbles w;
    for (int i = 0; i < 64; ++i) w.q[i / 4][i % 4] = static_cast<int8_t>(p[i] & 15);
    return w;
  }
  static Nibbles load_high(const uint8_t* p) {
    Nibbles w;
    for (int i = 0; i < 64; ++i) w.q[i / 4][i % 4] = static_cast<int8_t>(p[i] >> 4);
    return w;
  }
  static Nibbles load_codes(const uint8_t* p) {  // one to a byte
    Nibbles w;
    std::memcpy(w.q, p, sizeof w.q);
    return w;
  }
  static I finish_nibbles(const NibbleSums& sums, int32_t) { return sums; }
  // Nibbles with bits of `plane` above them: from kBit on, those in kMask.
  template <int kBit, int kMask>
  static Nibbles with_bits(Nibbles w, const uint8_t* plane) {
    for (int i = 0; i < 64; ++i)
      w.q[i / 4][i % 4] = static_cast<int8_t>(w.q[i / 4][i % 4] | (plane[i] >> kBit << 4 & kMask));
    return w;
  }
  // The bytes of a table of sixteen.
  static Nibbles look_up(Nibbles w, const uint8_t* table) {
    for (int i = 0; i < 64; ++i) {
      const uint8_t byte = table[w.q[i / 4][i % 4]];
      w.q[i / 4][i % 4] = static_cast<int8_t>(byte);
    }
    return w;
  }
  // Weights from bytes that hold integers + kOffset.
  template <int kOffset>
  static Weights weights_of(Nibbles w) {
    for (int i = 0; i < 64; ++i) {
      const uint8_t byte = static_cast<uint8_t>(w.q[i / 4][i % 4]);
      w.q[i / 4][i % 4] = static_cast<int8_t>(byte - kOffset);
    }
    return w;
  }
  // Gives the same as integers + 128, for load_weights.
  template <int kOffset>
  static void store_codes(uint8_t* p, Nibbles w) {
    for (int i = 0; i < 64; ++i) {
      const uint8_t byte = static_cast<uint8_t>(w.q[i / 4][i % 4]);
      p[i] = static_cast<uint8_t>(byte + (128 - kOffset));
    }
  }
  // Sums between slices, sixteen int32; the bias of the next slice is added where `first_dot` would
  // have begun with it.
  static I load_sums(const float* p) {
    I r;
    std::memcpy(r.lane, p, sizeof r.lane);
    return r;
  }
  static void store_sums(float* p, I x) { std::memcpy(p, x.lane, sizeof x.lane); }
  static I add_bias(I sum, int32_t) { return sum; }
  static Quad load_quad(const int8_t* p) {
    Quad a;
    std::memcpy(a.q, p, sizeof a.q);
    return a;
  }
  static I dot(I sum, const Weights& w, Quad a) {
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 4; ++j) sum.lane[i] += w.q[i][j] * a.q[j];
    return sum;
  }
  static F to_float(I a) {
    F r;
    for (int i = 0; i < 16; ++i) r.lane[i] = static_cast<float>(a.lane[i]);
    return r;
  }
  // Does the same for u8 shares and s8 values, sixteen times four of each.
  struct Values {
    int8_t q[16][4];
  };
  struct Shares {
    uint8_t q[4];
  };
  static Values load_values(const int8_t* p) {  // [16][4]
    Values v;
    std::memcpy(v.q, p, sizeof v.q);
    return v;
  }
  static Shares load_shares(const uint8_t* p) {
    Shares s;
    std::memcpy(s.q, p, sizeof s.q);
    return s;
  }
  static I dot_shares(I sum, const Values& v, Shares p) {
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 4; ++j) sum.lane[i] += v.q[i][j] * p.q[j];
    return sum;
  }
  // Rounded to nearest even, from values in [0, 255].
  static void store_u8(uint8_t* p, F x) {
    for (int i = 0; i < 16; ++i) p[i] = static_cast<uint8_t>(std::nearbyint(x.lane[i]));
  }
  // Integral values in [-128, 127].
  static void store_s8(int8_t* p, F x) {
    for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(x.lane[i]);
  }
};

}  // namespace pando::kernel
