// The tools that a request offers: their names, and the schemas of their parameters.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/json_value.h"
#include "pando/values/result.h"
#include "text/calls/json_scan.h"

namespace pando::calls {

// Immutable; any thread may use it.
class OfferedTools {
 public:
  struct Tool {
    std::string name;
    CallJson parameters;  // null: there are none
    size_t index;         // in the list
  };

  OfferedTools() = default;
  // A list as chat templates get it, or of functions without the object around them. Entries
  // without a name are left out. kInvalidArgument for anything but a list of JSON.
  static Result<OfferedTools> parse(std::string_view json);
  // Reads the same from a value. Anything but a list offers none.
  static OfferedTools of(const JsonValue& tools);

  // Removes tools with other names. Does nothing if `names` is empty.
  void keep(std::span<const std::string> names);

  bool empty() const { return tools_.empty(); }
  std::span<const Tool> all() const { return tools_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // True if a call in the model's own format may have the name. Any name, unless keep() had names.
  bool may_call(std::string_view name) const { return !is_limited_ || has(name); }

  // The value of a parameter that was written as text, read by the types that its schema has. A
  // text whose schema is unknown is read as JSON where it is JSON, but not a string.
  CallJson value_of(std::string_view tool, std::string_view parameter, std::string_view text) const;
  // The schema of a parameter; null if it is unknown. The schema of the whole parameters is the
  // root for references.
  const CallJson* schema_of(std::string_view tool, std::string_view parameter) const;
  const CallJson* root_of(std::string_view tool) const;

 private:
  const Tool* find(std::string_view name) const;

  void add(const CallJson& list);

  std::vector<Tool> tools_;
  bool is_limited_ = false;
};

// Types of JSON that a schema allows, as bits.
enum TypeBits : unsigned {
  kString = 1,
  kNumber = 2,
  kBoolean = 4,
  kNull = 8,
  kList = 16,
  kObject = 32,
};
// 0: unknown. `root` holds what the schema refers to.
unsigned types_of(const CallJson* schema, const CallJson* root);
// The schema of an object's member, or of a list's items; null if it is unknown.
const CallJson* member_schema(const CallJson* schema, std::string_view name, const CallJson* root);
const CallJson* item_schema(const CallJson* schema, const CallJson* root);
// A text as a value of one of these types.
CallJson typed_value(std::string_view text, unsigned types);

}  // namespace pando::calls
