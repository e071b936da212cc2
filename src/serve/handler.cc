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

#include "ask/body.h"
#include "ask/body_checks.h"
#include "ask/errors.h"
#include "base/errors.h"
#include "base/json.h"
#include "serve/awaited_group.h"
#include "serve/engine_errors.h"
#include "serve/from_router.h"
#include "serve/offload.h"
#include "serve/page.h"
#include "serve/preparation.h"

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

// Gives freed memory back to the operating system; milliseconds for each GiB.
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
      co_await replier.begin_stream(body.stream_type());
      if (&pool == &service.long_text_pool)  // with `echo` a long text
        text = co_await offload(pool, service.engine.options().nice, [&] { return body.begin(); });
      else
        text = body.begin();
      if (body.goes_on) text.clear();
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
  group.reset();  // if one failed, the others end before a slow client has read that
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

std::optional<HttpResponse> check_head(const Door& door, HttpRequest& request,
                                       const KeyHeaders& keys) {
  const Route* route = find_route(request.path, request.method);
  if (route != nullptr && route->is_of_page && !has_page(door.options)) route = nullptr;
  const bool is_open = route != nullptr && (route->open || opens_page(door.options, request));
  if (!is_open)
    if (std::optional<HttpResponse> wrong = identify(door, request, keys)) return wrong;
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
  if (door.draining && !is_open && !route->while_draining) return error_response(shutting_down());
  return std::nullopt;
}

asio::awaitable<void> handle(Service& service, HttpRequest& request, Replier& replier) {
  constexpr size_t kLong = size_t{64} << 10, kAny = ask::Bounds::kMostBytes;
  const Route& route = *find_route(request.path, request.method);
  asio::thread_pool& text_pool = request.batched ? service.batch_pool : service.text_pool;
  asio::thread_pool& long_pool = request.batched ? service.batch_pool : service.long_text_pool;
  const auto prepared_on = [&](asio::thread_pool& pool, size_t most_bytes) {
    return offload(pool, service.engine.options().nice,
                   [&, most_bytes] { return prepare(service, route, request, most_bytes); });
  };
  bool is_long = request.body.size() > kLong;
  Prepared prepared;
  const bool is_get = std::string_view(route.method) == "GET";
  if (route.answer_kept != nullptr) {
    is_long = false;
    prepared =
        co_await prepared_on(route.takes_form ? service.file_pool : service.store_pool, kAny);
  } else if (is_get) {  // no text: whether it is alive must not wait
    prepared = prepare(service, route, request, kAny);
  } else if (!is_long) {  // its answer may be long all the same
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
  if (!prepared.ignored.empty())
    replier.headers.emplace_back("X-Pando-Ignored-Fields", std::move(prepared.ignored));
  if (request.routed)
    replier.headers.emplace_back(kReplicaHeader,
                                 service.replica.process() + " " + service.replica.fingerprint());
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
