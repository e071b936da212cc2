#include "serve/file_routes.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "serve/cors.h"
#include "serve/file_upload.h"
#include "serve/list_page.h"

namespace pando::serve {
namespace {

Json file_object(const StoredFile& file) {
  return {{"id", file.id},
          {"object", "file"},
          {"bytes", file.n_bytes},
          {"created_at", file.created},
          {"expires_at", file.expires ? Json(*file.expires) : Json(nullptr)},
          {"filename", file.filename},
          {"purpose", file.purpose},
          {"status", "processed"}};
}

Result<StoredFile> found_file(const Result<FileStore*>& files, const HttpRequest& request) {
  if (!files) return files.error();
  return (*files)->database().find_file(request.isolation_key, request.parameter, (*files)->now());
}

}  // namespace

Result<FileStore*> files_of(const StateDoor& door) {
  if (door.files == nullptr)
    return unsupported("this server keeps no files, expected one started with --state DIR");
  return door.files.get();
}

std::optional<HttpResponse> begin_upload(StateDoor& door, HttpRequest& request,
                                         std::string_view origin) {
  const bool is_own = origin.ends_with("://" + request.host);
  if (!origin.empty() && !is_own && cors_headers(door.options.cors_origins, origin).empty())
    return origin_not_allowed(origin);
  const Result<FileStore*> files = files_of(door);
  if (!files) return upload_error(files.error());
  Result<std::unique_ptr<FileUpload>> upload =
      FileUpload::begin(**files, request.content_type, "file-" + door.new_id() + request.id);
  if (!upload) return upload_error(upload.error());
  request.upload = std::move(*upload);
  return std::nullopt;
}

HttpResponse upload_error(const Error& error) {
  if (error.code == ErrorCode::kTooLong)
    return wrong_request(413, "file_too_large", error.message(), "file");
  return error_response(ask::http_error(error));
}

Result<HttpResponse> create_file(StateDoor&, const HttpRequest& request, const Json&) {
  const Result<StoredFile> file =
      static_cast<FileUpload&>(*request.upload).finish(request.isolation_key);
  if (!file) return file.error();
  return json_response(file_object(*file));
}

Result<HttpResponse> list_files(StateDoor& door, const HttpRequest& request, const Json&) {
  constexpr size_t kMostFiles = 10'000;  // of a page
  const Result<FileStore*> files = files_of(door);
  if (!files) return files.error();
  const Result<ListPage> page = page_of(request, kMostFiles, kMostFiles);
  if (!page) return page.error();
  const auto found = (*files)->database().list_files(
      request.isolation_key, request.query_value("purpose"), *page, (*files)->now());
  if (!found) return found.error();
  std::vector<Json> objects;
  for (const StoredFile& file : found->objects) objects.push_back(file_object(file));
  return list_response(std::move(objects), found->has_more);
}

Result<HttpResponse> get_file(StateDoor& door, const HttpRequest& request, const Json&) {
  const Result<StoredFile> file = found_file(files_of(door), request);
  if (!file) return file.error();
  return json_response(file_object(*file));
}

Result<HttpResponse> get_file_content(StateDoor& door, const HttpRequest& request, const Json&) {
  const Result<FileStore*> files = files_of(door);
  const Result<StoredFile> file = found_file(files, request);
  if (!file) return file.error();
  const std::string path = (*files)->path_of(file->id);
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (opened < 0) return io_error("the contents of the file '{}' cannot be read", file->id);
  HttpResponse response{.content_type = "application/octet-stream"};
  response.contents = std::make_shared<const FileContents>(opened, file->n_bytes);
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  return response;
}

Result<HttpResponse> delete_file(StateDoor& door, const HttpRequest& request, const Json&) {
  const Result<FileStore*> files = files_of(door);
  if (!files) return files.error();
  if (Status status = (*files)->remove(request.isolation_key, request.parameter); !status)
    return status.error();
  return json_response({{"id", request.parameter}, {"object", "file"}, {"deleted", true}});
}

}  // namespace pando::serve
