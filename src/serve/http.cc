#include "serve/http.h"

#include <unistd.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <charconv>
#include <ctime>

#include "base/errors.h"
#include "base/json.h"

namespace pando::serve {

std::string_view path_of(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (boost::beast::iequals(target.substr(0, scheme.size()), scheme)) {
      const size_t begin = std::min(target.find_first_of("/?", scheme.size()), target.size());
      target.remove_prefix(begin);
      break;
    }
  const std::string_view path = target.substr(0, target.find('?'));
  return path.empty() ? "/" : path;
}

std::string_view query_of(std::string_view target) {
  const size_t begin = target.find('?');
  return begin == std::string_view::npos ? std::string_view() : target.substr(begin + 1);
}

std::string HttpRequest::query_value(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    if (const size_t end = pair.find('='); end < pair.size() && pair.substr(0, end) == name)
      return unescaped(pair.substr(end + 1));
  }
  return {};
}

std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[utc.tm_wday], utc.tm_mday,
                     kMonths[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char *digits = text.data() + i + 1, *end = digits + 2;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, end, byte, 16).ptr == end) {
      plain += static_cast<char>(byte);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

HttpResponse error_response(const ask::HttpError& error, int retry_after) {
  HttpResponse response{.status = error.status, .error = error};
  if (error.status == 429 || error.status == 503)
    response.headers.push_back({"Retry-After", std::to_string(retry_after)});
  if (error.status == 401) response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

HttpResponse wrong_request(int status, const char* code, std::string message, std::string param) {
  return error_response(
      {status, "invalid_request_error", code, std::move(message), std::move(param)});
}

ask::HttpError shutting_down(const std::string& more) {
  return {503, "server_error", "shutting_down", "the server is shutting down" + more};
}

ask::HttpError timed_out(std::chrono::seconds after) {
  return {504, "server_error", "timeout",
          fmt::format("the answer was not ready within {} s", after.count())};
}

FileContents::~FileContents() { ::close(file); }

HttpResponse json_response(const Json& body) { return {.body = json_text(body)}; }

}  // namespace pando::serve
