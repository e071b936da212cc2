// Values below, at and above the bounds of every request option that is a number.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "pando/values/request_options.h"

namespace pando::testing {

struct OptionValue {
  const RequestOption* option;
  double value;
  bool good;

  std::string text() const { return fmt::format("{}", value); }
  // The message of check_request.
  std::string message() const {
    return fmt::format("{} is {}, expected {}", option->name, text(), option->expected);
  }
};

inline std::vector<OptionValue> option_values(OptionPlace place) {
  std::vector<OptionValue> values;
  for (const RequestOption& option : request_options()) {
    const bool is_integer = std::holds_alternative<int SamplingOptions::*>(option.member);
    const bool is_number = std::holds_alternative<double SamplingOptions::*>(option.member);
    if (!option.stands_in(place) || (!is_integer && !is_number)) continue;
    const RequestOption unbounded;
    // Two below, since lines and bodies take -1 for a top_k that is off.
    const auto beyond = [&](double bound, int direction) {
      return is_integer ? bound + 2 * direction : std::nextafter(bound, direction * INFINITY);
    };
    if (option.least != unbounded.least) {
      values.push_back({&option, beyond(option.least, -1), false});
      values.push_back({&option, option.least, true});
    }
    // Beyond 32 bits no integer is read.
    constexpr double kMostInt = std::numeric_limits<int>::max();
    if (option.most != unbounded.most) values.push_back({&option, option.most, true});
    if (option.most != unbounded.most && option.most != kMostInt)
      values.push_back({&option, beyond(option.most, 1), false});
    values.push_back({&option, 1, true});
  }
  return values;
}

}  // namespace pando::testing
