// Tests of NVIDIA's host on the driver for tests.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/failures.h"
#include "cuda/driver.h"
#include "exec/gpu/cuda_host.h"
#include "exec/gpu/kernel_text.h"
#include "exec/gpu/rows.h"

namespace pando::exec::gpu {

namespace driver = ::pando::testing::cuda;
using Floats = std::vector<float>;

// After each test the driver must hold no object.
class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override { driver::reset_counts(); }
  void TearDown() override { EXPECT_EQ(driver::held(), driver::Held()); }

  static std::unique_ptr<Host> open() { return open_cuda(0, kernel_text()).value(); }
};

// Returns the message of the exception that `call` throws; "" if it throws none.
template <class Call>
std::string thrown_by(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return reason_of(error);
  }
  return "";
}

inline Rows rows_of(Host& host, const std::vector<float>& values) {
  Rows rows;
  rows.resize(host, 1, values.size());
  host.write(rows.values, 0, values.data(), values.size() * sizeof(float));
  return rows;
}

inline std::vector<float> values_of(Host& host, const Rows& rows) {
  std::vector<float> values(rows.n * rows.width);
  host.read(rows.values, 0, values.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace pando::exec::gpu
