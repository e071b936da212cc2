// The text of a chat template, a zero byte, a user's message: compiled and rendered within small
// limits. A template that is compiled twice renders the same.
#include "fuzz/fuzz.h"
#include "text/chat/chat_template.h"
#include "text/chat/jinja.h"
#include "text/chat/jinja_json.h"
#include "text/utf8.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [text, content] = fuzz::pieces_of<2>(fuzz::text_of(data, size));
  const auto compiled = jinja::Template::compile(text);
  if (!compiled) {
    fuzz::check_error(compiled.error());
    return 0;
  }
  if (find_invalid_utf8(content)) return 0;
  const nlohmann::ordered_json messages = {{{"role", "user"}, {"content", std::string(content)}}};
  const nlohmann::ordered_json tools = {{{"name", "f"}, {"x", {1, 2.5, nullptr, true, "é"}}}};
  const jinja::Variables variables = {{"messages", jinja::value_of(messages)},
                                      {"tools", jinja::value_of(tools)},
                                      {"bos_token", jinja::make_string("<s>")}};
  constexpr jinja::Limits kLimits = {.n_steps = 20000,
                                     .output_bytes = 100000,
                                     .value_bytes = 100000,
                                     .memory_bytes = 2000000,
                                     .depth = 300};
  const auto first = compiled->render(variables, {}, kLimits);
  const auto second = compiled->render(variables, {}, kLimits);
  fuzz::demand(first.ok() == second.ok(), "a rendering that differs from the one before");
  if (!first) {
    fuzz::check_error(first.error());
    return 0;
  }
  fuzz::demand(*first == *second, "a text that differs from the one before");
  fuzz::demand(first->size() <= kLimits.output_bytes, "a text beyond the limit");
  fuzz::demand(!find_invalid_utf8(*first), "a prompt that is not UTF-8");
  return 0;
}
