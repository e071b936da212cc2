// A file that is being uploaded: POST /v1/files, a form with "purpose" and "file".
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pando/values/result.h"
#include "serve/file_store.h"
#include "serve/http.h"
#include "serve/multipart.h"
#include "serve/new_file.h"

namespace pando::serve {

// Seconds until a file expires: of "expires_after" {"anchor", "seconds"}, or a field like it.
// kInvalidArgument.
Result<int64_t> check_expiry(const std::string& anchor, int64_t seconds, const char* field);

// Writes the contents to the disk as they come. What is not finished is removed.
class FileUpload final : public BodySink, private FormSink {
 public:
  // id: of the file. Errors: kInvalidArgument for another content type; kUnavailable if too many
  // files are being uploaded.
  static Result<std::unique_ptr<FileUpload>> begin(FileStore& store, std::string_view content_type,
                                                   std::string id);
  ~FileUpload() override;

  // Errors: kInvalidArgument; kTooLong if the file is larger than the limit; kIo.
  Status add(std::string_view bytes) override;
  // The row of the file, which outlives the process from now on. Errors: the same, and those of
  // FileDatabase::add_file.
  Result<StoredFile> finish(uint64_t key);

 private:
  FileUpload(FileStore& store, std::string id);
  Status begin_part(const FormPart& part) override;
  Status add_bytes(std::string_view bytes) override;
  Result<StoredFile> row() const;  // as the fields of the form have it

  FileStore& store_;
  const std::string id_;
  std::optional<MultipartReader> reader_;
  NewFile contents_;
  std::string filename_;
  std::map<std::string, std::string> fields_;  // values by name
  std::string* field_ = nullptr;               // that is being read; null: the file
};

}  // namespace pando::serve
