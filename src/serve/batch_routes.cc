#include "serve/batch_routes.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/errors.h"
#include "base/fields.h"
#include "serve/batch_input.h"
#include "serve/file_routes.h"
#include "serve/file_upload.h"
#include "serve/list_page.h"

namespace pando::serve {
namespace {

constexpr std::string_view kBatchFields[] = {"input_file_id", "endpoint", "completion_window",
                                             "metadata", "output_expires_after"};
constexpr const char* kWindow = "24h";
constexpr int64_t kWindowSeconds = 86400;

// {"anchor": "created_at", "seconds": 86400}
Status check_output_expiry(const Json& object) {
  constexpr const char* kField = "output_expires_after";
  Fields fields(object);
  std::string anchor;
  fields.text("anchor", anchor);
  int seconds = 0;
  fields.integer("seconds", seconds);
  if (!fields.status()) return in_part(kField, fields.status().error());
  const Result<int64_t> checked = check_expiry(anchor, seconds, kField);
  return checked ? Status() : checked.error();
}

// OpenAI's limits.
Status check_metadata(const Json& metadata) {
  constexpr size_t kMostPairs = 16, kLongestName = 64, kLongestValue = 512;
  if (metadata.size() > kMostPairs)
    return invalid_field("metadata", "has {} values, expected at most {}", metadata.size(),
                         kMostPairs);
  for (const auto& [name, value] : metadata.items())
    if (name.size() > kLongestName || !value.is_string() ||
        value.get_ref<const std::string&>().size() > kLongestValue)
      return invalid_field("metadata",
                           "has {} for '{}', expected names of at most {} bytes and texts of at "
                           "most {}",
                           found_text(value), one_line(name), kLongestName, kLongestValue);
  return {};
}

// The fields of a new batch that the client sets.
Result<Json> asked_batch(const Json& body) {
  Fields fields(body);
  std::string input, endpoint, window;
  Json metadata, expiry;
  fields.text("input_file_id", input);
  fields.text("endpoint", endpoint);
  fields.text("completion_window", window);
  fields.object("metadata", metadata);
  fields.object("output_expires_after", expiry);
  fields.only(kBatchFields);
  if (!fields.status()) return fields.status().error();
  if (input.empty()) return ask::missing_field("input_file_id");
  if (std::ranges::find(batch_endpoints(), endpoint) == batch_endpoints().end())
    return invalid_field("endpoint", "is '{}', expected {}", one_line(endpoint),
                         one_of_these(batch_endpoints()));
  if (window != kWindow)
    return invalid_field("completion_window", "is '{}', expected '{}'", one_line(window), kWindow);
  if (fields.has("metadata"))
    if (Status status = check_metadata(metadata); !status) return status.error();
  Json asked = {{"input_file_id", input},
                {"endpoint", endpoint},
                {"completion_window", window},
                {"metadata", fields.has("metadata") ? metadata : Json(nullptr)}};
  if (!fields.has("output_expires_after")) return asked;
  if (Status status = check_output_expiry(expiry); !status) return status.error();
  asked["output_expires_after"] = expiry;
  return asked;
}

}  // namespace

Result<HttpResponse> create_batch(StateDoor& door, const HttpRequest& request, const Json& body) {
  const Result<FileStore*> files = files_of(door);
  if (!files) return files.error();
  Result<Json> batch = asked_batch(body);
  if (!batch) return batch.error();
  FileDatabase& database = (*files)->database();
  const int64_t now = (*files)->now();
  const Result<StoredFile> input =
      database.find_file(request.isolation_key, (*batch)["input_file_id"], now);
  if (!input) return blame("input_file_id", input.error());
  if (input->purpose != "batch")
    return invalid_field("input_file_id", "is a file with the purpose '{}', expected 'batch'",
                         input->purpose);
  batch->update({{"id", "batch_" + door.new_id() + request.id},
                 {"object", "batch"},
                 {"model", door.batch_model.empty() ? Json() : Json(door.batch_model)},
                 {"status", "validating"},
                 {"created_at", now},
                 {"expires_at", now + kWindowSeconds},
                 {"request_counts", {{"total", 0}, {"completed", 0}, {"failed", 0}}}});
  for (const char* name :
       {"errors", "output_file_id", "error_file_id", "in_progress_at", "finalizing_at",
        "completed_at", "failed_at", "expired_at", "cancelling_at", "cancelled_at"})
    (*batch)[name] = nullptr;
  if (Status status = database.add_batch(request.isolation_key, *batch, {}); !status)
    return status.error();
  (*files)->has_changed = true;
  return json_response(*batch);
}

Result<HttpResponse> list_batches(StateDoor& door, const HttpRequest& request, const Json&) {
  const Result<FileStore*> files = files_of(door);
  if (!files) return files.error();
  const Result<ListPage> page = page_of(request, /*limit=*/20, /*most=*/100);
  if (!page) return page.error();
  auto found = (*files)->database().list_batches(request.isolation_key, *page);
  if (!found) return found.error();
  return list_response(std::move(found->objects), found->has_more);
}

Result<HttpResponse> get_batch(StateDoor& door, const HttpRequest& request, const Json&) {
  const Result<FileStore*> files = files_of(door);
  if (!files) return files.error();
  const auto found = (*files)->database().find_batch(request.isolation_key, request.parameter);
  if (!found) return found.error();
  return json_response(found->object);
}

Result<HttpResponse> cancel_batch(StateDoor& door, const HttpRequest& request, const Json&) {
  const Result<FileStore*> files = files_of(door);
  if (!files) return files.error();
  const auto cancel = [now = (*files)->now()](Json& batch) -> Status {
    if (is_text(batch["status"], "cancelling")) return {};
    if (!is_text(batch["status"], "validating") && !is_text(batch["status"], "in_progress"))
      return invalid_argument("the batch is {}, expected one that is validating or in_progress",
                              batch["status"].get<std::string>());
    batch["status"] = "cancelling";
    batch["cancelling_at"] = now;
    return {};
  };
  const Result<Json> batch =
      (*files)->database().change_batch_of(request.isolation_key, request.parameter, cancel);
  if (!batch) return batch.error();
  (*files)->has_changed = true;
  return json_response(*batch);
}

}  // namespace pando::serve
