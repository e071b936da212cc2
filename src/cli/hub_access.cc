#include "cli/hub_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "cli/hub_cache.h"
#include "pando/version.h"

namespace pando::cli {
namespace {

constexpr size_t kLongestToken = 4096;

// The value of the first variable that is set and not empty.
std::string first_of(std::initializer_list<const char*> variables) {
  for (const char* variable : variables)
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return value;
  return {};
}

std::string without_spaces_around(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::string hub_token() {
  const std::string named = without_spaces_around(first_of({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}));
  if (!named.empty()) return named;
  std::filesystem::path path = environment_path("HF_TOKEN_PATH");
  if (path.empty()) path = hub_home() / "token";
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure) ||
      std::filesystem::file_size(path, failure) > kLongestToken)
    return {};
  std::ifstream file(path);
  return without_spaces_around(std::string{std::istreambuf_iterator<char>(file), {}});
}

bool is_yes(std::string value) {
  for (char& c : value) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  constexpr std::string_view kYes[] = {"1", "ON", "YES", "TRUE"};
  return std::ranges::find(kYes, value) != std::end(kYes);
}

}  // namespace

hub::HubAccess hub_access() {
  hub::HubAccess access;
  if (std::string endpoint = first_of({"HF_ENDPOINT"}); !endpoint.empty()) {
    while (endpoint.ends_with('/')) endpoint.pop_back();
    access.endpoint = endpoint;
  }
  access.token = hub_token();
  access.is_offline = is_yes(first_of({"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}));
  access.cache = hub_cache();
  access.http.user_agent = fmt::format("pando/{}", version());
  access.http.ca_file = first_of({"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"});
  return access;
}

}  // namespace pando::cli
