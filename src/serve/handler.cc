#include "serve/handler.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/beast/core/string.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "api/model_access.h"
#include "api/prompt.h"
#include "ask/body_checks.h"
#include "ask/errors.h"
#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "serve/awaited_group.h"
#include "serve/offload.h"

namespace pando::serve {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

// Parameters such as a charset may follow.
bool is_json(std::string_view content_type) {
  constexpr std::string_view kJson = "application/json";
  const std::string_view type = content_type.substr(0, content_type.find_first_of("; \t"));
  return boost::beast::iequals(type, kJson);
}

// An error of the engine, as the API reports it. The message about a prompt that is too long gives
// the limit in words that clients know.
ask::HttpError http_error(const Service& service, const Error& error) {
  constexpr std::string_view kKnown = "this model's maximum context length is ";
  if (error.code != ErrorCode::kTooLong || error.found.find(kKnown) != std::string::npos)
    return ask::http_error(error);
  Error told = error;
  told.expected = fmt::format("fewer; {}{} tokens here", kKnown, service.longest());
  return ask::http_error(told);
}

// A chat template that is missing or cannot be read is told by the files of the server, which are
// no affair of its clients.
Error for_clients(const Service& service, std::string_view path, const Error& error) {
  const auto& chat = chat_template_of(service.engine.model());
  if (chat || error.code != chat.error().code || error.message() != chat.error().message())
    return error;
  const auto [field, hint] =
      path == "/v1/answers"
          ? std::pair{"chat", "without 'chat' the prompt is made from the template"}
      : path == "/v1/responses" ? std::pair{"input", "/v1/completions takes a plain prompt"}
      : path == "/tokenize"     ? std::pair{"messages", "'prompt' takes plain text"}
                                : std::pair{"messages", "/v1/completions takes a plain prompt"};
  return blame(
      field, unsupported("the model '{}' has no chat template that this server can use (hint: {})",
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
  std::unique_ptr<ask::Body> body;
  std::optional<HttpResponse> response;
  uint64_t n_prompt = 0;  // tokens of prompts, as far as it came
};

// Makes of a body what is asked by it; on a thread for texts.
class Preparation {
 public:
  Preparation(Service& service, const Route& route, const HttpRequest& request, size_t most_bytes)
      : service_(service), route_(route), request_(request), bounds_(most_bytes) {
    can_have_more_ = most_bytes < ask::Bounds::kMostBytes;
  }

  Prepared run() {
    if (is_given_up_() && !route_.open) return gone();
    Json json;
    const TakenApart of_json(json);
    if (has_json())
      if (std::optional<HttpResponse> wrong = parse(json)) return answered(std::move(*wrong));
    if (route_.answer != nullptr) {
      Result<HttpResponse> response = route_.answer(service_, request_, json);
      return answered(response ? std::move(*response) : refusal(response.error()));
    }
    auto body = route_.read_body(json, {.model = service_.engine.model(),
                                        .context = static_cast<int>(service_.longest()),
                                        .max_answers = service_.engine.options().max_open,
                                        .envelope = envelope(),
                                        .bounds = bounds_,
                                        .defaults = service_.options.defaults,
                                        .given_up = is_given_up_,
                                        .responses = service_.responses.get(),
                                        .isolation_key = request_.isolation_key});
    if (is_given_up_()) return gone();
    if (!body && bounds_.has_too_many_bytes() && can_have_more_) return {};
    if (!body) return answered(refusal(body.error()));
    const Status status = prepare_requests(**body);
    if (is_given_up_()) return gone();
    if (!status) return answered(refusal(status.error()));
    return {.body = std::move(*body), .n_prompt = n_prompt_};
  }

 private:
  bool has_json() const {
    return std::string_view(route_.method) == "POST" && request_.upload == nullptr &&
           !(route_.may_lack_body && request_.body.empty());
  }
  ask::Envelope envelope() const {
    ask::Envelope envelope = service_.envelope(request_.id);
    if (request_.batched) envelope.created = request_.batched->created;
    return envelope;
  }
  Prepared answered(HttpResponse response) const {
    return {.response = std::move(response), .n_prompt = n_prompt_};
  }
  Prepared gone() const {
    return {.response =
                error_response(service_.is_cutting ? shutting_down()
                                                   : timed_out(service_.options.request_timeout))};
  }
  HttpResponse refusal(const Error& error) const {
    return error_response(http_error(service_, for_clients(service_, route_.path, error)));
  }

  // The request's body, which asks for a model that is served; or what is wrong with it.
  std::optional<HttpResponse> parse(Json& json) const {
    Result<Json> parsed = parse_json(request_.body, LargeNumbers::kKept);
    if (!parsed)
      return refusal(in_file("the body", with_code(ErrorCode::kInvalidArgument, parsed.error())));
    json = std::move(*parsed);
    if (!json.is_object())
      return refusal(invalid_argument("the body is {}, expected an object", found_text(json)));
    std::string name;
    Fields fields(json);
    fields.text("model", name);
    if (!fields.status()) return refusal(fields.status().error());
    if (!name.empty() && !service_.serves(name))
      return wrong_request(404, "model_not_found", service_.not_served(name), "model");
    return std::nullopt;
  }

  Status prepare_requests(ask::Body& body) {
    const auto prefix = service_.public_prefixes.find(body.serving.public_prefix);
    if (!prefix) return prefix.error();
    const uint64_t key = body.serving.cached ? request_.isolation_key : service_.private_key();
    for (size_t i = 0; i < body.requests.size(); ++i) {
      if (is_given_up_()) return {};
      Request& one = body.requests[i];
      if (Status status = tokenise(body, i); !status) return status;
      if (Status status = ask::check_length(body, i, service_.engine.options().context,
                                            service_.engine.model().info().max_positions);
          !status)
        return status;
      ask::fit_length(body, i, service_.engine.longest());
      one.isolation_key = key;
      one.cached = body.serving.cached;
      one.ttft_slo = body.serving.ttft_slo;
      one.tpot_slo = body.serving.tpot_slo;
      one.deadline_class = body.serving.deadline_class;
      if (request_.batched) one.ttft_slo = one.tpot_slo = request_.batched->ttft_slo;
      one.sent = request_.arrival;
      if (*prefix != nullptr && one.cached) {
        const Result<size_t> n_public = PublicPrefixes::n_public(**prefix, one.tokens);
        if (!n_public) return n_public.error();
        one.n_public = *n_public;
      }
      // Here for all of them: the engine would find it when its turn comes.
      if (const Status status = service_.engine.check(one); !status)
        return ask::of_request(body, i, status.error());
    }
    if (Status status = ask::check_logprobs(body); !status) return status;
    ask::count_beside(body.requests);
    return {};
  }

  Status tokenise(ask::Body& body, size_t index) {
    Request& request = body.requests[index];
    const bool is_ranked = request.cut_tokens > 0;
    if (const Status status = take_tokens(service_.engine.model(), request); !status) {
      Error error = status.error();
      if (error.place.field.empty() && error.code == ErrorCode::kInvalidArgument)
        error.place.field = "prompt";
      return ask::of_request(body, index, std::move(error));
    }
    if (is_ranked || (request.cut_tokens > 0 && request.pooling != Pooling::kNone))
      body.log_note = fmt::format(
          "a text of {} tokens was cut to {}; usage.cut_tokens of each answer says what was cut",
          request.tokens.size() + static_cast<size_t>(request.cut_tokens), request.tokens.size());
    if (!request.messages.empty() && !request.separate_reasoning) request.separate_reasoning = true;
    request.messages = {};  // read, and the engine would have a copy
    n_prompt_ += request.tokens.size();
    return {};
  }

  Service& service_;
  const Route& route_;
  const HttpRequest& request_;
  ask::Bounds bounds_;
  bool can_have_more_;     // than the bounds say
  uint64_t n_prompt_ = 0;  // tokens of prompts
  const std::function<bool()> is_given_up_ = [this] {
    return service_.is_cutting || request_.is_given_up;
  };
};

// Times of a body's generated answers, from when its body had come.
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

  void observe(const GroupEvent& one) {
    if (!generates_[one.request]) return;
    std::optional<Clock::time_point>& first =
        first_[one.request][static_cast<size_t>(one.event.choice)];
    if (!first) {
      first = one.when;
      metrics_.first_token(std::chrono::duration<double>(*first - start_).count());
    }
    if (one.event.completion && one.event.completion->tokens.size() > 1)
      metrics_.next_tokens(std::chrono::duration<double>(one.when - *first).count() /
                           static_cast<double>(one.event.completion->tokens.size() - 1));
  }

 private:
  Metrics& metrics_;
  const Clock::time_point start_;
  std::vector<std::vector<std::optional<Clock::time_point>>> first_;  // [requests][n]
  std::vector<bool> generates_;  // [requests] that have tokens at all
};

// The head of a stream goes out once the engine has let the request in: what it refuses has a
// status.
asio::awaitable<void> answer(Service& service, ask::Body& body, asio::thread_pool& pool,
                             const HttpRequest& request, Replier& replier) {
  Result<Admission::Place> place = service.admission.enter(bytes_of(body.requests));
  Status status = place ? Status() : Status(place.error());
  const int half = std::max(1, service.engine.options().max_open / 2);
  const int max_open = request.batched ? request.batched->max_open : half;
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  std::optional<AwaitedGroup> group(std::in_place, service.engine, service.shutdown_guard,
                                    body.requests, executor, max_open);
  Times times(service.metrics, body.requests, request.arrival);
  while (status && !group->is_over()) {
    Result<std::vector<GroupEvent>> events = co_await group->next();
    if (!events) {
      status = ask::of_request(body, group->failed(), events.error());
      break;
    }
    place->let_in();
    std::string text;  // of the stream
    if (body.stream && !replier.has_begun()) {
      co_await replier.begin_stream();
      if (&pool == &service.long_text_pool)  // with `echo` a long text
        text = co_await offload(pool, service.engine.options().nice, [&] { return body.begin(); });
      else
        text = body.begin();
    }
    for (GroupEvent& one : *events) {
      if (!request.batched) times.observe(one);
      if (const auto& completion = one.event.completion) {
        replier.tally.n_answer += completion->tokens.size();
        if (completion->choice == 0)
          replier.tally.n_cached += static_cast<uint64_t>(completion->shared_tokens);
      }
      text += body.on_event(one.request, std::move(one.event));
    }
    if (!text.empty()) co_await replier.write(std::move(text));
  }
  group.reset();  // where one failed, the others end before a slow client has read that
  if (status && (body.is_stored || body.counts_reasoning))
    status = co_await offload(body.is_stored ? service.store_pool : pool,
                              service.engine.options().nice, [&] { return body.finish(); });
  else if (status)
    status = body.finish();
  if (!replier.has_begun()) {
    HttpResponse response;
    if (status) {
      response = co_await offload(pool, service.engine.options().nice,
                                  [&] { return json_response(body.answer()); });
    } else {
      response =
          error_response(http_error(service, status.error()), service.admission.retry_after());
    }
    co_await replier.send(std::move(response));
    co_return;
  }
  if (status) {
    co_await replier.end_stream(body.end());
  } else {
    const ask::HttpError error = http_error(service, status.error());
    if (std::string events = body.fail(error); !events.empty())
      co_await replier.write(std::move(events));
    co_await replier.fail_stream(error);
  }
}

}  // namespace

std::optional<HttpResponse> check_head(const Service& service, HttpRequest& request,
                                       const KeyHeaders& keys) {
  const Route* route = find_route(request.path, request.method);
  if (route == nullptr || !route->open) {
    const Result<uint64_t> key = service.keys.identify(keys);
    if (!key) return wrong_request(401, "invalid_api_key", key.error().message());
    request.isolation_key = *key;
  }
  if (route == nullptr) {
    const std::string meant = meant_path(request.path);
    return wrong_request(
        404, "not_found",
        fmt::format("there is nothing at '{}'{}", one_line(request.path),
                    meant.empty() ? ", expected a path such as /v1/chat/completions"
                                  : fmt::format(" (hint: '{}'?)", one_line(meant))));
  }
  request.parameter = parameter_of(*route, request.path);
  const bool is_get = std::string_view(route->method) == "GET";
  if (request.method != route->method && !(is_get && is_head(request.method))) {
    HttpResponse response =
        wrong_request(405, "method_not_allowed",
                      fmt::format("the method is {}, expected {} for '{}'",
                                  one_line(request.method), route->method, route->path));
    response.headers.push_back({"Allow", methods_of(*route)});
    return response;
  }
  constexpr std::string_view kOfForms = "application/x-www-form-urlencoded";  // curl's default
  // A web page of another site can send some other types without asking, but not JSON.
  const bool has_other_body =
      route->takes_form || (route->may_lack_body && request.content_type.empty());
  if (request.method == "POST" && !has_other_body && !is_json(request.content_type))
    return wrong_request(415, "unsupported_media_type",
                         fmt::format("the content type is '{}', expected 'application/json'{}",
                                     one_line(request.content_type),
                                     request.content_type == kOfForms
                                         ? " (hint: curl -H 'Content-Type: application/json')"
                                         : ""));
  if (!request.content_encoding.empty() &&
      !boost::beast::iequals(request.content_encoding, "identity")) {
    HttpResponse response = wrong_request(415, "unsupported_media_type",
                                          fmt::format("the content encoding is '{}', expected none",
                                                      one_line(request.content_encoding)));
    response.headers.push_back({"Accept-Encoding", "identity"});
    return response;
  }
  if (service.draining && !route->open) return error_response(shutting_down());
  return std::nullopt;
}

asio::awaitable<void> handle(Service& service, HttpRequest& request, Replier& replier) {
  constexpr size_t kLong = size_t{64} << 10, kAny = ask::Bounds::kMostBytes;
  const Route& route = *find_route(request.path, request.method);
  asio::thread_pool& text_pool = request.batched ? service.batch_pool : service.text_pool;
  asio::thread_pool& long_pool = request.batched ? service.batch_pool : service.long_text_pool;
  const auto prepared_on = [&](asio::thread_pool& pool, size_t most_bytes) {
    return offload(pool, service.engine.options().nice, [&, most_bytes] {
      return Preparation(service, route, request, most_bytes).run();
    });
  };
  bool is_long = request.body.size() > kLong;
  Prepared prepared;
  const bool is_get = std::string_view(route.method) == "GET";
  if (route.has_disk) {
    is_long = false;
    prepared =
        co_await prepared_on(route.takes_form ? service.file_pool : service.store_pool, kAny);
  } else if (is_get) {  // no text: whether it is alive must not wait
    prepared = Preparation(service, route, request, kAny).run();
  } else if (!is_long) {  // what it asks for may be long all the same
    prepared = co_await prepared_on(text_pool, kLong);
    is_long = !prepared.body && !prepared.response;
  }
  if (is_long) prepared = co_await prepared_on(long_pool, kAny);
  request.body = std::string();
  request.memory.reset();
  asio::thread_pool& pool = is_long ? long_pool : text_pool;
  // Keys, prompts and answers of a long request take hundreds of MiB, which allocators keep.
  const GivesBack gives_back(is_long ? &long_pool : nullptr);
  replier.tally.n_prompt = prepared.n_prompt;
  if (prepared.response) {
    co_await replier.send(std::move(*prepared.response));
  } else {
    const std::string& note = prepared.body->log_note;
    if (!note.empty() && !service.has_warned.exchange(true))
      service.log(fmt::format("{}: {}", request.id, note));
    co_await answer(service, *prepared.body, pool, request, replier);
  }
}

}  // namespace pando::serve
