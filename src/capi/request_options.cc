// The table of request options as JSON.
#include "pando/values/request_options.h"

#include "base/json.h"
#include "pando.h"

using namespace pando;

namespace {

const char* type_name(int SamplingOptions::*) { return "integer"; }
const char* type_name(std::optional<uint64_t> SamplingOptions::*) { return "integer"; }
const char* type_name(double SamplingOptions::*) { return "number"; }
const char* type_name(bool SamplingOptions::*) { return "boolean"; }
const char* type_name(std::vector<std::string> SamplingOptions::*) { return "text_list"; }
const char* type_name(std::vector<Token> SamplingOptions::*) { return "token_list"; }
const char* type_name(std::map<Token, double> SamplingOptions::*) { return "token_numbers"; }

template <class T>
Json json_of(const T& value) {
  return value;
}
Json json_of(const std::optional<uint64_t>& value) { return value ? Json(*value) : Json(); }
Json json_of(const std::map<Token, double>& value) {
  Json object = Json::object();
  for (const auto& [token, number] : value) object[std::to_string(token)] = number;
  return object;
}

Json option_json(const RequestOption& option) {
  const SamplingOptions defaults;
  Json json = {{"name", option.name}};
  std::visit(
      [&](auto member) {
        json["type"] = type_name(member);
        json["help"] = option.help;
        json["default"] = json_of(defaults.*member);
      },
      option.member);
  const RequestOption unbounded;
  if (option.least != unbounded.least) json["minimum"] = option.least;
  if (option.most != unbounded.most) json["maximum"] = option.most;
  if (*option.expected != '\0') json["expected"] = option.expected;
  return json;
}

}  // namespace

const char* pando_request_options() {
  static const std::string text = [] {
    Json table = Json::array();
    for (const RequestOption& option : request_options())
      if (option.stands_in(kInLine)) table.push_back(option_json(option));
    return table.dump();
  }();
  return text.c_str();
}
