// The files of a model, each opened once.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando {

class GgufFile;
class MappedFile;

// The path of a model, of one of its files or of its tokenizer. Making one opens nothing. A file is
// opened when it is first asked for, and stays mapped until the last path made from the same one is
// gone. Only one thread at a time may use such paths.
class ModelPath {
 public:
  // Implicit, so that readers of a model's files take a plain path too.
  ModelPath(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  std::string string() const { return path_.string(); }  // for messages

  // Another path that shares the open files.
  ModelPath at(std::filesystem::path path) const;
  ModelPath operator/(const std::filesystem::path& name) const { return at(path_ / name); }

  // The file itself; errors as of MappedFile::open.
  Result<std::shared_ptr<const MappedFile>> file() const;
  // The text of a small file, read once and kept, so that a change to the file while a model loads
  // is not seen. Valid until `close`, or until the last of these paths goes.
  Result<std::string_view> text() const;
  // A GGUF file, with all its parts; errors as of GgufFile::open.
  Result<std::shared_ptr<const GgufFile>> gguf() const;
  // Closes open files; files that were handed out stay mapped.
  void close() const;

 private:
  struct Opened;
  ModelPath(std::filesystem::path path, std::shared_ptr<Opened> opened);

  std::filesystem::path path_;
  std::shared_ptr<Opened> opened_;
};

}  // namespace pando
