#include "engine/technique_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/errors.h"

namespace pando {
namespace {

template <class T>
bool parse(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [parsed_to, error] = std::from_chars(text.data(), end, value);
  return parsed_to == end && error == std::errc();  // an empty text is an error too
}

}  // namespace

TechniqueOptions::TechniqueOptions(std::string_view sharing) {
  const size_t colon = sharing.find(':');
  name_ = sharing.substr(0, colon);
  if (colon == std::string_view::npos) return;
  for (std::string_view rest = sharing.substr(colon + 1);;) {
    const size_t comma = rest.find(',');
    const std::string_view option = rest.substr(0, comma);
    const size_t equals = option.find('=');
    const std::string key(option.substr(0, equals));
    std::optional<std::string> value;
    if (equals != std::string_view::npos) value = option.substr(equals + 1);
    if (!values_.try_emplace(key, value).second)
      fail(key, value.value_or(""), "the option only once");
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

bool TechniqueOptions::flag(const std::string& key) {
  const auto found = values_.extract(key);
  if (found && found.mapped()) fail(key, *found.mapped(), "no value");
  return !found.empty();
}

double TechniqueOptions::number(const std::string& key, double absent, double least, double most) {
  const std::string text = take(key);
  double value = absent;
  if (!text.empty() && !(parse(text, value) && value >= least && value <= most))
    fail(key, text, fmt::format("a number from {} to {}", least, most));
  return value;
}

uint32_t TechniqueOptions::count(const std::string& key, uint32_t absent) {
  const std::string text = take(key);
  uint32_t value = absent;
  if (!text.empty() && !(parse(text, value) && value >= 1 && value <= kMostCount))
    fail(key, text, fmt::format("a number from 1 to {}", kMostCount));
  return value;
}

std::vector<uint32_t> TechniqueOptions::ascending(const std::string& key) {
  const std::string text = take(key);
  std::vector<uint32_t> numbers;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t plus = std::min(rest.find('+'), rest.size());
    uint32_t number = 0;
    if (!parse(std::string(rest.substr(0, plus)), number) || plus + 1 == rest.size() ||
        number <= (numbers.empty() ? 0 : numbers.back())) {
      fail(key, text, "ascending numbers such as 1024+2048");
      return {};
    }
    numbers.push_back(number);
    rest.remove_prefix(std::min(plus + 1, rest.size()));
  }
  return numbers;
}

Status TechniqueOptions::status() const {
  if (!status_ || values_.empty()) return status_;
  return invalid_argument("sharing '{}' has no option '{}'", name_, values_.begin()->first);
}

std::string TechniqueOptions::take(const std::string& key) {
  const auto found = values_.extract(key);
  if (!found) return {};
  std::string value = found.mapped().value_or("");
  if (value.empty()) fail(key, value, "a value");
  return value;
}

void TechniqueOptions::fail(std::string_view key, std::string_view value,
                            std::string_view expected) {
  if (status_)
    status_ = invalid_argument("sharing '{}': option '{}' is '{}', expected {}", name_, key, value,
                               expected);
}

}  // namespace pando
