// Random inputs for a host's kernels. Results are compared with those of exec/scalar.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "exec/gpu/host.h"
#include "exec/gpu/rows.h"
#include "exec/gpu/start_test.h"
#include "exec/gpu/values.h"
#include "exec/scalar/rows.h"

namespace pando::exec::gpu {

class CheckCases {
 public:
  CheckCases(Host& host, CheckSize size) : host_(host), size_(size), pool_(1) {}

  Host& host() { return host_; }
  ThreadPool& pool() { return pool_; }
  // Rounds of random cases.
  int n_rounds() const { return size_ == CheckSize::kStart ? 1 : 4; }
  bool is_all() const { return size_ == CheckSize::kAll; }

  int uniform(int least, int most);  // from least to most, both included
  bool chance() { return uniform(0, 1) == 1; }
  std::vector<std::byte> bytes(size_t n);
  // Finite values around 0. In each run of 16 values a few are 0, large, or denormal.
  std::vector<float> values(size_t n);
  scalar::Rows rows(uint32_t n, size_t width);

  Rows upload(const scalar::Rows& from);
  template <class T>
  Buffer upload(const std::vector<T>& from) {
    Buffer buffer(host_, from.size() * sizeof(T));
    if (!from.empty()) host_.write(buffer, 0, from.data(), buffer.bytes());
    return buffer;
  }

  // Counts a case of `name`. `found` must begin with the bytes of `expected`.
  void compare(const std::string& name, std::span<const float> expected, const Buffer& found);
  void compare(const std::string& name, const scalar::Rows& expected, const Rows& found) {
    compare(name, expected.values, found.values);
  }
  std::vector<KernelCheck> take() { return std::move(checks_); }

 private:
  Host& host_;
  CheckSize size_;
  ThreadPool pool_;
  std::mt19937 random_;
  std::vector<KernelCheck> checks_;
};

void check_products(CheckCases& cases);
void check_rows(CheckCases& cases);
void check_heads(CheckCases& cases);
void check_attention(CheckCases& cases);  // pages too

}  // namespace pando::exec::gpu
