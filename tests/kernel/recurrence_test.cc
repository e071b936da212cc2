// Recurrences and their convolution: the bits of the plain loops on every instruction set, however
// a run of rows is cut into pieces, and nothing read or written outside.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "exec/cpu/kernel/cpu/recurrence_args.h"
#include "exec/cpu/kernel/kernels.h"
#include "kernel/isas.h"
#include "reference/reference_recurrence.h"

namespace pando::kernel {
namespace {

using Floats = std::vector<float>;

Floats normals(size_t n, uint32_t seed, float scale = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  Floats values(n);
  for (float& x : values) x = normal(random);
  return values;
}

Floats uniforms(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
  Floats values(n);
  for (float& x : values) x = uniform(random);
  return values;
}

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

enum class Rule { kDeltaNet, kMamba2 };

// Rows of one head, for one slice: k, q and v stand side by side, and NaN stands between rows.
struct Case {
  Rule rule;
  int key_dim, n_columns, n_rows;
  int64_t stride = 2 * key_dim + n_columns + 3;
  Floats rows = normals(size_t(n_rows) * stride, 1, 0.5f);
  Floats alpha = uniforms(n_rows, 2), gain = uniforms(n_rows, 3), dot = Floats(n_rows);
  float skip = 0.7f;

  Case(Rule rule, int key_dim, int n_columns, int n_rows)
      : rule(rule), key_dim(key_dim), n_columns(n_columns), n_rows(n_rows) {
    for (int row = 0; row < n_rows; ++row) {
      for (int64_t i = 2 * key_dim + n_columns; i < stride; ++i) rows[row * stride + i] = NAN;
      dot[row] = reference::dot16(q(row), k(row), key_dim);
    }
  }
  const float* k(int row) const { return &rows[row * stride]; }
  const float* q(int row) const { return k(row) + key_dim; }
  const float* v(int row) const { return q(row) + key_dim; }
};

struct Result {
  Floats out;    // [n_rows, n_columns + 1], the last one NaN
  Floats state;  // [key_dim, n_columns]
  Floats after;  // the same, behind a row in between
};

Result plain(const Case& c, int stop) {
  Result result;
  reference::HeadState state{c.key_dim, c.n_columns};
  state.s = normals(state.s.size(), 4);
  result.out.assign(size_t(c.n_rows) * (c.n_columns + 1), NAN);
  for (int row = 0; row < c.n_rows; ++row) {
    float* const out = &result.out[size_t(row) * (c.n_columns + 1)];
    if (c.rule == Rule::kDeltaNet)
      reference::delta_net_row(state, c.k(row), c.q(row), c.v(row), c.alpha[row], c.gain[row], out);
    else
      reference::mamba2_row(state, c.k(row), c.q(row), c.v(row), c.alpha[row], c.gain[row], c.skip,
                            out);
    if (row == stop) result.after = state.s;
  }
  result.state = state.s;
  return result;
}

// Rows [begin, end) from slice `from` to slice `to`.
void run(const Kernels& kernels, const Case& c, int begin, int end, const Floats& from, Floats& to,
         bool keeps_last, Floats& out) {
  const RecurrenceArgs args{.from = from.data(),
                            .to = to.data(),
                            .keeps_last = keeps_last,
                            .next_from = from.data(),
                            .key_dim = c.key_dim,
                            .n_columns = c.n_columns,
                            .n_rows = end - begin,
                            .k = c.k(begin),
                            .q = c.q(begin),
                            .v = c.v(begin),
                            .stride = c.stride,
                            .alpha = &c.alpha[begin],
                            .gain = &c.gain[begin],
                            .dot = &c.dot[begin],
                            .factor_stride = 1,
                            .skip = c.skip,
                            .out = &out[size_t(begin) * (c.n_columns + 1)],
                            .out_stride = c.n_columns + 1};
  (c.rule == Rule::kDeltaNet ? kernels.delta_net : kernels.mamba2)(args);
}

// A slice of [key_dim, 32] from [key_dim, n_columns] and NaN, and back.
Floats slice_of(const Case& c, const Floats& state) {
  Floats slice(size_t(c.key_dim) * kStateSlice, NAN);
  for (int i = 0; i < c.key_dim; ++i)
    std::copy_n(&state[size_t(i) * c.n_columns], c.n_columns, &slice[size_t(i) * kStateSlice]);
  return slice;
}
Floats columns_of(const Case& c, const Floats& slice) {
  Floats state;
  for (int i = 0; i < c.key_dim; ++i)
    state.insert(state.end(), &slice[size_t(i) * kStateSlice],
                 &slice[size_t(i) * kStateSlice] + c.n_columns);
  return state;
}

// Runs two pieces, rows [0, stop] and the rest: the first writes one slice, the second another.
Result in_two(const Kernels& kernels, const Case& c, int stop) {
  Result result;
  result.out.assign(size_t(c.n_rows) * (c.n_columns + 1), NAN);
  const Floats before = slice_of(c, normals(size_t(c.key_dim) * c.n_columns, 4));
  Floats middle(before.size(), NAN), last(before.size(), NAN);
  run(kernels, c, 0, stop + 1, before, middle, true, result.out);
  result.after = columns_of(c, middle);
  if (stop + 1 < c.n_rows) run(kernels, c, stop + 1, c.n_rows, middle, last, true, result.out);
  EXPECT_TRUE(same_bits(columns_of(c, middle), result.after)) << "a state before is only read";
  result.state = columns_of(c, stop + 1 < c.n_rows ? last : middle);
  return result;
}

class RecurrenceTest : public testing::TestWithParam<Rule> {};
INSTANTIATE_TEST_SUITE_P(Rules, RecurrenceTest, testing::Values(Rule::kDeltaNet, Rule::kMamba2));

TEST_P(RecurrenceTest, IsThePlainLoopWhereverRowsAreCut) {
  for (const int key_dim : {1, 6, 16, 128}) {
    for (const int n_columns : {1, 15, 16, 17, 32}) {
      const Case c(GetParam(), key_dim, n_columns, 7);
      for (int stop = 0; stop < c.n_rows; ++stop) {
        const Result expected = plain(c, stop);
        for (const Kernels* kernels : all_kernels()) {
          const Result found = in_two(*kernels, c, stop);
          const std::string where = fmt::format("{} key_dim {} columns {} cut behind row {}",
                                                kernels->name, key_dim, n_columns, stop);
          ASSERT_TRUE(same_bits(found.out, expected.out)) << where;
          ASSERT_TRUE(same_bits(found.after, expected.after)) << where;
          ASSERT_TRUE(same_bits(found.state, expected.state)) << where;
        }
      }
    }
  }
}

TEST_P(RecurrenceTest, WorksInPlaceAndLeavesOutTheLastState) {
  const Case c(GetParam(), 24, 32, 5);
  const Result expected = plain(c, 3);
  for (const Kernels* kernels : all_kernels()) {
    const Floats before = slice_of(c, normals(size_t(c.key_dim) * c.n_columns, 4));
    for (const bool keeps_last : {true, false}) {
      Floats state = before, out(expected.out.size(), NAN);
      run(*kernels, c, 0, c.n_rows, state, state, keeps_last, out);
      EXPECT_TRUE(same_bits(out, expected.out)) << kernels->name;
      EXPECT_TRUE(same_bits(columns_of(c, state), keeps_last ? expected.state : expected.after))
          << kernels->name;
    }
  }
}

// The definition of the delta rule in double precision, in the order of the paper.
TEST(DeltaNet, IsCloseToTheRuleInDouble) {
  Case c(Rule::kDeltaNet, 64, 32, 40);
  for (int row = 0; row < c.n_rows; ++row) {
    reference::l2_norm(&c.rows[row * c.stride], 1.0f, c.key_dim);
    reference::l2_norm(&c.rows[row * c.stride + c.key_dim], 1.0f, c.key_dim);
    c.dot[row] = reference::dot16(c.q(row), c.k(row), c.key_dim);
  }
  const Floats first = normals(size_t(c.key_dim) * c.n_columns, 4);
  Floats from = slice_of(c, first), to(from.size()), out(size_t(c.n_rows) * (c.n_columns + 1));
  run(best_kernels(), c, 0, c.n_rows, from, to, true, out);
  std::vector<double> s(first.begin(), first.end());
  for (int row = 0; row < c.n_rows; ++row) {
    for (double& x : s) x *= c.alpha[row];
    for (int j = 0; j < c.n_columns; ++j) {
      double r = 0, o = 0;
      for (int i = 0; i < c.key_dim; ++i) r += c.k(row)[i] * s[i * c.n_columns + j];
      const double delta = c.gain[row] * (c.v(row)[j] - r);
      for (int i = 0; i < c.key_dim; ++i) {
        s[i * c.n_columns + j] += c.k(row)[i] * delta;
        o += c.q(row)[i] * s[i * c.n_columns + j];
      }
      EXPECT_NEAR(out[row * (c.n_columns + 1) + j], o, 1e-5) << row << " " << j;
    }
  }
}

TEST(Convolve, IsThePlainSumWhereverRowsAreCut) {
  for (const int taps : {1, 2, 3, 4, 7}) {
    for (const int n : {1, 16, 21, 64}) {
      const int n_rows = 6, stride = n + 2, before = taps - 1;
      const Floats u = normals(size_t(before + n_rows) * stride, 5), w = normals(taps * n, 6),
                   bias = normals(n, 7);
      for (const bool with_silu : {false, true}) {
        Floats expected(size_t(n_rows) * (n + 1), NAN);
        for (int row = 0; row < n_rows; ++row) {
          for (int i = 0; i < n; ++i) {
            Floats of_u, of_w;
            for (int m = 0; m < taps; ++m) {
              of_u.push_back(u[(row + m) * stride + i]);
              of_w.push_back(w[m * n + i]);
            }
            const float sum = reference::convolved(of_u, of_w, with_silu ? bias[i] : 0.0f);
            expected[row * (n + 1) + i] = with_silu ? reference::silu(sum) : sum;
          }
        }
        for (const Kernels* kernels : all_kernels()) {
          for (int cut = 0; cut <= n_rows; ++cut) {
            Floats out(expected.size(), NAN);
            for (const auto& [begin, end] : {std::pair(0, cut), std::pair(cut, n_rows)})
              kernels->convolve({.history = &u[begin * stride],
                                 .history_stride = stride,
                                 .u = &u[(before + begin) * stride],
                                 .u_stride = stride,
                                 .w = w.data(),
                                 .w_stride = n,
                                 .bias = with_silu ? bias.data() : nullptr,
                                 .taps = taps,
                                 .n_rows = end - begin,
                                 .n = n,
                                 .with_silu = with_silu,
                                 .out = &out[begin * (n + 1)],
                                 .out_stride = n + 1});
            ASSERT_TRUE(same_bits(out, expected))
                << kernels->name << " taps " << taps << " n " << n << " cut " << cut;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace pando::kernel
