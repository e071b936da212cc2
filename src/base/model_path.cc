#include "base/model_path.h"

#include <map>
#include <string>
#include <utility>

#include "base/gguf.h"
#include "base/mapped_file.h"

namespace pando {
namespace {

// An error is kept too: a file that is missing is looked for once.
template <class File>
using OpenedFiles = std::map<std::filesystem::path, Result<std::shared_ptr<const File>>>;

template <class File>
Result<std::shared_ptr<const File>> open_once(const std::filesystem::path& path,
                                              OpenedFiles<File>& opened) {
  if (const auto known = opened.find(path); known != opened.end()) return known->second;
  Result<File> file = File::open(path);
  if (!file) return opened.emplace(path, file.error()).first->second;
  return opened.emplace(path, std::make_shared<const File>(std::move(*file))).first->second;
}

}  // namespace

struct ModelPath::Opened {
  std::map<std::filesystem::path, Result<std::string>> texts;
  OpenedFiles<MappedFile> files;
  OpenedFiles<GgufFile> ggufs;
};

ModelPath::ModelPath(std::filesystem::path path)
    : ModelPath(std::move(path), std::make_shared<Opened>()) {}

ModelPath::ModelPath(std::filesystem::path path, std::shared_ptr<Opened> opened)
    : path_(std::move(path)), opened_(std::move(opened)) {}

ModelPath ModelPath::at(std::filesystem::path path) const { return {std::move(path), opened_}; }

Result<std::shared_ptr<const MappedFile>> ModelPath::file() const {
  return open_once(path_, opened_->files);
}

Result<std::string_view> ModelPath::text() const {
  auto known = opened_->texts.find(path_);
  if (known == opened_->texts.end()) {
    const Result<MappedFile> file = MappedFile::open(path_);
    known = opened_->texts
                .emplace(path_, file ? Result<std::string>(std::string(file->text()))
                                     : Result<std::string>(file.error()))
                .first;
  }
  if (!known->second) return known->second.error();
  return std::string_view(*known->second);
}

Result<std::shared_ptr<const GgufFile>> ModelPath::gguf() const {
  return open_once(path_, opened_->ggufs);
}

void ModelPath::close() const { *opened_ = {}; }

}  // namespace pando
