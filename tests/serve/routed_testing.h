// Requests as a router sends them, and the streams that it reads.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "serve/client.h"

namespace pando::testing {

// The header of a router's requests; the same for a request and for those that go on behind it.
inline std::string routed_line(const Json& more = Json::object()) {
  Json header = {
      {"id", "0123456789abcdef"}, {"created", 1'700'000'000}, {"seed", 77}, {"tokens", true}};
  header.update(more);
  return "X-Pando-Routed: " + header.dump() + "\r\n";
}

inline Answer ask_routed(uint16_t port, const std::string& path, const Json& body,
                         const std::string& headers = routed_line()) {
  Client client(port);
  client.send(post_text(path, body.dump(), headers));
  return client.read();
}

// The events of an answer's new tokens.
struct ToldUnit {
  size_t request = 0, choice = 0;
  std::vector<Token> tokens;
  std::string events;
};

struct ToldStream {
  std::string head;  // before the first comment
  std::vector<ToldUnit> units;
};

inline ToldStream told_stream(const std::string& body) {
  constexpr std::string_view kComment = ": tokens ";
  ToldStream stream;
  for (size_t at = 0; at < body.size();) {
    const size_t end = body.find("\n\n", at) + 2;
    EXPECT_NE(end, 1U) << body.substr(at);
    const std::string block = body.substr(at, end - at);
    at = end;
    if (block.starts_with(kComment)) {
      std::istringstream numbers(block.substr(kComment.size()));
      ToldUnit& unit = stream.units.emplace_back();
      numbers >> unit.request >> unit.choice;
      for (Token token = 0; numbers >> token;) unit.tokens.push_back(token);
      EXPECT_FALSE(unit.tokens.empty()) << block;
    } else {
      (stream.units.empty() ? stream.head : stream.units.back().events) += block;
    }
  }
  return stream;
}

// "pando_begun" of the first units of a stream.
inline Json begun_by(const ToldStream& stream, size_t n_units) {
  std::map<std::pair<size_t, size_t>, std::vector<Token>> told;
  for (size_t i = 0; i < n_units; ++i) {
    const ToldUnit& unit = stream.units[i];
    std::vector<Token>& tokens = told[{unit.request, unit.choice}];
    tokens.insert(tokens.end(), unit.tokens.begin(), unit.tokens.end());
  }
  Json begun = Json::array();
  for (const auto& [place, tokens] : told)
    begun.push_back({{"request", place.first}, {"choice", place.second}, {"tokens", tokens}});
  return begun;
}

// Events by answer, since those of several answers may come in another order.
inline std::map<std::pair<size_t, size_t>, std::string> events_by_answer(const ToldStream& stream,
                                                                         size_t first_unit,
                                                                         const std::string& end) {
  std::map<std::pair<size_t, size_t>, std::string> events;
  for (size_t i = first_unit; i < stream.units.size(); ++i) {
    const ToldUnit& unit = stream.units[i];
    std::string told = unit.events;
    if (told.ends_with(end)) told.resize(told.size() - end.size());
    if (!told.empty()) events[{unit.request, unit.choice}] += told;
  }
  return events;
}

}  // namespace pando::testing
