// /v1/files: uploaded files and the results of batches.
#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"
#include "pando/values/result.h"
#include "serve/file_store.h"
#include "serve/http.h"
#include "serve/state_door.h"

namespace pando::serve {

// kUnsupported for a server that keeps no files.
Result<FileStore*> files_of(const StateDoor& door);

// Makes request.upload, or returns the error to answer with. origin: header of browsers, which send
// forms of any page without asking first.
std::optional<HttpResponse> begin_upload(StateDoor& door, HttpRequest& request,
                                         std::string_view origin);
HttpResponse upload_error(const Error& error);
// The body was taken by request.upload.
Result<HttpResponse> create_file(StateDoor& door, const HttpRequest& request, const Json&);
// The query may have "purpose", "order", "limit" and "after".
Result<HttpResponse> list_files(StateDoor& door, const HttpRequest& request, const Json&);
Result<HttpResponse> get_file(StateDoor& door, const HttpRequest& request, const Json&);
Result<HttpResponse> get_file_content(StateDoor& door, const HttpRequest& request, const Json&);
Result<HttpResponse> delete_file(StateDoor& door, const HttpRequest& request, const Json&);

}  // namespace pando::serve
