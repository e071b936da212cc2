#include "serve/stored_responses.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "serve/list_page.h"

namespace pando::serve {
namespace {

Result<ask::StoredResponse> stored(StateDoor& door, const HttpRequest& request) {
  return door.responses->find(request.isolation_key, request.parameter);
}

}  // namespace

Result<HttpResponse> get_response(StateDoor& door, const HttpRequest& request, const Json&) {
  if (request.query_value("stream") == "true")
    return invalid_field("stream", "is true, expected false for a stored response");
  Result<ask::StoredResponse> found = stored(door, request);
  if (!found) return found.error();
  return HttpResponse{.body = std::move(found->response)};
}

Result<HttpResponse> delete_response(StateDoor& door, const HttpRequest& request, const Json&) {
  if (Status status = door.responses->remove(request.isolation_key, request.parameter); !status)
    return status.error();
  return json_response({{"id", request.parameter}, {"object", "response"}, {"deleted", true}});
}

Result<HttpResponse> get_input_items(StateDoor& door, const HttpRequest& request, const Json&) {
  const Result<ListPage> page = page_of(request, /*limit=*/20, /*most=*/100);
  if (!page) return page.error();
  const Result<ask::StoredResponse> found = stored(door, request);
  if (!found) return found.error();
  Result<Json> parsed = parse_json(found->input, LargeNumbers::kKept);
  if (!parsed || !parsed->is_array())
    return io_error("the response '{}' is stored in a form that cannot be read",
                    one_line(request.parameter));
  std::vector<Json> items(parsed->begin(), parsed->end());
  if (!page->is_ascending) std::ranges::reverse(items);
  auto first = items.begin();
  if (!page->after.empty()) {
    first =
        std::ranges::find_if(items, [&](const Json& item) { return item["id"] == page->after; });
    if (first == items.end())
      return blame("after", not_found("there is no item '{}'", one_line(page->after)));
    ++first;
  }
  const auto n_left = static_cast<size_t>(items.end() - first);
  const auto last = first + static_cast<std::ptrdiff_t>(std::min(page->limit, n_left));
  return list_response(std::vector<Json>(first, last), last != items.end());
}

}  // namespace pando::serve
