// Reads the fields of one JSON object that somebody sent and keeps the first thing that is wrong.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/result.h"
#include "pando/token.h"

namespace pando {

// A reader changes its target only where the field is there; null is as good as absent.
class Fields {
 public:
  using Json = nlohmann::json;

  explicit Fields(const Json& object) : object_(object) {}

  bool has(const char* name) const;
  const Json& operator[](const char* name) const { return object_[name]; }

  void text(const char* name, std::string& out);
  void flag(const char* name, bool& out);
  void number(const char* name, double& out);
  void integer(const char* name, int& out);
  void seed(const char* name, std::optional<uint64_t>& out);
  void text_list(const char* name, std::vector<std::string>& out);
  // One string is as good as a list of it.
  void texts(const char* name, std::vector<std::string>& out);
  void tokens(const char* name, std::vector<Token>& out);
  // Of an array that is, or is inside, the field `place`.
  void tokens_of(const char* place, const Json& list, std::vector<Token>& out);
  // {"token id": bias}
  void biases(const char* name, std::map<Token, double>& out);
  void object(const char* name, Json& out);

  void fail(const std::string& name, const Json& found, const char* expected);
  void fail(Status status);
  // Of `part`, an object in this one.
  void fail(const char* part, const Fields& of_part);
  // Everything else in the object is a mistake, but for null, which asks for nothing.
  void only(std::span<const std::string_view> known);
  const Status& status() const { return status_; }

 private:
  using Is = std::function<bool(const Json&)>;
  using Take = std::function<void(const Json&)>;
  using TakeOne = std::function<void(size_t index, const Json&)>;
  void read(const char* name, const char* expected, const Is& is, const Take& take);
  // `of_one`: what is expected of an element.
  void list(const char* name, const char* expected, const Is& is, const char* of_one,
            const TakeOne& take);

  const Json& object_;
  Status status_;
};

}  // namespace pando
