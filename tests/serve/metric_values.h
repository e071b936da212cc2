// Reads what /metrics says.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "serve/client.h"

namespace pando::testing {

inline std::string metrics_of(RunningServer& server) {
  return Client(server.port()).get("/metrics").body;
}

// With figures of requests in it too.
inline std::string all_metrics() {
  RunningServer server;
  Client client(server.port());
  for (int i = 0; i < 2; ++i)  // the first is counted once the second is answered
    EXPECT_EQ(client.post("/v1/completions", {{"prompt", "P"}}).status, 200);
  return metrics_of(server);
}

// Reads a file of the repository.
inline std::string source_file(const std::string& path) {
  std::ifstream file(PANDO_SOURCE_DIR "/" + path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Reads a series, as it is written: "name" or "name{label=\"value\"}".
inline double metric_value(const std::string& text, const std::string& series) {
  const std::string line = "\n" + series + " ";
  const size_t at = ("\n" + text).find(line);
  if (at == std::string::npos) {
    ADD_FAILURE() << series << " is not in\n" << text;
    return 0;
  }
  return std::strtod(text.c_str() + at + line.size() - 1, nullptr);
}

// Names of families.
inline std::set<std::string> metric_names(const std::string& text) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("# TYPE ")) names.insert(line.substr(7, line.find(' ', 7) - 7));
  return names;
}

}  // namespace pando::testing
