#include "serve/route/retry_pause.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <charconv>
#include <cstdint>
#include <random>
#include <utility>

namespace pando::serve {

void RetryPause::refused(const HttpHeaders& headers) {
  is_refused_ = true;
  for (const auto& [name, value] : headers) {
    if (!boost::beast::iequals(name, "Retry-After")) continue;
    uint32_t n_seconds = 0;  // a date counts as 0
    std::from_chars(value.data(), value.data() + value.size(), n_seconds);
    const std::chrono::seconds time(n_seconds);
    told_ = std::min(told_.value_or(time), time);
  }
}

std::chrono::milliseconds RetryPause::next() {
  if (!std::exchange(is_refused_, false)) return kFirst;
  static thread_local std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<int64_t> jitter(longest_.count() / 2, longest_.count());
  const std::chrono::milliseconds own(jitter(random));
  longest_ = std::min(2 * longest_, kLongest);
  const auto told = std::exchange(told_, std::nullopt).value_or(std::chrono::seconds(0));
  return std::max<std::chrono::milliseconds>(own, told);
}

}  // namespace pando::serve
