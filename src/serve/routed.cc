#include "serve/routed.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <limits>

#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/mix.h"

namespace pando::serve {
namespace {

constexpr size_t kIdLength = 16;
constexpr int64_t kMostSeconds = int64_t{1} << 40;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

void read_owner(Fields& fields, std::optional<uint64_t>& owner) {
  std::string text;
  fields.text("owner", text);
  if (!fields.has("owner")) return;
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || at != end)
    return fields.refuse("owner", "1 to 16 hexadecimal digits");
  owner = value;
}

}  // namespace

Result<Routed> parse_routed(std::string_view header) {
  const Result<Json> json = parse_json_object(header, kRoutedHeader);
  if (!json) return with_code(ErrorCode::kInvalidArgument, json.error());
  Fields fields(*json, kRoutedHeader, ErrorCode::kInvalidArgument);
  fields.only(std::initializer_list<std::string_view>{"id", "created", "seed", "owner", "tokens"});
  Routed routed;
  fields.text("id", routed.id);
  if (fields.has("id") && (routed.id.size() != kIdLength || !is_hex(routed.id)))
    fields.refuse("id", "16 hexadecimal digits");
  if (fields.has("created")) routed.created = fields.integer("created", 0, kMostSeconds);
  fields.seed("seed", routed.seed);
  read_owner(fields, routed.owner);
  fields.flag("tokens", routed.tells_tokens);
  if (!fields.status()) return fields.status().error();
  return routed;
}

// The second highest bit tells it from keys of API keys, the highest from those of one request.
uint64_t key_of_owner(uint64_t owner) {
  constexpr uint64_t kRouted = uint64_t{1} << 62;
  return (owner & (kRouted - 1)) | kRouted;
}

uint64_t seed_of_request(uint64_t seed, size_t request) {
  return request == 0 ? seed : mix64(seed ^ mix64(request));
}

LocalTime day_of(int64_t created) {
  const std::time_t time = created;
  std::tm utc{};
  gmtime_r(&time, &utc);
  return {.year = utc.tm_year + 1900, .month = utc.tm_mon + 1, .day = utc.tm_mday};
}

Result<std::vector<BegunAnswer>> parse_begun(const Json& field) {
  if (!field.is_array()) return invalid_field(kBegunField, "is not a list, expected one");
  std::vector<BegunAnswer> answers;
  for (size_t i = 0; i < field.size(); ++i) {
    const std::string place = place_in(kBegunField, i);
    if (!field[i].is_object()) return invalid_field(place, "is not an object, expected one");
    Fields fields(field[i]);
    fields.only(std::initializer_list<std::string_view>{"request", "choice", "tokens"});
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    BegunAnswer answer;
    answer.request = static_cast<size_t>(fields.integer("request", 0, kMost));
    answer.choice = static_cast<size_t>(fields.integer("choice", 0, kMost));
    fields.tokens("tokens", answer.tokens);
    if (!fields.status()) return in_part(place, fields.status().error());
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace pando::serve
