#include "serve/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>

#include "base/counted.h"
#include "base/errors.h"
#include "serve/request_log.h"

namespace pando::serve {
namespace {

constexpr size_t kShortest = 16;  // characters: less can be guessed
constexpr std::string_view kScheme = "Bearer ";

std::string_view trimmed(std::string_view text) {
  constexpr const char* kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace

ApiKeys::Digest ApiKeys::digest(std::string_view key) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

Result<ApiKeys> ApiKeys::parse(std::span<const std::string> lines) {
  ApiKeys keys;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    if (line.empty() || line.front() == '#') continue;
    const size_t colon = line.find(':');
    const std::string_view name = colon < line.size() ? trimmed(line.substr(0, colon)) : "";
    if (!name.empty() && !is_log_word(name))
      return invalid_argument(
          "the API key in line {} has a name that is not 1 to 128 visible ASCII characters", i + 1);
    const std::string_view key = trimmed(line.substr(colon + 1));
    if (key.size() < kShortest)
      return invalid_argument("the API key in line {} has {}, expected at least {}", i + 1,
                              counted(key.size(), "characters"), kShortest);
    const Digest of_key = digest(key);
    if (std::find(keys.digests_.begin(), keys.digests_.end(), of_key) != keys.digests_.end())
      return invalid_argument(
          "the API key in line {} appears in an earlier line too, expected different keys", i + 1);
    keys.digests_.push_back(of_key);
    keys.names_.emplace_back(name);
  }
  if (!lines.empty() && keys.empty())  // or a file whose keys are commented out would open the door
    return invalid_argument(
        "there are only empty lines and comments, expected at least one API key");
  return keys;
}

Result<uint64_t> ApiKeys::identify(const KeyHeaders& headers) const {
  if (empty()) return 0;
  const std::string_view authorization = headers.authorization;
  const bool bearer = boost::beast::iequals(authorization.substr(0, kScheme.size()), kScheme);
  std::string_view key = bearer ? trimmed(authorization.substr(kScheme.size())) : "";
  for (const std::string_view other : {trimmed(headers.x_api_key), trimmed(headers.api_key)}) {
    if (!key.empty() && !other.empty() && key != other)
      return invalid_argument("the headers have different API keys, expected one key");
    if (key.empty()) key = other;
  }
  if (key.empty())
    return invalid_argument("{}, expected 'Authorization: Bearer KEY' or 'X-Api-Key: KEY'",
                            authorization.empty() || bearer
                                ? "no API key was sent"
                                : "the Authorization header has no 'Bearer'");
  const Digest sent = digest(key);
  uint64_t found = 0;
  for (size_t i = 0; i < digests_.size(); ++i) {
    const bool equal = CRYPTO_memcmp(digests_[i].data(), sent.data(), sent.size()) == 0;
    found += equal ? i + 1 : 0;
  }
  if (found == 0) return invalid_argument("the API key is not known");
  return found;
}

std::string_view ApiKeys::name_of(uint64_t isolation_key) const {
  if (isolation_key == 0 || isolation_key > names_.size()) return {};
  return names_[isolation_key - 1];
}

}  // namespace pando::serve
