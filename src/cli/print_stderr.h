// Messages of a command on standard error.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace pando::cli {

// Text that cannot be written is lost: a run goes on when nobody reads its messages.
template <class... Args>
void print_stderr(fmt::format_string<Args...> text, Args&&... args) {
  const std::string message = fmt::format(text, std::forward<Args>(args)...);
  std::fwrite(message.data(), 1, message.size(), stderr);
}

}  // namespace pando::cli
