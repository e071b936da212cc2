#include "serve/stored_responses.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.h"

namespace pando::serve {
namespace {

struct Page {
  bool is_ascending = false;
  size_t limit = 20;
  std::string after;  // id of the last item of the page before; empty: the first page
};

Result<Page> page_of(const HttpRequest& request) {
  constexpr size_t kMost = 100;
  Page page{.after = request.query_value("after")};
  const std::string order = request.query_value("order"), limit = request.query_value("limit");
  if (!order.empty() && order != "asc" && order != "desc")
    return invalid_field("order", "is '{}', expected 'asc' or 'desc'", one_line(order));
  page.is_ascending = order == "asc";
  const char* end = limit.data() + limit.size();
  if (!limit.empty() && (std::from_chars(limit.data(), end, page.limit).ptr != end ||
                         page.limit < 1 || page.limit > kMost))
    return invalid_field("limit", "is '{}', expected 1 to {}", one_line(limit), kMost);
  return page;
}

Result<ask::StoredResponse> stored(Service& service, const HttpRequest& request) {
  return service.responses->find(request.isolation_key, request.parameter);
}

}  // namespace

Result<HttpResponse> get_response(Service& service, const HttpRequest& request, const Json&) {
  if (request.query_value("stream") == "true")
    return invalid_field("stream", "is true, expected false for a stored response");
  Result<ask::StoredResponse> found = stored(service, request);
  if (!found) return found.error();
  return HttpResponse{.body = std::move(found->response)};
}

Result<HttpResponse> delete_response(Service& service, const HttpRequest& request, const Json&) {
  if (Status status = service.responses->remove(request.isolation_key, request.parameter); !status)
    return status.error();
  return json_response({{"id", request.parameter}, {"object", "response"}, {"deleted", true}});
}

Result<HttpResponse> get_input_items(Service& service, const HttpRequest& request, const Json&) {
  const Result<Page> page = page_of(request);
  if (!page) return page.error();
  const Result<ask::StoredResponse> found = stored(service, request);
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
  const auto id_of = [&](auto item) { return first == last ? Json(nullptr) : (*item)["id"]; };
  return json_response({{"object", "list"},
                        {"data", std::vector<Json>(first, last)},
                        {"first_id", id_of(first)},
                        {"last_id", id_of(last - (first == last ? 0 : 1))},
                        {"has_more", last != items.end()}});
}

}  // namespace pando::serve
