#include "lab/data/routed_requests.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/errors.h"
#include "base/mix.h"
#include "lab/data/file_names.h"
#include "lab/experiment.h"

namespace pando::lab {
namespace {

constexpr uint32_t kMooncakeUnit = 512;  // tokens
static_assert(kMooncakeUnit == kRoutedDivisor * static_cast<uint32_t>(kPieceTokens));

uint32_t scaled(uint32_t n_tokens) { return std::max(1u, n_tokens / kRoutedDivisor); }

[[noreturn]] void refuse_line(std::string_view file, size_t line, const char* expected) {
  throw BenchmarkError(bad_file("{}, line {}: expected {}", file, line, expected));
}

// Units that are not full are left out: they are the prompt's own.
RoutedRequest mooncake_request(const std::string& line, size_t number) {
  const nlohmann::json record = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  try {
    const auto n_prompt = record.at("input_length").get<uint32_t>();
    RoutedRequest request{.arrival = record.at("timestamp").get<double>(),
                          .n_prompt = scaled(n_prompt),
                          .n_answer = scaled(record.at("output_length").get<uint32_t>())};
    for (const uint64_t unit : record.at("hash_ids").get<std::vector<uint64_t>>())
      if (request.pieces.size() < n_prompt / kMooncakeUnit)
        request.pieces.push_back(mix64(2 * unit + 1));
    return request;
  } catch (const nlohmann::json::exception&) {
    refuse_line(kMooncakeConversation, number,
                "timestamp, input_length, output_length and hash_ids");
  }
}

// "74,918,992,0.08": tokens of a prompt, of its answer, of both, and a ratio.
RoutedRequest share_gpt_request(const std::string& line, size_t number) {
  uint32_t n_prompt = 0, n_answer = 0;
  if (std::sscanf(line.c_str(), "%u,%u,", &n_prompt, &n_answer) != 2)
    refuse_line(kShareGptLengths, number, "num_prefill_tokens,num_decode_tokens");
  RoutedRequest request{
      .n_prompt = scaled(n_prompt), .n_answer = scaled(n_answer), .is_short = true};
  for (uint64_t i = 0; i < request.n_prompt / static_cast<uint32_t>(kPieceTokens); ++i)
    request.pieces.push_back(mix64((number << 20 | i) << 1));
  return request;
}

}  // namespace

std::vector<RoutedRequest> routed_requests(const std::string& mooncake,
                                           const std::string& share_gpt, size_t n_each) {
  std::istringstream conversations(mooncake), lengths(share_gpt);
  std::vector<RoutedRequest> requests;
  std::string line;
  std::getline(lengths, line);  // names of the columns
  for (size_t i = 0; i < n_each; ++i) {
    if (!std::getline(conversations, line))
      refuse_line(kMooncakeConversation, i + 1, "a request more");
    requests.push_back(mooncake_request(line, i + 1));
    if (!std::getline(lengths, line)) refuse_line(kShareGptLengths, i + 2, "a request more");
    requests.push_back(share_gpt_request(line, i + 2));
    requests.back().arrival = (static_cast<double>(i) + 0.5) / static_cast<double>(n_each);
  }
  const double begin = requests[0].arrival,
               span = std::max(1.0, requests[requests.size() - 2].arrival - begin);
  for (RoutedRequest& request : requests)
    if (!request.is_short) request.arrival = (request.arrival - begin) / span;
  std::ranges::stable_sort(requests, {}, &RoutedRequest::arrival);
  return requests;
}

}  // namespace pando::lab
