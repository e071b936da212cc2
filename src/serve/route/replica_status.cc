#include "serve/route/replica_status.h"

#include <charconv>
#include <limits>

#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"

namespace pando::serve {
namespace {

constexpr int64_t kAnyCount = std::numeric_limits<int64_t>::max();

uint64_t count_in(Fields& fields, std::string_view name) {
  return static_cast<uint64_t>(fields.integer(name, 0, kAnyCount, 0));
}

double number_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? std::max(0.0, found->get<double>()) : 0;
}

// Members that are no pieces are left out.
std::vector<Piece> pieces_in(const Json& held) {
  std::vector<Piece> pieces;
  const auto list = held.find("pieces");
  if (list == held.end() || !list->is_array()) return pieces;
  pieces.reserve(list->size());
  for (const Json& one : *list) {
    if (!one.is_string()) continue;
    const auto& text = one.get_ref<const std::string&>();
    Piece piece = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, piece, 16);
    if (at == end && error == std::errc()) pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace

Result<ReplicaStatus> parse_replica_status(std::string_view text) {
  constexpr std::string_view kSource = "the replica's report";
  const Result<Json> json = parse_json_object(text, kSource);
  if (!json) return json.error();
  Fields fields(*json, kSource);
  ReplicaStatus status;
  status.process = fields.string("process", "");
  status.fingerprint = fields.string("fingerprint", "");
  fields.text_list("models", status.models);
  status.takes_any_model = fields.boolean("any_model", false);
  status.context = count_in(fields, "context");
  status.longest = count_in(fields, "longest");
  status.is_draining = fields.boolean("draining", false);
  if (!fields.status()) return fields.status().error();
  if (status.process.empty() || status.fingerprint.empty() || status.models.empty())
    return bad_file("{} has no process, fingerprint or models, expected that of a Pando server",
                    kSource);
  const double bytes_per_token = number_in(*json, "bytes_per_token");
  const double longer = bytes_per_token > 0 ? bytes_per_token / kBytesPerToken : 1;
  status.report = {.seconds_left = number_in(*json, "seconds_left"),
                   .n_running = number_in(*json, "running"),
                   .n_waiting = number_in(*json, "waiting"),
                   .max_running = number_in(*json, "max_running"),
                   .kv_tokens = longer * number_in(*json, "kv_tokens"),
                   .seconds_per_prompt_token = number_in(*json, "seconds_per_prompt_token"),
                   .seconds_per_prompt_key = number_in(*json, "seconds_per_prompt_key"),
                   .seconds_per_step = number_in(*json, "seconds_per_step")};
  if (const auto held = json->find("held"); held != json->end() && held->is_object()) {
    Fields of_held(*held, kSource);
    status.held = {.version = count_in(of_held, "version"),
                   .reset = of_held.boolean("reset", false),
                   .pieces = pieces_in(*held)};
    if (!of_held.status()) return of_held.status().error();
  }
  return status;
}

}  // namespace pando::serve
