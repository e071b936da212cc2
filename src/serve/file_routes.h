// /v1/files: uploaded files and the results of batches.
#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"
#include "pando/values/result.h"
#include "serve/file_store.h"
#include "serve/http.h"
#include "serve/service.h"

namespace pando::serve {

// kUnsupported for a server that keeps no files.
Result<FileStore*> files_of(const Service& service);

// Makes request.upload, or returns the error to answer with. origin: header of browsers, which send
// forms of any page without asking first.
std::optional<HttpResponse> begin_upload(Service& service, HttpRequest& request,
                                         std::string_view origin);
HttpResponse upload_error(const Error& error);
// The body was taken by request.upload.
Result<HttpResponse> create_file(Service& service, const HttpRequest& request, const Json&);
// The query may have "purpose", "order", "limit" and "after".
Result<HttpResponse> list_files(Service& service, const HttpRequest& request, const Json&);
Result<HttpResponse> get_file(Service& service, const HttpRequest& request, const Json&);
Result<HttpResponse> get_file_content(Service& service, const HttpRequest& request, const Json&);
Result<HttpResponse> delete_file(Service& service, const HttpRequest& request, const Json&);

}  // namespace pando::serve
