// What is wrong with lines of the input.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace pando::cli {

// What many lines have in common is said of the first of them and counted: the rest follows at the
// end. Numbers make no difference.
class Problems {
 public:
  using Say = std::function<void(const std::string& message)>;

  // `all`: every one is said.
  Problems(Say say, bool all) : say_(std::move(say)), all_(all) {}

  // `message` begins with the line and a colon or a comma.
  void add(const std::string& message) {
    const std::string text = message.substr(std::min(message.find_first_of(":,"), message.size()));
    Kind& kind = kinds_[without_numbers(text)];
    if (all_ || ++kind.n <= kFirst) return say_(message);
    kind.last = message;
  }

  void end() {
    for (const auto& [words, kind] : kinds_)
      if (kind.n > kFirst)
        say_(fmt::format("and {} more lines like it (hint: --verbose says all), the last: {}",
                         kind.n - kFirst, kind.last));
    kinds_.clear();
  }

 private:
  static constexpr size_t kFirst = 10;
  struct Kind {
    size_t n = 0;
    std::string last;
  };

  static std::string without_numbers(const std::string& text) {
    std::string words;
    for (const char c : text)
      if (!isdigit(static_cast<unsigned char>(c))) words += c;
    return words;
  }

  const Say say_;
  const bool all_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace pando::cli
