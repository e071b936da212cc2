// Texts for failures of the system.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando {

// A thread: "cannot start 4 threads: REASON". kUnavailable.
Error cannot_start(std::string_view what, std::string_view reason);

// Message of an exception, with plain words for std::bad_alloc.
std::string reason_of(const std::exception& error);

}  // namespace pando
