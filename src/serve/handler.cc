#include "serve/handler.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/beast/core/string.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "api/model_parts.h"
#include "api/prompt.h"
#include "serve/awaited_group.h"
#include "serve/deadlines.h"
#include "serve/offload.h"

namespace pando::serve {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

// Parameters such as a charset may follow.
bool is_json(std::string_view content_type) {
  constexpr std::string_view kJson = "application/json";
  const std::string_view type = content_type.substr(0, content_type.find_first_of("; \t"));
  return boost::beast::iequals(type, kJson);
}

// A chat template that is missing or cannot be read is told by the files of the server, which are
// no affair of its clients.
Error for_clients(const Service& service, std::string_view path, const Error& error) {
  const auto& chat = service.engine.model().parts().chat;
  if (chat || error.message != chat.error().message) return error;
  const auto [field, hint] =
      path == "/v1/answers" ? std::pair{"chat", "without 'chat' the prompt is the filled template"}
      : path == "/tokenize" ? std::pair{"messages", "'prompt' takes a text as it is"}
                            : std::pair{"messages", "/v1/completions takes a prompt as it is"};
  return blame(field,
               unsupported("the model '{}' has no chat template that can be read here (hint: "
                           "{})",
                           service.options.model_names.front(), hint));
}

// What is freed goes back to the operating system; milliseconds for each GiB.
void give_back_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

// Gives memory back on a thread for long texts, where there is one, once a request is over.
class GivesBack {
 public:
  explicit GivesBack(asio::thread_pool* pool) : pool_(pool) {}
  ~GivesBack() {
    try {
      if (pool_ != nullptr) asio::post(*pool_, give_back_memory);
    } catch (const std::bad_alloc&) {  // the next request does it
    }
  }
  GivesBack(const GivesBack&) = delete;
  GivesBack& operator=(const GivesBack&) = delete;

 private:
  asio::thread_pool* pool_;
};

// Takes a tree apart where it ends.
class TakenApart {
 public:
  explicit TakenApart(Json& tree) : tree_(tree) {}
  ~TakenApart() { take_apart(tree_); }
  TakenApart(const TakenApart&) = delete;
  TakenApart& operator=(const TakenApart&) = delete;

 private:
  Json& tree_;
};

// Either is there, or neither where there is more to tokenise than was allowed.
struct Prepared {
  std::unique_ptr<openai::Job> job;
  std::optional<HttpResponse> response;
  uint64_t n_prompt = 0;  // tokens of prompts, as far as it came
};

// A body and what is asked by it; on a thread for texts.
Prepared prepare(Service& service, const Route& route, const HttpRequest& request,
                 size_t most_bytes) {
  const std::function<bool()> is_given_up = [&] {
    return service.is_cutting || request.is_given_up;
  };
  const auto gone = [&] {
    return Prepared{.response = error_response(service.is_cutting
                                                   ? shutting_down()
                                                   : timed_out(service.options.request_timeout))};
  };
  if (is_given_up() && !route.open) return gone();
  uint64_t n_prompt = 0;
  const auto refuse = [&](const Error& error) {
    return Prepared{
        .response = error_response(openai::wire_error(for_clients(service, route.path, error))),
        .n_prompt = n_prompt};
  };
  Json body;
  const TakenApart of_body(body);
  if (std::string_view(route.method) == "POST") {
    Result<Json> parsed = parse_json(request.body, LargeNumbers::kKept);
    if (!parsed) return refuse(invalid_argument("the body: {}", parsed.error().message));
    body = std::move(*parsed);
    if (!body.is_object())
      return refuse(invalid_argument("the body is {}, expected an object", found_text(body)));
    std::string name;
    Fields fields(body);
    fields.text("model", name);
    if (!fields.status()) return refuse(fields.status().error());
    if (!name.empty() && !service.serves(name))
      return {.response = wrong_request(404, "model_not_found", service.not_served(name), "model")};
  }
  if (route.answer != nullptr) {
    Result<HttpResponse> response = route.answer(service, request, body);
    if (!response) return refuse(response.error());
    return {.response = std::move(*response)};
  }
  const Result<DueTimes> due = take_due_times(body);
  if (!due) return refuse(due.error());
  const auto prefix = service.public_prefixes.take(body);
  if (!prefix) return refuse(prefix.error());
  const Model& model = service.engine.model();
  openai::Bounds bounds(most_bytes);
  auto job = route.make_job(body, {.model = model,
                                   .context = static_cast<int>(service.longest()),
                                   .max_answers = service.engine.options().max_open,
                                   .envelope = service.envelope(request.id),
                                   .bounds = bounds,
                                   .text = request.body,
                                   .given_up = is_given_up});
  if (is_given_up()) return gone();
  if (!job && bounds.has_too_many_bytes() && most_bytes < openai::Bounds::kMostBytes) return {};
  if (!job) return refuse(job.error());
  const uint64_t key = (*job)->cached ? request.isolation_key : service.private_key();
  for (size_t i = 0; i < (*job)->requests.size(); ++i) {
    if (is_given_up()) return gone();
    Request& one = (*job)->requests[i];
    Result<std::vector<Token>> tokens = encode_prompt(model, one);
    if (!tokens) {
      Error error = tokens.error();
      if (error.field.empty() && error.code == ErrorCode::kInvalidArgument) error.field = "prompt";
      return refuse(openai::of_request(**job, i, std::move(error)));
    }
    one.tokens = std::move(*tokens);
    one.messages = {};  // read, and the engine would have a copy
    n_prompt += one.tokens.size();
    const Status fits = openai::check_length(**job, i, service.engine.options().context);
    if (!fits) return refuse(fits.error());
    openai::fit_length(**job, i, service.engine.kv_capacity());
    one.isolation_key = key;
    one.cached = (*job)->cached;
    one.ttft_slo = due->ttft_slo;
    one.tpot_slo = due->tpot_slo;
    one.deadline_class = due->deadline_class;
    one.sent = request.arrival;
    if (*prefix != nullptr && (*job)->cached) {
      const Result<size_t> n_public = PublicPrefixes::n_public(**prefix, one.tokens);
      if (!n_public) return refuse(n_public.error());
      one.n_public = *n_public;
    }
    if (one.tokens.size() == 1) one.prompt_logprobs_from.reset();  // there is nothing to report
    // Here for all of them: the engine would find it when its turn comes.
    if (const Status wrong = service.engine.check(one); !wrong)
      return refuse(openai::of_request(**job, i, wrong.error()));
  }
  if (const Status few = openai::check_logprobs(**job); !few) return refuse(few.error());
  openai::count_beside((*job)->requests);
  return {.job = std::move(*job), .n_prompt = n_prompt};
}

// Times of a job's generated answers, from when its body had come.
class Times {
 public:
  Times(Metrics& metrics, const std::vector<Request>& requests, Clock::time_point start)
      : metrics_(metrics), start_(start), first_(requests.size()) {
    for (size_t i = 0; i < requests.size(); ++i) {
      first_[i].resize(static_cast<size_t>(requests[i].sampling.n));
      generates_.push_back(requests[i].sampling.max_tokens > 0 &&
                           requests[i].pooling == Pooling::kNone);
    }
  }

