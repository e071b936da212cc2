#include "serve/route/routed_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/json.h"
#include "schedule/pieces.h"
#include "serve/routed.h"

namespace pando::serve {
namespace {

constexpr double kAnswerTokens = 256;  // at most assumed, as few answers are as long as they may be

}  // namespace

ReadBody read_routed_body(const Route& route, std::string_view text, uint64_t owner) {
  ReadBody read;
  Result<Json> json = parse_json(text, LargeNumbers::kKept);  // as replicas do
  if (!json || !json->is_object()) return read;
  if (json->contains(kBegunField))
    read.refusal = wrong_request(
        400, "invalid_argument",
        fmt::format("field '{}' is for routers, expected no such field", kBegunField), kBegunField);
  if (const auto model = json->find("model"); model != json->end() && model->is_string())
    read.model = model->get<std::string>();
  if (const auto store = json->find("store"); store != json->end() && store->is_boolean())
    read.is_stored = store->get<bool>();
  if (route.read_body != nullptr) {
    PieceHasher hasher(owner);
    read.work = ask::read_prompt_bytes(route.path, *json,
                                       [&](std::string_view bytes) { hasher.add(bytes); });
    if (read.work.cached) read.pieces = hasher.pieces();
  }
  take_apart(*json);
  return read;
}

RoutedWork work_of(const ReadBody& read) {
  const ask::PromptWork& work = read.work;
  RoutedWork routed{.pieces = read.pieces,
                    .n_prompt = static_cast<double>(work.n_bytes) / kBytesPerToken,
                    .n_sequences = static_cast<double>(std::max<size_t>(work.n_answers, 1))};
  if (work.n_answers > 0)
    routed.n_answer = std::min(kAnswerTokens, work.max_tokens.value_or(kAnswerTokens) * 1.0);
  if (work.ttft_slo > 0) routed.deadline = work.ttft_slo;
  return routed;
}

}  // namespace pando::serve
