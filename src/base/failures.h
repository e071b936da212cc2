// What the system refuses, in words.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando {

// A thread: "cannot start 4 threads: ... (hint: ...)". kUnavailable.
Error cannot_start(std::string_view what, std::string_view reason);

// What an exception says, in words also where memory ran out.
std::string reason_of(const std::exception& error);

}  // namespace pando
