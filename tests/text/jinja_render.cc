// Renders templates for tools/jinja_fuzz.py and tools/jinja_golden.py: JSON lines of {"template",
// "variables"} on the input, lines of {"text"} or {"error"} on the output, each at once.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "text/chat/jinja.h"
#include "text/chat/jinja_json.h"

int main() {
  using Json = nlohmann::ordered_json;
  using namespace pando;
  for (std::string line; std::getline(std::cin, line);) {
    const Json in = Json::parse(line);
    Json out;
    const auto compiled = jinja::Template::compile(in["template"].get<std::string>());
    if (!compiled) {
      out["error"] = "compile: " + compiled.error().message();
    } else {
      jinja::Variables variables;
      for (const auto& [name, value] : in["variables"].items())
        variables.emplace_back(name, jinja::value_of(value));
      const LocalTime now{.year = 2024, .month = 2, .day = 9, .hour = 13, .minute = 5, .second = 7};
      jinja::Limits limits;
      limits.n_steps = 5'000'000;
      const Result<std::string> text = compiled->render(variables, now, limits);
      if (text) {
        out["text"] = *text;
      } else {
        out["error"] = text.error().message();
      }
    }
    std::cout << out.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }
  return 0;
}
