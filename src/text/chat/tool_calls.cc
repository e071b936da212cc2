#include "text/chat/tool_calls.h"

#include <utility>

#include "base/errors.h"
#include "base/json.h"
#include "text/chat/jinja_call.h"
#include "text/chat/jinja_json.h"
#include "text/chat/jinja_text.h"

namespace pando {
namespace {

using OrderedCall = nlohmann::ordered_json;

bool is_blank(const OrderedCall& value) {
  return value.is_null() ||
         (value.is_string() &&
          jinja::strip_space(value.get_ref<const std::string&>(), jinja::Side::kBoth).empty());
}

Status settle(OrderedCall& arguments, bool as_objects) {
  constexpr const char* kName = "arguments";
  OrderedCall object = OrderedCall::object();
  if (arguments.is_string() && !is_blank(arguments)) {
    Result<OrderedCall> parsed =
        parse_json(arguments.get_ref<const std::string&>(), LargeNumbers::kKept);
    if (!parsed)
      return invalid_field(kName, "is not valid: {}, expected a JSON object",
                           parsed.error().message());
    object = *std::move(parsed);
  } else if (!is_blank(arguments)) {
    object = arguments;
  }
  if (!object.is_object())
    return invalid_field(kName, "is {}, expected a JSON object", found_text(arguments));
  if (as_objects)
    arguments = std::move(object);
  else if (!arguments.is_string() || is_blank(arguments))
    arguments = jinja::to_json(jinja::value_of(object), {}, nullptr);  // as templates write JSON
  return {};
}

}  // namespace

Status settle_arguments(OrderedCall& message, bool as_objects) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array()) return {};
  for (size_t i = 0; i < calls->size(); ++i) {
    OrderedCall& call = (*calls)[i];
    if (!call.is_object()) continue;
    const bool is_function = call.contains("function");
    OrderedCall& function = is_function ? call["function"] : call;
    if (!function.is_object() ||
        !(is_function || function.contains("arguments") || function.contains("name")))
      continue;
    Status status;
    try {
      status = settle(function["arguments"], as_objects);
    } catch (const jinja::JinjaError& error) {
      status = invalid_argument("{}", error.message);
    }
    if (!status)
      return in_part(place_in("tool_calls", i) + (is_function ? ".function" : ""), status.error());
  }
  return {};
}

}  // namespace pando