  void hear(const News& heard) {
    if (!generates_[heard.request]) return;
    std::optional<Clock::time_point>& first =
        first_[heard.request][static_cast<size_t>(heard.event.choice)];
    if (!first) {
      first = heard.when;
      metrics_.first_token(std::chrono::duration<double>(*first - start_).count());
    }
    if (heard.event.completion && heard.event.completion->tokens.size() > 1)
      metrics_.next_tokens(std::chrono::duration<double>(heard.when - *first).count() /
                           static_cast<double>(heard.event.completion->tokens.size() - 1));
  }

 private:
  Metrics& metrics_;
  const Clock::time_point start_;
  std::vector<std::vector<std::optional<Clock::time_point>>> first_;  // [requests][n]
  std::vector<bool> generates_;  // [requests] that have tokens at all
};

// The head of a stream goes out once the engine has let the job in: what it refuses has a status.
asio::awaitable<void> answer(Service& service, openai::Job& job, asio::thread_pool& pool,
                             Clock::time_point start, Replier& replier) {
  openai::Completions completions;
  for (const Request& request : job.requests)
    completions.emplace_back(static_cast<size_t>(request.sampling.n));
  Result<Admission::Place> place = service.admission.enter(bytes_of(job.requests));
  Status status = place ? Status() : Status(place.error());
  std::optional<AwaitedGroup> group(std::in_place, service.engine, service.gate, job.requests,
                                    co_await asio::this_coro::executor);
  Times times(service.metrics, job.requests, start);
  while (status && !group->is_over()) {
    Result<std::vector<News>> news = co_await group->next();
    if (!news) {
      status = openai::of_request(job, group->failed(), news.error());
      break;
    }
    place->let_in();
    std::string events;
    if (job.stream && !replier.has_begun()) {
      co_await replier.begin_stream();
      if (&pool == &service.long_text_pool)  // with `echo` a long text
        events = co_await offload(pool, service.engine.options().nice, [&] { return job.begin(); });
      else
        events = job.begin();
    }
    for (News& heard : *news) {
      times.hear(heard);
      if (job.stream) events += job.hear(heard.request, heard.event);
      if (!heard.event.completion) continue;
      Completion& completion = completions[heard.request][static_cast<size_t>(heard.event.choice)];
      completion = std::move(*heard.event.completion);
      replier.tally.n_answer += completion.tokens.size();
      if (heard.event.choice == 0)
        replier.tally.n_cached += static_cast<uint64_t>(completion.shared_tokens);
    }
    if (!events.empty()) co_await replier.write(std::move(events));
  }
  group.reset();  // where one failed, the others end before a slow client has read that
  if (!replier.has_begun()) {
    HttpResponse response;
    if (status) {
      response = co_await offload(pool, service.engine.options().nice,
                                  [&] { return json_response(job.body(completions)); });
    } else {
      response =
          error_response(openai::wire_error(status.error()), service.admission.retry_after());
    }
    co_await replier.send(std::move(response));
    co_return;
  }
  std::string last;
  if (status) {
    last = job.end(completions);
  } else {
    const openai::WireError error = openai::wire_error(status.error());
    replier.tally.error = error.code;
    replier.tally.error_param = error.param;
    last = openai::stream_event(openai::error_body(error));
  }
  last += openai::kStreamEnd;
  co_await replier.write(std::move(last));
  co_await replier.end_stream();
}

}  // namespace

