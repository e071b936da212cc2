// Pages of lists: the query "limit", "order" and "after", and {"object": "list"}.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.h"
#include "pando/values/result.h"
#include "serve/http.h"

namespace pando::serve {

struct ListPage {
  bool is_ascending = false;  // oldest first
  size_t limit = 20;
  std::string after;  // id of the last object of the page before; empty: the first page
};

// kInvalidArgument for a limit that is not 1 to `most`, or an order but "asc" and "desc".
Result<ListPage> page_of(const HttpRequest& request, size_t limit, size_t most);
// objects: each has an "id".
HttpResponse list_response(std::vector<Json> objects, bool has_more);

}  // namespace pando::serve
