#include "hub/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <mutex>

#include "base/certificates.h"
#include "base/errors.h"

namespace pando::hub {
namespace {

constexpr long kStalledRate = 100;  // bytes per second

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};

std::string trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

// A running exchange.
struct Exchange {
  const HttpRequest& request;
  HttpResponse response;
  bool is_refused = false, is_too_long = false;
};

size_t on_header(char* data, size_t, size_t n, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  const std::string_view line(data, n);
  if (line.starts_with("HTTP/")) {  // also of a proxy, or "100 Continue"
    exchange.response.headers.clear();
    const size_t space = line.find(' ');
    exchange.response.status =
        space == line.npos ? 0 : std::atoi(std::string(line.substr(space)).c_str());
  }
  if (const size_t colon = line.find(':'); colon != line.npos && !line.starts_with("HTTP/")) {
    std::string name(line.substr(0, colon));
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    exchange.response.headers[name] = trimmed(line.substr(colon + 1));
  }
  return n;
}

bool is_stopped(const Exchange& exchange) {
  return exchange.request.is_stopped && exchange.request.is_stopped();
}

size_t on_body(char* data, size_t, size_t n, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  HttpResponse& response = exchange.response;
  if (is_stopped(exchange)) return 0;
  const bool has_content = response.status == 200 || response.status == 206;
  if (exchange.request.sink && has_content) {
    exchange.is_refused = !exchange.request.sink(response, {data, n});
    return exchange.is_refused ? 0 : n;
  }
  exchange.is_too_long = response.body.size() + n > exchange.request.longest_body;
  if (exchange.is_too_long) return 0;
  response.body.append(data, n);
  return n;
}

int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return is_stopped(*static_cast<Exchange*>(context)) ? 1 : 0;
}

// Failures that a later try cannot mend.
bool is_lasting(CURLcode code) {
  constexpr CURLcode kLasting[] = {CURLE_UNSUPPORTED_PROTOCOL,     CURLE_URL_MALFORMAT,
                                   CURLE_ABORTED_BY_CALLBACK,      CURLE_WRITE_ERROR,
                                   CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
                                   CURLE_COULDNT_RESOLVE_PROXY,    CURLE_OUT_OF_MEMORY};
  return std::ranges::find(kLasting, code) != std::end(kLasting);
}

class CurlConnection : public HttpConnection {
 public:
  CurlConnection(CURL* easy, const HttpOptions& options) : easy_(easy), options_(options) {
    if (options_.ca_file.empty()) options_.ca_file = system_certificates().string();
  }

  HttpResponse send(const HttpRequest& request) override {
    Exchange exchange{request, {}};
    CURL* const easy = easy_.get();
    curl_easy_reset(easy);  // keeps the connection
    std::unique_ptr<curl_slist, FreeList> headers(
        curl_slist_append(nullptr, "Accept-Encoding: identity"));
    if (!request.token.empty())
      curl_slist_append(headers.get(), ("Authorization: Bearer " + request.token).c_str());
    const std::string range = std::to_string(request.offset) + "-";
    if (request.offset > 0) curl_easy_setopt(easy, CURLOPT_RANGE, range.c_str());
    set_options(request, exchange, headers.get());
    char reason[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reason);
    const CURLcode code = curl_easy_perform(easy);
    HttpResponse& response = exchange.response;
    if (code != CURLE_OK) {
      response.failure = exchange.is_too_long ? "the answer is too long"
                         : *reason != 0       ? std::string(reason)
                                              : std::string(curl_easy_strerror(code));
      response.is_transient = !is_lasting(code);
    }
    char* location = nullptr;
    if (curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &location) == CURLE_OK &&
        location != nullptr)
      response.location = location;
    curl_off_t retry_after = 0;
    if (curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after) == CURLE_OK)
      response.retry_after = static_cast<double>(retry_after);
    return std::move(exchange.response);
  }

 private:
  void set_options(const HttpRequest& request, Exchange& exchange, curl_slist* headers) {
    CURL* const easy = easy_.get();
    curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_NOBODY, request.is_head ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, options_.user_agent.c_str());
    if (!options_.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);  // threads
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options_.connect_seconds));
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, kStalledRate);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options_.stalled_seconds));
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 256L << 10);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &exchange);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &exchange);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &exchange);
  }

  std::unique_ptr<CURL, FreeEasy> easy_;
  HttpOptions options_;
};

std::string part_of_url(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  std::string copy = text;
  curl_free(text);
  return copy;
}

}  // namespace

Result<std::unique_ptr<HttpConnection>> HttpConnection::open(const HttpOptions& options) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  CURL* const easy = curl_easy_init();
  if (easy == nullptr) return no_memory();
  return std::unique_ptr<HttpConnection>(std::make_unique<CurlConnection>(easy, options));
}

std::string origin_of(const std::string& text) {
  const std::unique_ptr<CURLU, FreeUrl> url(curl_url());
  if (curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER) != CURLUE_OK)
    return {};
  const std::string scheme = part_of_url(url.get(), CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return {};
  std::string origin = scheme + "://" + part_of_url(url.get(), CURLUPART_HOST) + ":" +
                       part_of_url(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  for (char& c : origin) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return origin;
}

}  // namespace pando::hub
