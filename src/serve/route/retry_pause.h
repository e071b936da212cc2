// Times between the attempts of one request.
#pragma once

#include <chrono>
#include <optional>

#include "serve/http.h"

namespace pando::serve {

// Doubles while replicas are full, with jitter, and is at least as long as they say. One thread.
class RetryPause {
 public:
  static constexpr std::chrono::milliseconds kFirst{100}, kLongest{2000};

  // A replica is full; its answer may have Retry-After.
  void refused(const HttpHeaders& headers);
  // Time until all are asked once more: kFirst if none has refused since the last pause.
  std::chrono::milliseconds next();

 private:
  std::chrono::milliseconds longest_ = kFirst;
  std::optional<std::chrono::seconds> told_;  // the shortest that a replica said
  bool is_refused_ = false;
};

}  // namespace pando::serve
