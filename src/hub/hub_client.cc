#include "hub/hub_client.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include "base/errors.h"
#include "base/json.h"

namespace pando::hub {
namespace {

constexpr int kMostRedirects = 10;
constexpr double kWaitAfterBytes = 0.1;               // seconds, if the last try brought bytes
constexpr uint64_t kLargestFile = uint64_t{1} << 46;  // 64 TiB
constexpr size_t kSha1 = 40, kSha256 = 64;            // hexadecimal digits
constexpr const char* kCommitHeader = "x-repo-commit";
constexpr const char* kLinkedEtag = "x-linked-etag";
constexpr const char* kLinkedSize = "x-linked-size";
constexpr const char* kErrorCode = "x-error-code";

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool is_success(const HttpResponse& response) {
  return response.failure.empty() && response.status >= 200 && response.status < 300;
}

bool may_pass(const HttpResponse& response) {
  if (!response.failure.empty()) return response.is_transient;
  const int status = response.status;
  return status == 408 || status == 429 || status == 500 || (status >= 502 && status <= 504);
}

// "W/\"abc\"" becomes abc.
std::string plain_etag(std::string etag) {
  if (etag.starts_with("W/")) etag.erase(0, 2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"')
    etag = etag.substr(1, etag.size() - 2);
  return etag;
}

bool is_hash(const std::string& text, size_t length) {
  return text.size() == length && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::optional<uint64_t> size_of(const std::string& text) {
  uint64_t size = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, size);
  if (error != std::errc() || at != end || size > kLargestFile) return std::nullopt;
  return size;
}

std::string url_of_file(const HubAccess& access, const ModelId& id, const std::string& commit,
                        const std::string& name) {
  return fmt::format("{}/{}/resolve/{}/{}", access.endpoint, id.repository(), commit,
                     url_encoded(name, "/"));
}

Error stopped() { return make_error(ErrorCode::kUnavailable, "stopped"); }

}  // namespace

HubClient::HubClient(HubAccess access, std::string origin,
                     std::unique_ptr<HttpConnection> connection, const std::atomic<bool>& stop)
    : access_(std::move(access)),
      origin_(std::move(origin)),
      connection_(std::move(connection)),
      stop_(&stop) {}

Result<HubClient> HubClient::open(const HubAccess& access, const std::atomic<bool>& stop) {
  Result<std::unique_ptr<HttpConnection>> connection = HttpConnection::open(access.http);
  if (!connection) return connection.error();
  const std::string origin = origin_of(access.endpoint);
  if (origin.empty())
    return invalid_argument("HF_ENDPOINT is '{}', expected a URL such as https://huggingface.co",
                            one_line(access.endpoint));
  if (std::ranges::any_of(access.token, [](unsigned char c) { return c <= ' ' || c >= 0x7f; }))
    return invalid_argument(
        "the hub's token holds a space or a control character, expected one "
        "word of ASCII");
  return HubClient(access, origin, std::move(*connection), stop);
}

HttpResponse HubClient::follow(HttpRequest request) {
  request.is_stopped = [stop = stop_] { return stop->load(); };
  std::map<std::string, std::string> said;  // the hub's headers about the file that it redirects to
  HttpResponse response;
  const auto refuse = [&](const std::string& why) {
    response.failure = why;
    response.is_transient = false;
    return response;
  };
  for (int i = 0; i <= kMostRedirects; ++i) {
    const std::string origin = origin_of(request.url);
    request.token = origin == origin_ ? access_.token : "";
    response = connection_->send(request);
    for (const char* name : {kCommitHeader, kLinkedEtag, kLinkedSize})
      if (origin == origin_ && !response.header(name).empty()) said[name] = response.header(name);
    for (const auto& [name, value] : said) response.headers[name] = value;
    if (response.failure.empty() && response.status >= 400 && origin != origin_) {
      // A storage's signed links expire; the hub gives a new link.
      response.failure = fmt::format("{} answers with status {}", origin, response.status);
      response.is_transient = true;
    }
    if (!response.failure.empty() || !is_redirect(response.status)) return response;
    const std::string target = origin_of(response.location);
    // Only the hub's own answer has these headers; its storage lacks them.
    if (request.is_head && target != origin_ && !response.header(kLinkedEtag).empty())
      return response;
    if (target.empty()) return refuse("redirects to no URL of http or https");
    if (origin.starts_with("https:") && !target.starts_with("https:"))
      return refuse(fmt::format("redirects from https to {}", target));
    request.url = response.location;
  }
  return refuse(fmt::format("redirects more than {} times", kMostRedirects));
}

Status HubClient::wait_before_retry(const HttpResponse& response, int tries, const ModelId& id,
                                    const std::string& what) {
  if (!may_pass(response) || tries >= access_.most_tries) return error_of(response, id, what);
  if (response.retry_after > access_.longest_wait)
    return make_error(ErrorCode::kUnavailable,
                      "{}: {} asks to wait {:.0f} s, expected at most {:.0f}", what,
                      access_.endpoint, response.retry_after, access_.longest_wait);
  const double doubled = tries == 0 ? kWaitAfterBytes : access_.first_wait * std::pow(2, tries - 1);
  const double wait = std::max(response.retry_after, doubled);
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration<double>(std::min(wait, access_.longest_wait));
  while (std::chrono::steady_clock::now() < end) {
    if (*stop_) return stopped();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return {};
}

HttpResponse HubClient::ask(const HttpRequest& request, const ModelId& id, const std::string& what,
                            Status& lasting) {
  for (int tries = 1;; ++tries) {
    HttpResponse response = follow(request);
    if (*stop_) lasting = stopped();
    if (*stop_ || (response.failure.empty() && !may_pass(response))) return response;
    lasting = wait_before_retry(response, tries, id, what);
    if (!lasting) return response;
  }
}

Error HubClient::error_of(const HttpResponse& response, const ModelId& id,
                          const std::string& what) const {
  if (!response.failure.empty())
    return make_error(ErrorCode::kUnavailable, "{}: {} {}: {}", what, access_.endpoint,
                      response.status == 0 ? "cannot be reached" : "fails",
                      one_line(response.failure));
  const std::string code = response.header(kErrorCode);
  const bool is_denied = response.status == 401 || response.status == 403;
  const char* const token =
      access_.token.empty() ? "a token in HF_TOKEN" : "another token in HF_TOKEN";
  if (code == "GatedRepo" || (is_denied && code != "RepoNotFound"))
    return with_hint(fmt::format("accept its terms at {}/{}, and set {}", access_.endpoint,
                                 id.repository(), token),
                     make_error(ErrorCode::kNotFound, "'{}' is not open to {} on {}", what,
                                access_.token.empty() ? "users without a token" : "this token",
                                access_.endpoint));
  if (code == "RevisionNotFound")
    return not_found("'{}' has no such revision on {}", what, access_.endpoint);
  if (code == "EntryNotFound") return not_found("'{}' is not on {}", what, access_.endpoint);
  if (response.status == 404 || is_denied)
    return with_hint(fmt::format("a private model needs {}", token),
                     not_found("'{}' is not on {}", what, access_.endpoint));
  return make_error(ErrorCode::kUnavailable, "{}: {} answers with status {}", what,
                    access_.endpoint, response.status);
}

Result<Repository> HubClient::repository(const ModelId& id, const std::string& revision) {
  const std::string what = id.repository() + (revision == "main" ? "" : " (" + revision + ")");
  const std::string url = fmt::format("{}/api/models/{}/revision/{}", access_.endpoint,
                                      id.repository(), url_encoded(revision));
  HttpResponse response = follow({.url = url});
  // Without a network, do not wait: the cache may have the model.
  if (response.status == 0 && !response.failure.empty()) return error_of(response, id, what);
  Status lasting;
  if (!response.failure.empty() || may_pass(response))
    response = ask({.url = url}, id, what, lasting);
  if (!lasting) return lasting.error();
  if (!is_success(response)) return error_of(response, id, what);
  const Result<Json> object = parse_json_object(response.body, url);
  if (!object) return object.error();
  Repository repository;
  if (const auto sha = object->find("sha"); sha != object->end() && sha->is_string())
    repository.commit = sha->get<std::string>();
  if (!is_commit(repository.commit))
    return in_file(url, bad_file("'sha' is '{}', expected the 40 digits of a commit",
                                 one_line(repository.commit)));
  const auto files = object->find("siblings");
  if (files == object->end() || !files->is_array())
    return in_file(url, bad_file("has no 'siblings', expected a list of files"));
  for (const Json& file : *files)
    if (file.is_object() && file.contains("rfilename") && file["rfilename"].is_string())
      repository.names.push_back(file["rfilename"].get<std::string>());
  return repository;
}

Result<RemoteFile> HubClient::file(const ModelId& id, const std::string& commit,
                                   const std::string& name) {
  const std::string what = id.repository() + "/" + name;
  Status lasting;
  const HttpResponse response =
      ask({.url = url_of_file(access_, id, commit, name), .is_head = true}, id, what, lasting);
  if (!lasting) return lasting.error();
  if (!is_success(response) && !is_redirect(response.status)) return error_of(response, id, what);
  RemoteFile file{name, plain_etag(response.header(kLinkedEtag))};
  if (file.etag.empty()) file.etag = plain_etag(response.header("etag"));
  file.is_lfs = is_hash(file.etag, kSha256);
  if (!file.is_lfs && !is_hash(file.etag, kSha1))
    return in_file(what, bad_file("has the etag '{}', expected the digits of a sha256 or a sha1",
                                  one_line(file.etag)));
  if (const std::string found = response.header(kCommitHeader); found != commit)
    return in_file(what, bad_file("is of commit '{}', expected {}", one_line(found), commit));
  const std::string linked = response.header(kLinkedSize);
  const std::string size = linked.empty() ? response.header("content-length") : linked;
  const std::optional<uint64_t> bytes = size_of(size);
  if (!bytes)
    return in_file(
        what, bad_file("has the size '{}', expected bytes up to {}", one_line(size), kLargestFile));
  file.size = *bytes;
  return file;
}

HttpResponse HubClient::get(
    const ModelId& id, const std::string& commit, const std::string& name, uint64_t offset,
    const std::function<bool(const HttpResponse&, std::string_view)>& sink) {
  return follow({.url = url_of_file(access_, id, commit, name), .offset = offset, .sink = sink});
}

}  // namespace pando::hub
