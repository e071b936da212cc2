// Rewrites text before it is cut into words.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pando {

// `text`, which is UTF-8, in Unicode normalization form C. O(n log n) for any text.
std::string to_nfc(std::string_view text);

namespace normal {
struct Nfc {};
struct Prepend {  // unless the text is empty
  std::string text;
};
struct Replace {     // every occurrence, from the left
  std::string from;  // not empty
  std::string to;
};
}  // namespace normal

using NormalStep = std::variant<normal::Nfc, normal::Prepend, normal::Replace>;

// Steps in order. Immutable; any thread.
class Normalizer {
 public:
  Normalizer() = default;
  explicit Normalizer(std::vector<NormalStep> steps) : steps_(std::move(steps)) {}

  bool empty() const { return steps_.empty(); }
  std::string apply(std::string_view text) const;

 private:
  std::vector<NormalStep> steps_;
};

std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace pando
