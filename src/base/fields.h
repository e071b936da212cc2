// Reads the fields of a JSON object from a request or a file.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/ranges.h"
#include "pando/values/result.h"
#include "pando/values/token.h"

namespace pando {

// Keeps the first thing that is wrong; later reads change nothing or give a fallback, so that a
// caller checks once, at the end. Null is as good as absent.
class Fields {
 public:
  // Fields of a request. Errors are kInvalidArgument and name the field: "field 'x' is 5, expected
  // a string".
  explicit Fields(const Json& object) : object_(object) {}
  explicit Fields(Json&&) = delete;  // the object is borrowed
  // Fields of a file. Errors name the place: "config.json: 'x' is 5, expected a string".
  Fields(const Json& object, std::string_view source, ErrorCode code = ErrorCode::kBadFile)
      : object_(object), source_(source), code_(code) {}
  Fields(Json&&, std::string_view, ErrorCode = ErrorCode::kBadFile) = delete;

  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool contains(std::string_view name) const { return object_.contains(name); }  // be it null
  const Json* find(std::string_view name) const;  // null if it is absent or JSON's null
  const Json& operator[](const char* name) const { return object_[name]; }
  const std::string& source() const { return source_; }  // empty: a request

  // The following return the field. Without a fallback it is required.
  int64_t integer(std::string_view name, int64_t min, int64_t max,
                  std::optional<int64_t> fallback = std::nullopt);
  int64_t integer(std::string_view name, const WholeRange& range,
                  std::optional<int64_t> fallback = std::nullopt);
  double real(std::string_view name, const RealRange& range,
              std::optional<double> fallback = std::nullopt);
  double positive(std::string_view name, std::optional<double> fallback = std::nullopt);
  bool boolean(std::string_view name, bool fallback);
  std::string string(std::string_view name, std::string_view fallback);

  // The following change their target only if the field exists.

  void text(const char* name, std::string& out);
  void flag(const char* name, bool& out);
  void number(const char* name, double& out);
  void integer(const char* name, int& out);
  void seed(const char* name, std::optional<uint64_t>& out);
  void text_list(const char* name, std::vector<std::string>& out);
  // One string is as good as a list of it.
  void texts(const char* name, std::vector<std::string>& out);
  void tokens(const char* name, std::vector<Token>& out);
  // Reads `list`, an array that is the field `place` or lies inside it.
  void tokens_of(const char* place, const Json& list, std::vector<Token>& out);
  // {"token id": bias}
  void biases(const char* name, std::map<Token, double>& out);
  void object(const char* name, Json& out);

  void fail(std::string_view name, const Json& found, std::string_view expected);
  void fail(Status status);
  // Does the same for the field, there or not.
  void refuse(std::string_view name, std::string_view expected,
              std::optional<ErrorCode> code = std::nullopt);
  // Takes the error of `part`, an object in this one.
  void fail(const char* part, const Fields& of_part);
  // Refuses all other fields of the object, except for null, which asks for nothing. `otherwise`:
  // text of the message if no name is near and `known` is long.
  void only(std::span<const std::string_view> known, std::string_view otherwise = {});
  const Status& status() const { return status_; }

 private:
  Error wrong(std::string_view name, std::string_view found, std::string_view expected,
              ErrorCode code) const;
  using Is = std::function<bool(const Json&)>;
  using Take = std::function<void(const Json&)>;
  using TakeOne = std::function<void(size_t index, const Json&)>;
  void read(const char* name, const char* expected, const Is& is, const Take& take);
  // `of_one`: the expected element, in words.
  void list(const char* name, const char* expected, const Is& is, const char* of_one,
            const TakeOne& take);

  const Json& object_;
  std::string source_;
  ErrorCode code_ = ErrorCode::kInvalidArgument;
  Status status_;
};

}  // namespace pando
