#include "serve/list_page.h"

#include <charconv>
#include <utility>

#include "base/errors.h"

namespace pando::serve {

Result<ListPage> page_of(const HttpRequest& request, size_t limit, size_t most) {
  ListPage page{.limit = limit, .after = request.query_value("after")};
  const std::string order = request.query_value("order"), asked = request.query_value("limit");
  if (!order.empty() && order != "asc" && order != "desc")
    return invalid_field("order", "is '{}', expected 'asc' or 'desc'", one_line(order));
  page.is_ascending = order == "asc";
  const char* end = asked.data() + asked.size();
  if (!asked.empty() && (std::from_chars(asked.data(), end, page.limit).ptr != end ||
                         page.limit < 1 || page.limit > most))
    return invalid_field("limit", "is '{}', expected 1 to {}", one_line(asked), most);
  return page;
}

HttpResponse list_response(std::vector<Json> objects, bool has_more) {
  const bool is_empty = objects.empty();
  Json first = is_empty ? Json(nullptr) : objects.front()["id"];
  Json last = is_empty ? Json(nullptr) : objects.back()["id"];
  return json_response({{"object", "list"},
                        {"data", std::move(objects)},
                        {"first_id", std::move(first)},
                        {"last_id", std::move(last)},
                        {"has_more", has_more}});
}

}  // namespace pando::serve
