// Options after the name of a technique: `radix:threshold=0.9,stateless`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/result.h"

namespace pando {

// Each option is read once, by the planner that knows it; `status` then names the first that is
// wrong or that no planner read.
class TechniqueOptions {
 public:
  static constexpr uint32_t kMostCount = 1 << 20;  // rows of that many take gigabytes

  explicit TechniqueOptions(std::string_view sharing);

  const std::string& name() const { return name_; }
  bool flag(const std::string& key);
  double number(const std::string& key, double absent, double least, double most);
  uint32_t count(const std::string& key, uint32_t absent);  // 1 to kMostCount
  // Numbers above 0 with + between them; none if it is absent.
  std::vector<uint32_t> ascending(const std::string& key);
  // Records an error that a planner finds in an option; `status` keeps the first error.
  void fail(std::string_view key, std::string_view value, std::string_view expected);
  Status status() const;

 private:
  // Takes the option and returns its value; a missing value is an error. Empty if the option is
  // absent.
  std::string take(const std::string& key);

  std::string name_;
  std::map<std::string, std::optional<std::string>> values_;  // none: no "=" is there
  std::vector<std::string> known_;                            // options that the planner read
  Status status_;
};

}  // namespace pando
