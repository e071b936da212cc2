// Requests of published traces for several replicas: prefixes of Mooncake, lengths of ShareGPT.
#pragma once

#include <string>
#include <vector>

#include "lab/simulate/simulated_replica.h"

namespace pando::lab {

// Lengths are divided by this, so that a unit of Mooncake's prompts, 512 tokens, is a piece.
constexpr uint32_t kRoutedDivisor = 8;

// As many lines of each, one of Mooncake's conversations beside one of ShareGPT's lengths, which
// share nothing and are the short requests. Arrivals are those of Mooncake, from 0 to 1; those of
// ShareGPT are even. Errors, thrown: kBadFile, with the line.
// mooncake: lines of JSON; share_gpt: CSV with a head.
std::vector<RoutedRequest> routed_requests(const std::string& mooncake,
                                           const std::string& share_gpt, size_t n_each);

}  // namespace pando::lab
