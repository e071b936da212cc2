// Asks a hub about a model and its files.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "hub/http.h"
#include "hub/model_id.h"

namespace pando::hub {

// Address of a hub, the cache for its files, and limits of requests.
struct HubAccess {
  std::string endpoint = "https://huggingface.co";  // without a slash at the end
  std::string token = {};                           // sent to the endpoint alone; empty: none
  bool is_offline = false;
  std::filesystem::path cache;  // with folders models--org--name
  HttpOptions http = {};
  int n_connections = 4;      // files that are fetched at once
  int most_tries = 5;         // of one request, without any new byte
  double first_wait = 1;      // seconds before the second try; doubles with each
  double longest_wait = 120;  // seconds; a server that asks for more is an error
};

struct Repository {
  std::string commit;
  std::vector<std::string> names;  // names of its files
};

struct RemoteFile {
  std::string name, etag;
  uint64_t size = 0;    // bytes
  bool is_lfs = false;  // true: the etag is the contents' sha256; false: git's sha1
};

// Repeats requests that may succeed later. One thread at a time.
class HubClient {
 public:
  // `stop` ends running requests and outlives the client. kInvalidArgument for an endpoint that is
  // no URL of http or https, or a token that no header can carry.
  static Result<HubClient> open(const HubAccess& access, const std::atomic<bool>& stop);

  // kNotFound, or kInvalidArgument if a token is missing, as the hub says; kUnavailable if the hub
  // cannot be reached.
  Result<Repository> repository(const ModelId& id, const std::string& revision);
  Result<RemoteFile> file(const ModelId& id, const std::string& commit, const std::string& name);

  // Makes one try and follows redirects. The token goes to the endpoint's origin alone.
  HttpResponse get(const ModelId& id, const std::string& commit, const std::string& name,
                   uint64_t offset,
                   const std::function<bool(const HttpResponse&, std::string_view)>& sink);
  // Waits after `tries` tries without any new byte, or says why another try is useless. `response`:
  // of the last try.
  Status wait_before_retry(const HttpResponse& response, int tries, const ModelId& id,
                           const std::string& what);
  // The error of a response that is not a success. `what`: "org/name" or "org/name: FILE".
  Error error_of(const HttpResponse& response, const ModelId& id, const std::string& what) const;

 private:
  HubClient(HubAccess access, std::string origin, std::unique_ptr<HttpConnection> connection,
            const std::atomic<bool>& stop);
  HttpResponse follow(HttpRequest request);
  HttpResponse ask(const HttpRequest& request, const ModelId& id, const std::string& what,
                   Status& lasting);

  HubAccess access_;
  std::string origin_;
  std::unique_ptr<HttpConnection> connection_;
  const std::atomic<bool>* stop_;
};

}  // namespace pando::hub
