#include "exec/gpu/check_cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace pando::exec::gpu {

int CheckCases::uniform(int least, int most) {
  return least + static_cast<int>(random_() % static_cast<uint32_t>(most - least + 1));
}

std::vector<std::byte> CheckCases::bytes(size_t n) {
  std::vector<std::byte> all(n);
  for (std::byte& byte : all) byte = static_cast<std::byte>(random_() & 0xff);
  return all;
}

std::vector<float> CheckCases::values(size_t n) {
  std::vector<float> all(n);
  for (float& value : all) {
    const auto bits = static_cast<uint32_t>(random_());
    const float sign = (bits & 1) != 0 ? -1.0f : 1.0f;
    value = sign * std::ldexp(static_cast<float>(bits >> 8), -24);
    switch (bits >> 1 & 63) {
      case 0:
        value = 0.0f;
        break;
      case 1:
        value *= 50.0f;
        break;
      case 2:
        value *= 0x1p-130f;
        break;
      default:
        break;
    }
  }
  return all;
}

scalar::Rows CheckCases::rows(uint32_t n, size_t width) {
  scalar::Rows all(n, width);
  all.values = values(n * width);
  return all;
}

Rows CheckCases::upload(const scalar::Rows& from) {
  Rows to;
  to.resize(host_, from.n, from.width);
  if (!from.values.empty())
    host_.write(to.values, 0, from.values.data(), from.values.size() * sizeof(float));
  return to;
}

void CheckCases::compare(const std::string& name, std::span<const float> expected,
                         const Buffer& found) {
  std::vector<float> read(expected.size());
  host_.read(found, 0, read.data(), expected.size_bytes());
  auto check = std::ranges::find(checks_, name, &KernelCheck::name);
  if (check == checks_.end()) check = checks_.insert(check, {.name = name});
  ++check->n_cases;
  if (std::memcmp(read.data(), expected.data(), expected.size_bytes()) != 0) ++check->n_different;
}

}  // namespace pando::exec::gpu
