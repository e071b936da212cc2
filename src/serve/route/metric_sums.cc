#include "serve/route/metric_sums.h"

#include <fmt/format.h>

#include <cstdlib>
#include <set>

namespace pando::serve {
namespace {

constexpr std::string_view kOfProcess = "process_", kHelp = "# HELP ", kType = "# TYPE ";

std::string_view next_metric_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

struct MetricSample {
  std::string_view name;  // with its labels
  double value;
};
struct ParsedFamily {
  std::string_view help, type;  // lines
  std::vector<MetricSample> samples;
};

// A family's lines follow each other. A value of a label may hold spaces, so a value is found from
// the end.
std::vector<std::pair<std::string_view, ParsedFamily>> parse_families(std::string_view text) {
  std::vector<std::pair<std::string_view, ParsedFamily>> families;
  while (!text.empty()) {
    const std::string_view line = next_metric_line(text);
    const bool is_help = line.starts_with(kHelp), is_type = line.starts_with(kType);
    if (is_help || is_type) {
      std::string_view name = line.substr(kHelp.size());
      name = name.substr(0, name.find(' '));
      if (families.empty() || families.back().first != name) families.push_back({name, {}});
      (is_help ? families.back().second.help : families.back().second.type) = line;
    } else if (const size_t end = line.rfind(' ');
               !line.empty() && line[0] != '#' && end != line.npos && !families.empty()) {
      const std::string value(line.substr(end + 1));
      families.back().second.samples.push_back(
          {line.substr(0, end), std::strtod(value.c_str(), nullptr)});
    }
  }
  return families;
}

// Bounds of a histogram's buckets, as they are written. The texts with the names must live longer.
template <class Names, class NameOf>
std::set<std::string_view> all_bounds(const Names& names, const NameOf& name_of) {
  constexpr std::string_view kBound = "le=\"";
  std::set<std::string_view> bounds;
  for (const auto& one : names) {
    const std::string_view name_with_labels = name_of(one);
    const size_t begin = name_with_labels.find(kBound);
    if (begin == name_with_labels.npos) continue;
    const std::string_view bound = name_with_labels.substr(begin + kBound.size());
    bounds.insert(bound.substr(0, bound.find('"')));
  }
  return bounds;
}

}  // namespace

void MetricSums::add(std::string_view text, bool totals_only) {
  for (const auto& [name, parsed] : parse_families(text)) {
    if (name.starts_with(kOfProcess)) continue;
    const bool is_histogram = parsed.type.ends_with(" histogram");
    if (totals_only && !is_histogram && !parsed.type.ends_with(" counter")) continue;
    auto found = families_.find(name);
    const bool is_new = found == families_.end();
    if (is_new) {
      found = families_.emplace(std::string(name), Summed()).first;
      found->second.help = std::string(parsed.help);
      found->second.type = std::string(parsed.type);
      order_.emplace_back(name);
    }
    Summed& summed = found->second;
    if (!is_new && is_histogram && !summed.samples.empty() && !parsed.samples.empty() &&
        all_bounds(summed.samples, [](const std::string& s) { return std::string_view(s); }) !=
            all_bounds(parsed.samples, [](const MetricSample& s) { return s.name; }))
      continue;
    for (const MetricSample& sample : parsed.samples) {
      const auto value = summed.values.find(sample.name);
      if (value != summed.values.end()) {
        value->second += sample.value;
        continue;
      }
      summed.samples.emplace_back(sample.name);
      summed.values.emplace(std::string(sample.name), sample.value);
    }
  }
}

std::string MetricSums::text() const {
  std::string text;
  for (const std::string& name : order_) {
    const Summed& family = families_.find(name)->second;
    for (const std::string& line : {family.help, family.type})
      if (!line.empty()) text += line + "\n";
    for (const std::string& sample : family.samples)
      text += fmt::format("{} {}\n", sample, family.values.find(sample)->second);
  }
  return text;
}

}  // namespace pando::serve
