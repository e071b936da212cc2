#include "text/json_file.h"

#include "base/byte_order_mark.h"
#include "base/python_json.h"

namespace pando {
namespace {

constexpr size_t kShownChars = 60;  // of a value, in a message

// Borrows the text from what `path` keeps open.
Result<std::string_view> text_of(const ModelPath& of_file) {
  const std::filesystem::path& path = of_file.path();
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (!is_there(path)) return not_found("'{}' does not exist", path.string());
  if (!std::filesystem::exists(status)) return why_not_found(path);
  if (std::filesystem::is_directory(status)) {
    return bad_file("'{}' is a directory, expected a file", path.string());
  }
  if (!std::filesystem::is_regular_file(status)) {  // a pipe may be silent, a device without end
    return bad_file("'{}' is not a regular file", path.string());
  }
  if (std::filesystem::file_size(path, failure) == 0 && !failure) return std::string_view();
  const Result<std::string_view> text = of_file.text();
  if (!text && text.error().code == ErrorCode::kIo)
    return io_error("'{}' cannot be read", path.string());
  if (!text) return text.error();
  const Result<std::string_view> plain = without_mark(*text);
  if (!plain) return bad_file("'{}' is {}", path.string(), plain.error().message());
  return plain;
}

}  // namespace

Result<std::string> read_text_file(const ModelPath& path) {
  const Result<std::string_view> text = text_of(path);
  if (!text) return text.error();
  return std::string(*text);
}

Result<Json> read_json_file(const ModelPath& path) {
  const Result<std::string_view> text = text_of(path);
  if (!text.ok()) return text.error();
  if (text->empty()) return bad_file("'{}' is empty, expected JSON", path.string());
  Result<Json> json = parse_python_json(*text);
  if (!json) return bad_file("'{}' is {}", path.string(), json.error().message());
  return json;
}

std::string JsonPlace::name_of(std::string_view key) const {
  return name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
}

JsonPlace JsonPlace::at(std::string_view key) const {
  if (absent() || !value_->is_object()) return {nullptr, file_, name_of(key)};
  const auto found = value_->find(key);
  return {found == value_->end() ? nullptr : &*found, file_, name_of(key)};
}

JsonPlace JsonPlace::at(std::string_view key, const Json& value) const {
  return {&value, file_, name_of(key)};
}

JsonPlace JsonPlace::at(size_t index) const {
  const std::string name = fmt::format("{}[{}]", name_, index);
  if (absent() || !value_->is_array() || index >= value_->size()) return {nullptr, file_, name};
  return {&(*value_)[index], file_, name};
}

std::string_view JsonPlace::type_name() const {
  if (absent() || !value_->is_object()) return {};
  const auto type = value_->find("type");
  if (type == value_->end() || !type->is_string()) return {};
  return type->get_ref<const std::string&>();
}

Result<std::string> JsonPlace::text() const {
  if (absent() || !value_->is_string()) return wrong("a string");
  return value_->get<std::string>();
}

Result<int64_t> JsonPlace::integer() const {
  const bool fits = !absent() && value_->is_number_integer() &&
                    !(value_->is_number_unsigned() && value_->get<uint64_t>() > INT64_MAX);
  if (!fits) return wrong("a whole number");
  return value_->get<int64_t>();
}

Result<bool> JsonPlace::boolean(bool if_absent) const {
  if (absent()) return if_absent;
  if (!value_->is_boolean()) return wrong("true or false");
  return value_->get<bool>();
}

Status JsonPlace::expect_array() const {
  if (absent() || !value_->is_array()) return wrong("an array");
  return {};
}

Status JsonPlace::expect_object() const {
  if (absent() || !value_->is_object()) return wrong("an object");
  return {};
}

std::string JsonPlace::found() const {
  if (value_ == nullptr) return "missing";
  if (value_->is_array()) return fmt::format("an array of {}", value_->size());
  if (!type_name().empty()) return fmt::format("of type '{}'", type_name());
  if (value_->is_object()) return "an object";
  std::string text = value_->dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kShownChars) text = text.substr(0, kShownChars) + "...";
  return text;
}

Error JsonPlace::wrong(std::string_view expected) const {
  if (name_.empty()) return bad_file("'{}' holds {}, expected {}", file_, found(), expected);
  return bad_file("'{}': field '{}' is {}, expected {}", file_, name_, found(), expected);
}

Error JsonPlace::not_offered(std::string_view offered) const {
  return unsupported("'{}': field '{}' is {}; supported: {}", file_, name_, found(), offered);
}

}  // namespace pando
