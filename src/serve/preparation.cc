#include "serve/preparation.h"

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "api/model_access.h"
#include "ask/body_checks.h"
#include "ask/errors.h"
#include "ask/unknown_fields.h"
#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "pando/values/sharing.h"
#include "serve/engine_errors.h"
#include "serve/from_router.h"

namespace pando::serve {
namespace {

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

class Preparation {
 public:
  Preparation(Service& service, const Route& route, const HttpRequest& request, size_t most_bytes)
      : service_(service), route_(route), request_(request), most_bytes_(most_bytes) {}

  Prepared run() {
    if (is_given_up_() && !route_.open) return gone();
    Json json;
    const TakenApart of_json(json);
    if (has_json())
      if (std::optional<HttpResponse> wrong = parse(json)) return answered(std::move(*wrong));
    if (route_.read_body == nullptr) {
      Result<HttpResponse> response = without_unknown(json, [&] {
        return route_.answer != nullptr ? route_.answer(service_, request_, json)
                                        : route_.answer_kept(service_, request_, json);
      });
      return answered(response ? std::move(*response) : refusal(response.error()));
    }
    const auto begun = take_begun(request_, json);
    if (!begun) return answered(refusal(begun.error()));
    bool has_too_many_bytes = false;
    auto body = without_unknown(json, [&] { return read(json, has_too_many_bytes); });
    if (is_given_up_()) return gone();
    if (!body && has_too_many_bytes && most_bytes_ < ask::Bounds::kMostBytes) return {};
    if (!body) return answered(refusal(body.error()));
    Status status = *begun ? go_on(**begun, **body) : Status();
    if (status) status = prepare_requests(**body);
    if (is_given_up_()) return gone();
    if (!status) return answered(refusal(status.error()));
    if (request_.routed)
      service_.replica.add_prompt(request_.routed->owner.value_or(0), request_.path, json,
                                  (*body)->requests.size() == 1 ? n_prompt_ : 0);
    return {.body = std::move(*body), .n_prompt = n_prompt_, .ignored = std::move(ignored_)};
  }

 private:
  Result<std::unique_ptr<ask::Body>> read(const Json& json, bool& has_too_many_bytes) const {
    ask::Bounds bounds(most_bytes_);
    auto body = route_.read_body(json, {.model = service_.engine.model(),
                                        .context = static_cast<int>(service_.longest()),
                                        .max_answers = service_.engine.options().max_open,
                                        .envelope = envelope(),
                                        .bounds = bounds,
                                        .defaults = service_.options.defaults,
                                        .given_up = is_given_up_,
                                        .responses = service_.responses.get(),
                                        .isolation_key = request_.isolation_key});
    has_too_many_bytes = bounds.has_too_many_bytes();
    return body;
  }

  bool has_json() const {
    return std::string_view(route_.method) == "POST" && request_.upload == nullptr &&
           !(route_.may_lack_body && request_.body.empty());
  }

  ask::Envelope envelope() const {
    ask::Envelope envelope = service_.envelope(request_.id);
    if (request_.routed && request_.routed->created) envelope.created = *request_.routed->created;
    if (request_.batched) envelope.created = request_.batched->created;
    return envelope;
  }

  // Calls `read` for the body. A lenient server removes unknown fields, one after another.
  template <class Read>
  std::invoke_result_t<Read> without_unknown(Json& json, const Read& read) {
    constexpr size_t kMost = 64;  // each reads the body again
    auto result = read();
    for (size_t n = 0; n < kMost && !result && service_.options.lenient && !is_given_up_(); ++n) {
      const std::string place = ask::remove_unknown_field(json, result.error());
      if (place.empty()) break;
      ignored_ += (ignored_.empty() ? "" : ", ") + ask::header_word(place);
      result = read();
    }
    return result;
  }

  Prepared answered(HttpResponse response) {
    return {.response = std::move(response), .n_prompt = n_prompt_, .ignored = std::move(ignored_)};
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

  Status go_on(const std::vector<BegunAnswer>& begun, ask::Body& body) const {
    const std::string& sharing = service_.engine.options().sharing;
    if (!sharing_info(sharing).value().exact)
      return invalid_field(kBegunField, "needs bits that the sharing '{}' does not give", sharing);
    return set_begun(begun, body);
  }

  Status prepare_requests(ask::Body& body) {
    const auto prefix = service_.public_prefixes.find(body.serving.public_prefix);
    if (!prefix) return prefix.error();
    const uint64_t key = body.serving.cached ? request_.isolation_key : service_.private_key();
    for (size_t i = 0; i < body.requests.size(); ++i) {
      if (is_given_up_()) return {};
      Request& one = body.requests[i];
      if (request_.routed) set_routed(*request_.routed, body, i);
      if (Status status = ask::tokenise(service_.engine.model(), body, i); !status) return status;
      n_prompt_ += one.tokens.size();
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
    const int d_model = service_.engine.model().info().d_model;
    if (Status status = ask::check_rows(body, d_model); !status) return status;
    ask::count_beside(body.requests);
    return {};
  }

  Service& service_;
  const Route& route_;
  const HttpRequest& request_;
  const size_t most_bytes_;  // of what is tokenised
  uint64_t n_prompt_ = 0;    // tokens of prompts
  std::string ignored_;      // unknown fields
  const std::function<bool()> is_given_up_ = [this] {
    return service_.is_cutting || request_.is_given_up;
  };
};

}  // namespace

Prepared prepare(Service& service, const Route& route, const HttpRequest& request,
                 size_t most_bytes) {
  return Preparation(service, route, request, most_bytes).run();
}

}  // namespace pando::serve
