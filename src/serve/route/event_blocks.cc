#include "serve/route/event_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "base/json.h"
#include "serve/http.h"

namespace pando::serve {
namespace {

// Members with counts, of an event and of the objects in it that may have some.
constexpr const char *kCounts[] = {"usage", "sharing", "timings", "tokens_cached"},
                     *kCountedParts[] = {"message", "response", "delta"};
// Codes and types of errors that are a server's own.
constexpr std::string_view kOwnErrors[] = {"io", "internal", "api_error"};

// The object behind "data: "; what is before it goes to `name`.
std::optional<Json> event_in(std::string_view block, std::string_view* name = nullptr) {
  constexpr std::string_view kData = "data: ", kLaterData = "\ndata: ";
  size_t data = 0;
  if (!block.starts_with(kData)) {
    data = block.find(kLaterData);
    if (data == block.npos) return std::nullopt;
    ++data;
  }
  if (name != nullptr) *name = block.substr(0, data);
  Result<Json> event = parse_json(block.substr(data + kData.size()), LargeNumbers::kKept);
  if (!event || !event->is_object()) return std::nullopt;
  return std::move(*event);
}

// Text at a place of an event; empty if there is none.
std::string text_at(const Json& event, const char* place) {
  const Json::json_pointer pointer(place);
  if (!event.contains(pointer)) return {};
  const Json& text = event[pointer];
  return text.is_string() ? text.get<std::string>() : std::string();
}

void drop_counts(Json& object) {
  for (const char* name : kCounts) object.erase(name);
}

std::optional<Json> without_counts(std::string_view block, std::string_view& name) {
  std::optional<Json> event = event_in(block, &name);
  if (!event) return event;
  drop_counts(*event);
  for (const char* part : kCountedParts)
    if (const auto found = event->find(part); found != event->end() && found->is_object())
      drop_counts(*found);
  return event;
}

}  // namespace

std::string failure_told_by(std::string_view block) {
  static const std::string kShutdown = shutting_down().message;
  // In a text, quotes are escaped.
  if (block.find(kShutdown) == block.npos && block.find("\"error\"") == block.npos) return {};
  const std::optional<Json> event = event_in(block);
  if (!event) return {};
  for (const char* place : {"/error/message", "/response/error/message", "/message"})
    if (text_at(*event, place).starts_with(kShutdown)) return "it shuts down";
  for (const char* place : {"/error/code", "/error/type", "/response/error/code", "/code"})
    if (const std::string code = text_at(*event, place);
        std::ranges::find(kOwnErrors, code) != std::end(kOwnErrors))
      return fmt::format("a stream ended with an error of kind '{}'", code);
  return {};
}

bool differ_in_counts_alone(std::string_view left, std::string_view right) {
  std::string_view left_name, right_name;
  const std::optional<Json> of_left = without_counts(left, left_name);
  return of_left && of_left == without_counts(right, right_name) && left_name == right_name;
}

bool ends_lines(std::string_view lines) {
  if (!lines.ends_with('\n')) return false;
  lines.remove_suffix(1);
  const std::string_view last = lines.substr(lines.rfind('\n') + 1);
  if (last.find("\"done\":true") == last.npos && last.find("\"error\"") == last.npos) return false;
  const Result<Json> line = parse_json(last, LargeNumbers::kKept);
  return line && line->is_object() &&
         (line->value("done", Json()) == true || line->contains("error"));
}

}  // namespace pando::serve
