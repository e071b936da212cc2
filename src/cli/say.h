// What a command tells on standard error.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace pando::cli {

// Where it cannot be written it is lost: a run goes on when nobody reads its messages.
template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  const std::string said = fmt::format(text, std::forward<Args>(args)...);
  std::fwrite(said.data(), 1, said.size(), stderr);
}

}  // namespace pando::cli
