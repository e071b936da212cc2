#include "ask/body_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/prompt.h"
#include "base/counted.h"
#include "base/errors.h"
#include "base/json.h"
#include "engine/options.h"

namespace pando::ask {
namespace {

constexpr int kMostTopLogprobs = 20;  // as OpenAI's documentation says

// The message says which prompt it is, where it is one of a list.
Error of_prompt(const std::string& place, Error error) {
  return place.ends_with(']') ? in_file(place, std::move(error)) : error;
}

}  // namespace

Status check_lists(const Json& json) {
  constexpr std::pair<const char*, size_t> kLists[] = {
      {"stop", 64}, {"stop_token_ids", 1024}, {"logit_bias", 1024}};
  constexpr size_t kMostStopBytes = 4096;
  for (const auto& [name, most] : kLists)
    if (const auto list = json.find(name);
        list != json.end() && list->is_structured() && list->size() > most)
      return invalid_field(name, "has {} entries, expected at most {}", list->size(), most);
  size_t n_bytes = 0;
  if (const auto stop = json.find("stop"); stop != json.end())
    for (const Json& text : stop->is_array() ? *stop : Json::array({*stop}))
      if (text.is_string()) n_bytes += text.get_ref<const std::string&>().size();
  if (n_bytes > kMostStopBytes)
    return invalid_field("stop", "has {} bytes in all, expected at most {}", n_bytes,
                         kMostStopBytes);
  return {};
}

Status check_answers(const std::vector<Request>& requests, const BodyContext& context,
                     const char* top_field) {
  int64_t n_besides = 0;
  for (const Request& request : requests) {
    const int n = request.sampling.n;
    n_besides += n - 1;
    if (n < 1 || n > kMostChoices || n_besides > context.max_answers)
      return invalid_field(
          "n", "is {}, expected 1 to {}{}", n,
          std::min<size_t>(1 + context.max_answers / requests.size(), kMostChoices),
          requests.size() > 1 ? fmt::format(" with {} prompts", requests.size()) : "");
    if (const int top = request.sampling.top_logprobs; top < 0 || top > kMostTopLogprobs)
      return invalid_field(top_field, "is {}, expected 0 to {}", top, kMostTopLogprobs);
  }
  return {};
}

Status tokenise(const Model& model, Body& body, size_t index) {
  Request& request = body.requests[index];
  const bool is_ranked = request.cut_tokens > 0;
  if (const Status status = take_tokens(model, request); !status) {
    Error error = status.error();
    if (error.place.field.empty() && error.code == ErrorCode::kInvalidArgument)
      error.place.field = "prompt";
    return of_request(body, index, std::move(error));
  }
  if (is_ranked || (request.cut_tokens > 0 && request.pooling != Pooling::kNone))
    body.log_note = fmt::format(
        "a text of {} tokens was cut to {}; usage.cut_tokens of each answer says what was cut",
        request.tokens.size() + static_cast<size_t>(request.cut_tokens), request.tokens.size());
  if (!request.messages.empty() && !request.separate_reasoning) request.separate_reasoning = true;
  request.messages = {};  // read, and the engine would have a copy
  return {};
}

Status check_length(const Body& body, size_t index, int context, int max_positions) {
  const Request& request = body.requests[index];
  const size_t n_prompt = request.tokens.size();
  const auto n_answer = static_cast<size_t>(std::max(request.sampling.max_tokens, 0));
  const auto most = static_cast<size_t>(context);
  if (body.length_field == nullptr || n_prompt + n_answer <= most) return {};
  if (n_prompt >= most) return {};  // no other length would do: the engine says so
  Error error = of_prompt(
      body.place(index),
      make_error(ErrorCode::kTooLong,
                 "the prompt has {} and '{}' is {}, {} together; {} (hint: lower '{}' or "
                 "remove it)",
                 counted(n_prompt, "tokens"), body.length_field, n_answer, n_prompt + n_answer,
                 context_limit(context, max_positions), body.length_field));
  return blame(body.length_field, std::move(error));
}

void fit_length(Body& body, size_t index, size_t room) {
  Request& request = body.requests[index];
  const size_t n_prompt = request.tokens.size();
  if (body.length_field != nullptr || n_prompt >= room) return;
  request.sampling.max_tokens =
      static_cast<int>(std::min<size_t>(request.sampling.max_tokens, room - n_prompt));
}

uint64_t logprob_count(const Request& request) {
  const SamplingOptions& sampling = request.sampling;
  uint64_t n_tokens = 0;  // of a choice
  if (request.prompt_logprobs_from) n_tokens += request.tokens.size();
  n_tokens += request.alternatives.size();
  if (sampling.logprobs) n_tokens += static_cast<uint64_t>(std::max(sampling.max_tokens, 0));
  return n_tokens * static_cast<uint64_t>(sampling.n) *
         (1 + static_cast<uint64_t>(sampling.top_logprobs));
}

Status check_logprobs(const Body& body) {
  constexpr uint64_t kMost = 16'000'000;
  uint64_t n = 0;
  for (const Request& request : body.requests) n += logprob_count(request);
  if (n <= kMost) return {};
  return blame(
      "logprobs",
      invalid_argument("the request asks for up to {} log-probabilities, expected at most {} "
                       "(hint: ask for fewer tokens, answers or log-probabilities per token)",
                       n, kMost));
}

Status check_rows(const Body& body, int d_model) {
  constexpr uint64_t kMost = 64'000'000;  // of f32
  uint64_t n_tokens = 0;
  for (const Request& request : body.requests)
    if (request.pooling == Pooling::kRows) n_tokens += request.tokens.size();
  if (n_tokens * static_cast<uint64_t>(d_model) <= kMost) return {};
  return blame(body.place(body.requests.size() - 1),
               invalid_argument("the texts have {} tokens with {} values each, expected at most {} "
                                "values in all",
                                n_tokens, d_model, kMost));
}

void count_beside(std::vector<Request>& requests) {
  size_t n_distinct = 0;
  for (size_t i = requests.size(); i-- > 0;) {
    const std::vector<Token>& tokens = requests[i].tokens;
    requests[i].tokens_behind = n_distinct;
    n_distinct += tokens.size();
    if (i > 0)
      n_distinct -= static_cast<size_t>(std::ranges::mismatch(tokens, requests[i - 1].tokens).in1 -
                                        tokens.begin());
  }
  for (Request& request : requests) request.tokens_beside = n_distinct - request.tokens.size();
}

Error of_request(const Body& body, size_t request, Error error) {
  if (error.place.field == "max_tokens" && body.length_field != nullptr)
    return blame(body.length_field, std::move(error));
  if (error.place.field == "form") return blame(body.form_place(request), std::move(error));
  if (error.place.field != "prompt") return body.translated(std::move(error));
  const std::string place = body.place(request);
  return blame(place, of_prompt(place, std::move(error)));
}

}  // namespace pando::ask
