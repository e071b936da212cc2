#include "serve/file_upload.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/counted.h"
#include "base/errors.h"

namespace pando::serve {
namespace {

constexpr int kMostUploads = 16;
constexpr size_t kMostFieldBytes = 1024;
constexpr size_t kMostNameBytes = 255;
constexpr std::string_view kKnownFields[] = {"file", "purpose", "expires_after[anchor]",
                                             "expires_after[seconds]"};
constexpr int64_t kLeastExpiry = 3600, kMostExpiry = 30 * 86400;  // seconds

}  // namespace

Result<int64_t> check_expiry(const std::string& anchor, int64_t seconds, const char* field) {
  if (anchor != "created_at")
    return invalid_field(fmt::format("{}.anchor", field), "is '{}', expected 'created_at'",
                         one_line(anchor));
  if (seconds < kLeastExpiry || seconds > kMostExpiry)
    return invalid_field(fmt::format("{}.seconds", field), "is {}, expected {} to {}", seconds,
                         kLeastExpiry, kMostExpiry);
  return seconds;
}

Result<std::unique_ptr<FileUpload>> FileUpload::begin(FileStore& store,
                                                      std::string_view content_type,
                                                      std::string id) {
  std::unique_ptr<FileUpload> upload(new FileUpload(store, std::move(id)));
  if (store.n_uploads > kMostUploads)
    return make_error(ErrorCode::kUnavailable, "{} are being uploaded (hint: try again later)",
                      counted(kMostUploads, "files"));
  FormSink& sink = *upload;
  Result<MultipartReader> reader = MultipartReader::make(content_type, sink);
  if (!reader) return reader.error();
  upload->reader_ = std::move(*reader);
  return upload;
}

FileUpload::FileUpload(FileStore& store, std::string id)
    : store_(store), id_(std::move(id)), contents_(store.path_of(id_)) {
  ++store_.n_uploads;
}

FileUpload::~FileUpload() { --store_.n_uploads; }

Status FileUpload::add(std::string_view bytes) { return reader_->add(bytes); }

Status FileUpload::begin_part(const FormPart& part) {
  const std::string& name = part.name;
  if (std::ranges::find(kKnownFields, name) == std::end(kKnownFields))
    return invalid_field(one_line(name), "is unknown, expected {}", one_of_these(kKnownFields));
  if (name != kKnownFields[0]) {
    field_ = &fields_[name];
    return field_->empty() ? Status() : Status(invalid_field(name, "is there twice"));
  }
  field_ = nullptr;
  if (contents_.is_open()) return invalid_field(name, "is there twice, expected one file");
  filename_ = part.filename.value_or("");
  if (filename_.empty() || filename_.size() > kMostNameBytes)
    return invalid_field(name, "has a name of {} bytes, expected 1 to {}", filename_.size(),
                         kMostNameBytes);
  filename_ = one_line(filename_);
  return contents_.open();
}

Status FileUpload::add_bytes(std::string_view bytes) {
  if (field_ != nullptr) {
    field_->append(bytes.substr(0, kMostFieldBytes));
    if (field_->size() > kMostFieldBytes)
      return invalid_argument("a field of the form has more than {} bytes", kMostFieldBytes);
    return {};
  }
  const size_t limit = store_.limits().file_bytes;
  if (contents_.n_bytes() + bytes.size() > limit)
    return make_error(ErrorCode::kTooLong, "the file has more than {} bytes", limit);
  return contents_.write(bytes);
}

Result<StoredFile> FileUpload::row() const {
  const auto value = [&](const char* name) {
    const auto found = fields_.find(name);
    return found == fields_.end() ? std::string() : found->second;
  };
  if (!contents_.is_open()) return invalid_field("file", "is missing, expected a file");
  const std::string purpose = value("purpose");
  if (purpose != "batch")
    return invalid_field("purpose", "is '{}', expected 'batch'", one_line(purpose));
  StoredFile file{.id = id_,
                  .filename = filename_,
                  .purpose = purpose,
                  .n_bytes = contents_.n_bytes(),
                  .created = store_.now()};
  const std::string anchor = value("expires_after[anchor]"),
                    seconds = value("expires_after[seconds]");
  if (anchor.empty() && seconds.empty()) return file;
  int64_t number = 0;
  std::from_chars(seconds.data(), seconds.data() + seconds.size(), number);
  const Result<int64_t> after = check_expiry(anchor, number, "expires_after");
  if (!after) return after.error();
  file.expires = file.created + *after;
  return file;
}

Result<StoredFile> FileUpload::finish(uint64_t key) {
  if (Status status = reader_->end(); !status) return status.error();
  Result<StoredFile> file = row();
  if (!file) return file;
  if (Status status = contents_.keep(); !status) return status.error();
  if (Status status = store_.database().add_file(key, *file, store_.limits()); !status) {
    unlink(store_.path_of(id_).c_str());
    return status.error();
  }
  return file;
}

}  // namespace pando::serve
