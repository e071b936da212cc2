// Requests with the same meaning in the form of each API, and what their answers say.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "serve/client.h"

namespace pando::testing {

// A text to continue, or two texts to compare.
struct DoorAsk {
  std::string text, other;
  double temperature = 0;
  int seed = 0;
  int length = 1;  // tokens
};

struct DoorRequest {
  const char* path;
  Json (*body)(const DoorAsk&);
  Json (*whole)(const Json& answer);                 // says what the answer says
  Json (*streamed)(const std::vector<Json>& parts);  // the same of a stream; null: no stream
  const char* stream_path = nullptr;                 // absent: `path`, with "stream" in the body
};

std::vector<DoorRequest> door_requests();
// Requests to models whose vocabulary has tokens for gaps.
std::vector<DoorRequest> gap_requests();

inline DoorAsk random_ask(std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const auto text = [&] {
    std::string made(40 * below(3), 's');  // beginnings that many share
    for (unsigned i = 1 + below(12); i > 0; --i) made += static_cast<char>('a' + below(26));
    return made;
  };
  return {.text = text(),
          .other = text(),
          .temperature = below(2) == 0 ? 0.0 : 0.9,
          .seed = static_cast<int>(below(1000)),
          .length = static_cast<int>(1 + below(10))};
}

}  // namespace pando::testing
