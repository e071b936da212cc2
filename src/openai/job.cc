// Jobs of OpenAI's own endpoints.
#include "openai/job.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "api/model_parts.h"
#include "engine/options.h"
#include "openai/errors.h"
#include "openai/logprobs.h"

namespace pando::openai {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kCompletionTokens = 16;  // as OpenAI's documentation says
constexpr int kMostTopLogprobs = 20;   // the same

// Where it is one of a list, a message says which.
std::string of_place(const std::string& place, const std::string& message) {
  return place.ends_with(']') ? place + ": " + message : message;
}

class WireJob : public Job {
 public:
  WireJob(Body body, const JobContext& context)
      : form_(std::move(body.form)),
        include_usage_(body.include_usage),
        usage_in_chunks_(body.usage_in_chunks),
        model_(context.model),
        envelope_(context.envelope) {
    requests = std::move(body.requests);
    stream = body.stream;
    cached = body.cached;
    length_field = body.length_field;
    name_requests(requests, envelope_.id);
    for (size_t i = 0; i < requests.size(); ++i) {
      first_choice_.push_back(choices_.size());
      for (int choice = 0; choice < requests[i].sampling.n; ++choice)
        choices_.push_back({.request = i, .lists = TokenLists(model_)});
    }
  }

  std::string place(size_t request) const override {
    const char* field = prompt_field(form_.endpoint);
    return requests.size() > 1 ? place_in(field, request) : field;
  }

