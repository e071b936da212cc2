// deploy/grafana.json.
#include <regex>
#include <set>

#include "serve/metric_values.h"

namespace pando::testing {
namespace {

// Every figure that the dashboard asks for is there, of the chosen instances alone, and one line is
// drawn for all of these.
TEST(Dashboard, AsksForWhatThereIs) {
  const std::set<std::string> names = metric_names(all_metrics());
  const Json dashboard = Json::parse(source_file("deploy/grafana.json"));
  std::set<std::string> variables, asked;
  for (const Json& variable : dashboard["templating"]["list"]) variables.insert(variable["name"]);
  EXPECT_EQ(variables, (std::set<std::string>{"source", "job", "instance"}));
  const std::regex series(
      R"re(\b((?:pando|process)_\w+)(\{job=~"\$job", instance=~"\$instance"\})?)re");
  for (const Json& panel : dashboard["panels"])
    for (const Json& target : panel["targets"]) {
      const std::string ask = target["expr"];
      EXPECT_TRUE(ask.find("sum") != std::string::npos || ask.starts_with("max(")) << ask;
      for (std::sregex_iterator found(ask.begin(), ask.end(), series), end; found != end; ++found) {
        const std::string name = std::regex_replace((*found)[1].str(), std::regex("_bucket$"), "");
        EXPECT_TRUE(names.contains(name)) << name;
        EXPECT_TRUE((*found)[2].matched) << name << " of every instance: " << ask;
        asked.insert(name);
      }
    }
  for (const char* name : {"pando_kv_bytes", "pando_kv_capacity_bytes",
                           "process_resident_memory_bytes", "pando_build_info"})
    EXPECT_TRUE(asked.contains(name)) << name;
}

}  // namespace
}  // namespace pando::testing
