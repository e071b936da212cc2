// JSON files whose errors name the file and the field, and say what was found and expected.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/errors.h"
#include "base/is_there.h"
#include "base/json.h"
#include "base/model_path.h"

namespace pando {

// The file without a byte-order mark. Errors: kNotFound if there is none; kBadFile for a directory,
// a pipe, a device, a Git LFS pointer or text in UTF-16; kIo if it cannot be read.
Result<std::string> read_text_file(const ModelPath& path);
Result<Json> read_json_file(const ModelPath& path);

// A place in a JSON document that knows its name. Borrows the document.
class JsonPlace {
 public:
  JsonPlace(const Json& root, std::string file) : value_(&root), file_(std::move(file)) {}

  // A field or element; an absent place where there is none.
  JsonPlace at(std::string_view key) const;
  JsonPlace at(size_t index) const;
  // The field of this name, whose value is known.
  JsonPlace at(std::string_view key, const Json& value) const;

  bool absent() const { return value_ == nullptr || value_->is_null(); }
  const Json& json() const { return *value_; }
  const std::string& file() const { return file_; }
  const std::string& name() const { return name_; }
  std::string_view type_name() const;  // the text of this object's field "type", or empty

  Result<std::string> text() const;
  Result<int64_t> integer() const;
  Result<bool> boolean(bool if_absent) const;
  Status expect_array() const;
  Status expect_object() const;

  // "'FILE': field 'NAME' is FOUND, expected EXPECTED".
  Error wrong(std::string_view expected) const;
  // Makes the same error as kUnsupported, for values that are well formed but not supported.
  Error not_offered(std::string_view offered) const;

 private:
  JsonPlace(const Json* value, std::string file, std::string name)
      : value_(value), file_(std::move(file)), name_(std::move(name)) {}
  std::string found() const;
  std::string name_of(std::string_view key) const;

  const Json* value_;
  std::string file_;
  std::string name_;  // "model.vocab"; empty for the whole document
};

}  // namespace pando