  std::string begin() override {
    std::string events;
    for (size_t i = 0; i < choices_.size(); ++i) {
      if (is_chat()) {
        events += chunk(i, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
      } else if (form_.echo) {
        const std::string text = prompt_text(requests[choices_[i].request], model_);
        choices_[i].lists.skip(text);
        events += chunk(i, text, nullptr, nullptr);
      }
    }
    return events;
  }

  std::string hear(size_t request, const Event& event) override {
    const size_t index = first_choice_[request] + static_cast<size_t>(event.choice);
    Choice& choice = choices_[index];
    const Request& asked = requests[request];
    if (event.logprob) choice.pending.push_back(*event.logprob);
    std::vector<TokenLogprob> logprobs;
    if (event.completion) {  // with what was not told
      const auto all = told_logprobs(model_, asked, *event.completion);
      logprobs.assign(
          all.begin() + static_cast<std::ptrdiff_t>(std::min(choice.n_told, all.size())),
          all.end());
    } else if (!event.text.empty() || asked.sampling.stop.empty()) {
      logprobs = std::exchange(choice.pending, {});
    }  // else the token may belong to a text that stops the answer
    choice.n_told += logprobs.size();
    choice.n_tokens = event.completion ? event.completion->tokens.size() : event.n_tokens;
    OrderedJson lists = nullptr;
    if (!logprobs.empty() && is_chat()) lists = chat_logprobs(model_, logprobs);
    if (!logprobs.empty() && !is_chat()) {
      choice.lists.add_all(logprobs);
      lists = choice.lists.take();
    }
    const OrderedJson reason =
        event.completion ? OrderedJson(finish_reason(*event.completion)) : OrderedJson(nullptr);
    if (!is_chat()) return chunk(index, event.text, std::move(lists), reason);
    OrderedJson delta = OrderedJson::object();
    if (!event.text.empty() || !event.completion) delta["content"] = event.text;
    return chunk(index, std::move(delta), std::move(lists), reason);
  }

  std::string end(const Completions& completions) override {
    if (!include_usage_ && !form_.sharing) return {};
    OrderedJson last = head(form_, envelope_, /*chunk=*/true);
    last["choices"] = OrderedJson::array();
    if (include_usage_) last["usage"] = usage(completions, /*cached=*/true);
    if (form_.sharing) last["sharing"] = sharing(completions);
    return stream_event(last);
  }

  OrderedJson body(Completions& completions) override {
    return response_body(form_, envelope_, requests, completions, model_, /*cached=*/true);
  }

 private:
  struct Choice {
    size_t request;
    TokenLists lists;
    std::vector<TokenLogprob> pending = {};  // of tokens whose text did not come yet
    size_t n_told = 0;                       // tokens whose log-probabilities were sent
    size_t n_tokens = 0;                     // generated so far
  };

  bool is_chat() const { return form_.endpoint == Endpoint::kChat; }

  std::string chunk(size_t index, OrderedJson text, OrderedJson logprobs,
                    OrderedJson reason) const {
    OrderedJson choice = {{"index", index}};
    choice[is_chat() ? "delta" : "text"] = std::move(text);
    choice["logprobs"] = std::move(logprobs);
    choice["finish_reason"] = std::move(reason);
    OrderedJson json = head(form_, envelope_, /*chunk=*/true);
    json["choices"].push_back(std::move(choice));
    if (usage_in_chunks_) {
      uint64_t n_prompt = 0, n_generated = 0;
      for (const Request& request : requests) n_prompt += request.tokens.size();
      for (const Choice& one : choices_) n_generated += one.n_tokens;
      json["usage"] = usage_of(n_prompt, n_generated);
    } else if (include_usage_) {
      json["usage"] = nullptr;
    }
    return stream_event(json);
  }

  AnswerForm form_;
  bool include_usage_, usage_in_chunks_;
  const Model& model_;
  Envelope envelope_;
  std::vector<Choice> choices_;       // of all requests
  std::vector<size_t> first_choice_;  // [requests]
};

Result<std::unique_ptr<Job>> make_job(Endpoint endpoint, const nlohmann::json& json,
                                      const JobContext& context) {
  BodyRules rules{.text = context.text,
                  .context = context.context,
                  .d_model = context.model.parts().weights.config.d_model,
                  .most_prompts = Bounds::kMostRequests,
                  .most_list_bytes = Bounds::kMostBytes};
  if (endpoint == Endpoint::kEmbeddings) rules.embed = embed_options_for(context.model, {});
  rules.sampling.temperature = 1;
  rules.sampling.max_tokens =
      endpoint == Endpoint::kCompletions ? kCompletionTokens : context.context;
  if (Status status = check_lists(json); !status) return status.error();
  Result<Body> body = parse_body(endpoint, json, rules);
  if (!body) return body.error();
  const char* top_field = endpoint == Endpoint::kChat ? "top_logprobs" : "logprobs";
  if (Status status = check_answers(body->requests, context, top_field); !status)
    return status.error();
  auto job = std::make_unique<WireJob>(std::move(*body), context);
  if (endpoint == Endpoint::kEmbeddings &&
      std::ranges::any_of(job->requests, [](const Request& one) { return !one.tokens.empty(); }))
    job->warning =
        "embeddings of token ids are asked for, which must be those of this model's tokenizer "
        "(hint: langchain sends them unless it is told check_embedding_ctx_length=False)";
  return std::unique_ptr<Job>(std::move(job));
}

}  // namespace

Status check_lists(const nlohmann::json& body) {
  constexpr std::pair<const char*, size_t> kLists[] = {
      {"stop", 64}, {"stop_token_ids", 1024}, {"logit_bias", 1024}};
  constexpr size_t kMostStopBytes = 4096;
  for (const auto& [name, most] : kLists)
    if (const auto list = body.find(name);
        list != body.end() && list->is_structured() && list->size() > most)
      return invalid_field(name, "has {} entries, expected at most {}", list->size(), most);
  size_t n_bytes = 0;
  if (const auto stop = body.find("stop"); stop != body.end())
    for (const nlohmann::json& text : stop->is_array() ? *stop : nlohmann::json::array({*stop}))
      if (text.is_string()) n_bytes += text.get_ref<const std::string&>().size();
  if (n_bytes > kMostStopBytes)
    return invalid_field("stop", "has {} bytes in all, expected at most {}", n_bytes,
                         kMostStopBytes);
  return {};
}

Status check_answers(const std::vector<Request>& requests, const JobContext& context,
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

Status check_length(const Job& job, size_t index, int context) {
  const Request& request = job.requests[index];
  const size_t n_prompt = request.tokens.size();
  const auto n_answer = static_cast<size_t>(std::max(request.sampling.max_tokens, 0));
  const auto most = static_cast<size_t>(context);
  if (job.length_field == nullptr || n_prompt + n_answer <= most) return {};
  if (n_prompt >= most) return {};  // no other length would do: the engine says so
  Error error = make_error(
      ErrorCode::kTooLong,
      "the prompt has {} tokens and '{}' is {}, {} together; this model's maximum "
      "context length is {} tokens (hint: fewer, or no '{}')",
      n_prompt, job.length_field, n_answer, n_prompt + n_answer, context, job.length_field);
  error.message = of_place(job.place(index), error.message);
  return blame(job.length_field, std::move(error));
}

void fit_length(Job& job, size_t index, size_t room) {
  Request& request = job.requests[index];
  const size_t n_prompt = request.tokens.size();
  if (job.length_field != nullptr || n_prompt >= room) return;
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

Status check_logprobs(const Job& job) {
  constexpr uint64_t kMost = 16'000'000;
  uint64_t n = 0;
  for (const Request& request : job.requests) n += logprob_count(request);
  if (n <= kMost) return {};
  return blame("logprobs", invalid_argument("up to {} log-probabilities are asked for, expected at "
                                            "most {} (hint: fewer tokens, answers or of each)",
                                            n, kMost));
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

Error of_request(const Job& job, size_t request, Error error) {
  if (error.field == "max_tokens" && job.length_field != nullptr)
    return blame(job.length_field, std::move(error));
  if (error.field != "prompt") return error;
  const std::string place = job.place(request);
  error.message = of_place(place, error.message);
  return blame(place, std::move(error));
}

Status Bounds::add(size_t n_requests, size_t bytes_each) {
  n_requests_ += n_requests;
  if (n_requests_ > kMostRequests)
    return invalid_argument("more than {0} answers are asked for at once, expected at most {0}",
                            kMostRequests);
  n_bytes_ += n_requests * bytes_each;
  if (has_too_many_bytes())
    return invalid_argument(
        "the prompts, with what each has a copy of, have more than {} MiB, "
        "expected fewer or shorter ones",
        most_bytes_ >> 20);
  return {};
}

std::string Job::hear(size_t, const Event&) { return {}; }

std::string stream_event(const OrderedJson& data) { return "data: " + dump(data) + "\n\n"; }

Result<std::unique_ptr<Job>> make_completions_job(const nlohmann::json& body,
                                                  const JobContext& context) {
  return make_job(Endpoint::kCompletions, body, context);
}

Result<std::unique_ptr<Job>> make_chat_job(const nlohmann::json& body, const JobContext& context) {
  return make_job(Endpoint::kChat, body, context);
}

Result<std::unique_ptr<Job>> make_embeddings_job(const nlohmann::json& body,
                                                 const JobContext& context) {
  return make_job(Endpoint::kEmbeddings, body, context);
}

}  // namespace pando::openai