std::optional<HttpResponse> check_head(const Service& service, HttpRequest& request,
                                       std::string_view authorization) {
  const Route* route = find_route(request.path);
  if (route == nullptr || !route->open) {
    const std::optional<uint64_t> key = service.keys.identify(authorization);
    if (!key)
      return wrong_request(
          401, "invalid_api_key",
          authorization.empty() ? "no API key was sent, expected 'Authorization: Bearer KEY'"
          : authorization.starts_with("Bearer ")
              ? "the API key is not known"
              : "the header has no 'Bearer', expected 'Authorization: Bearer KEY'");
    request.isolation_key = *key;
  }
  if (route == nullptr) {
    const std::string meant = meant_path(request.path);
    return wrong_request(
        404, "not_found",
        fmt::format("nothing is served under '{}'{}", one_line(request.path),
                    meant.empty() ? "" : fmt::format(" (hint: '{}'?)", one_line(meant))));
  }
  const bool is_get = std::string_view(route->method) == "GET";
  if (request.method != route->method && !(is_get && is_head(request.method))) {
    HttpResponse response =
        wrong_request(405, "method_not_allowed",
                      fmt::format("the method is {}, expected {} under '{}'",
                                  one_line(request.method), route->method, route->path));
    response.headers.push_back({"Allow", is_get ? "GET, HEAD" : route->method});
    return response;
  }
  // What a web page of others can send without asking is no JSON.
  if (request.method == "POST" && !is_json(request.content_type))
    return wrong_request(415, "unsupported_media_type",
                         fmt::format("the content is of type '{}', expected 'application/json'",
                                     one_line(request.content_type)));
  if (!request.content_encoding.empty() &&
      !boost::beast::iequals(request.content_encoding, "identity")) {
    HttpResponse response =
        wrong_request(415, "unsupported_media_type",
                      fmt::format("the content is encoded as '{}', expected it as it is",
                                  one_line(request.content_encoding)));
    response.headers.push_back({"Accept-Encoding", "identity"});
    return response;
  }
  if (service.draining && !route->open) return error_response(shutting_down());
  return std::nullopt;
}

asio::awaitable<void> handle(Service& service, HttpRequest& request, Replier& replier) {
  constexpr size_t kLong = size_t{64} << 10, kAny = openai::Bounds::kMostBytes;
  const Route& route = *find_route(request.path);
  const auto prepared_on = [&](asio::thread_pool& pool, size_t most_bytes) {
    return offload(pool, service.engine.options().nice,
                   [&, most_bytes] { return prepare(service, route, request, most_bytes); });
  };
  bool is_long = request.body.size() > kLong;
  Prepared prepared;
  if (std::string_view(route.method) == "GET") {  // no text: whether it is alive must not wait
    prepared = prepare(service, route, request, kAny);
  } else if (!is_long) {  // what it asks for may be long all the same
    prepared = co_await prepared_on(service.text_pool, kLong);
    is_long = !prepared.job && !prepared.response;
  }
  if (is_long) prepared = co_await prepared_on(service.long_text_pool, kAny);
  request.body = std::string();
  request.room.reset();
  asio::thread_pool& pool = is_long ? service.long_text_pool : service.text_pool;
  // Keys, prompts and answers of a long request take hundreds of MiB, which allocators keep.
  const GivesBack gives_back(is_long ? &service.long_text_pool : nullptr);
  replier.tally.n_prompt = prepared.n_prompt;
  if (prepared.response) {
    co_await replier.send(std::move(*prepared.response));
  } else {
    const std::string& warning = prepared.job->warning;
    if (!warning.empty() && !service.has_warned.exchange(true))
      service.log(fmt::format("{}: {}", request.id, warning));
    co_await answer(service, *prepared.job, pool, request.arrival, replier);
  }
}

}  // namespace pando::serve
