// Messages about lines of the input.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace pando::cli {

// Prints the first of messages that are alike and counts the others; the counts follow at the end.
// Alike are those that differ only in numbers and in what is quoted.
class GroupedMessages {
 public:
  using Print = std::function<void(const std::string& message)>;

  // `all`: every one is printed.
  GroupedMessages(Print print, bool all) : print_(std::move(print)), all_(all) {}

  // `message` begins with the line and a colon or a comma.
  void add(const std::string& message) {
    if (all_) return print_(message);
    std::string words =
        kind_of(message.substr(std::min(message.find_first_of(":,"), message.size())));
    if (kinds_.size() >= kMostKinds && !kinds_.contains(words)) words.clear();
    Kind& kind = kinds_[words];
    if (++kind.n <= kFirst) return print_(message);
    kind.last = message;
  }

  void end() {
    for (const auto& [words, kind] : kinds_)
      if (kind.n > kFirst)
        print_(fmt::format("and {} more {}, the last: {}", kind.n - kFirst,
                           words.empty() ? "of other kinds" : "like it", kind.last));
    kinds_.clear();
  }

 private:
  static constexpr size_t kFirst = 10, kMostKinds = 100;  // of those beyond, all are of one kind
  struct Kind {
    size_t n = 0;
    std::string last;
  };

  static std::string kind_of(const std::string& text) {
    std::string words;
    bool is_quoted = false;
    for (const char c : text) {
      if (c == '\'' || c == '"') is_quoted = !is_quoted;
      if (!is_quoted && !isdigit(static_cast<unsigned char>(c))) words += c;
    }
    return words;
  }

  const Print print_;
  const bool all_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace pando::cli
