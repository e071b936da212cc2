// The template language: small templates of our own against what jinja2 makes of them
// (tools/jinja_golden.py), its limits, and what its errors say.
#include "text/chat/jinja.h"

#include <thread>

#include "text/chat/jinja_json.h"
#include "text/text_testing.h"

namespace pando::testing {
namespace {

using Ordered = nlohmann::ordered_json;

const LocalTime kNow{.year = 2024, .month = 2, .day = 9, .hour = 13, .minute = 5, .second = 7};

Result<std::string> render_text(std::string_view text, const Ordered& variables = Ordered::object(),
                                const jinja::Limits& limits = {}) {
  const auto compiled = jinja::Template::compile(text);
  if (!compiled) return compiled.error();
  jinja::Variables values;
  for (const auto& [name, value] : variables.items())
    values.emplace_back(name, jinja::value_of(value));
  return compiled->render(values, kNow, limits);
}

std::string error_of(std::string_view text, const jinja::Limits& limits = {}) {
  const Result<std::string> out = render_text(text, Ordered::object(), limits);
  return out.ok() ? "rendered: " + *out : out.error().message;
}

TEST(Jinja, AgreesWithTheReference) {
  std::ifstream file(PANDO_SOURCE_DIR "/tests/text/data/jinja_golden.json");
  const Ordered golden = Ordered::parse(file);
  int n_texts = 0, n_errors = 0;
  for (const Ordered& entry : golden["cases"]) {
    const std::string text = entry[0];
    const Result<std::string> out = render_text(text, golden["variables"]);
    if (entry.size() == 1) {
      ++n_errors;
      EXPECT_FALSE(out.ok()) << text << " gives " << *out;
    } else {
      ++n_texts;
      ASSERT_TRUE(out.ok()) << text << ": " << out.error().message;
      EXPECT_EQ(*out, entry[1].get<std::string>()) << text;
    }
  }
  EXPECT_GT(n_texts, 1200);
  EXPECT_GT(n_errors, 300);
}

TEST(Jinja, ErrorsNameTheLine) {
  EXPECT_EQ(error_of("a\nb\n{{ x|frobnicate }}").substr(0, 41),
            "line 3: no filter named 'frobnicate' (kno");
  EXPECT_EQ(error_of("\n{{ raise_exception('No way') }}"), "line 2: No way");
  EXPECT_EQ(error_of("{% set x = 1 %}\n\n\n{{ x.y.z }}"),
            "line 4: 'int object' has no attribute 'y'");
  EXPECT_EQ(error_of("{% macro m() %}\n{{ 1 + 'a' }}\n{% endmacro %}\n{{ m() }}"),
            "line 2: unsupported operand type(s) for +: 'int' and 'str'");
  EXPECT_EQ(error_of("\n{% if 1 %}\n"), "line 2: the template ends, expected 'endif'");
  EXPECT_EQ(error_of("{% include 'x' %}"),
            "line 1: the tag 'include' is not offered in a chat template");
  EXPECT_EQ(error_of("{{ \n 'abc }}"), "line 2: a string has no end '");
  EXPECT_EQ(error_of("{{ nothing() }}"), "line 1: 'nothing' is undefined");
}

TEST(Jinja, LimitsHold) {
  const char* endless =
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
  EXPECT_EQ(error_of(endless, {.n_steps = 10000}),
            "line 1: the template takes more than the limit of 10000 steps");
  EXPECT_EQ(error_of("{% for a in range(99) %}{{ 'x' * 50 }}{% endfor %}", {.output_bytes = 1000}),
            "line 1: the text is longer than the limit of 1000 bytes");
  EXPECT_EQ(error_of("{{ 'x' * 1001 }}", {.value_bytes = 1000}),
            "line 1: a value has more than the limit of 1000 bytes");
  EXPECT_EQ(error_of("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", {.depth = 500}),
            "line 1: the template goes deeper than the limit of 500 levels");
  const std::string doubling =
      "{% set ns = namespace(x='x', all=[]) %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x "
      "%}{% set ns.all = ns.all + [ns.x] %}{% endfor %}";
  EXPECT_NE(error_of(doubling).find("limit of"), std::string::npos);
  EXPECT_NE(error_of(doubling, {.memory_bytes = 5000}).find("limit of 5000 bytes"),
            std::string::npos);
  EXPECT_NE(error_of("{% set ns = namespace(x=[]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] "
                     "%}{% endfor %}")
                .find("nested deeper than"),
            std::string::npos);
  EXPECT_NE(error_of("{{ range(10 ** 9) }}").find("expected at most 100000"), std::string::npos);
  EXPECT_NE(error_of("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + " }}")
                .find("nested deeper than"),
            std::string::npos);
  std::string sum = "{{ 1";
  for (int i = 0; i < 5000; ++i) sum += " + 1";
  EXPECT_NE(error_of(sum + " }}").find("nested deeper than"), std::string::npos);
}

// A small stack is enough for whatever the limits allow.
TEST(Jinja, DeepestThatIsAllowed) {
  std::string filters = "{{ 'x'";
  for (int i = 0; i < 390; ++i) filters += "|upper";
  EXPECT_EQ(*render_text(filters + " }}"), "X");
  const Result<std::string> deep = render_text(
      "{% macro f(n) %}{% if n %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(120) }}");
  ASSERT_TRUE(deep.ok()) << deep.error().message;
  EXPECT_EQ(deep->substr(0, 6), "120119");
}

TEST(Jinja, WhatHoldsItselfIsFreed) {  // LeakSanitizer looks
  EXPECT_EQ(*render_text("{% set ns = namespace() %}{% set ns.me = ns %}{% set ns.l = [ns] %}"
                         "{% macro m() %}{{ m is defined }}{% endmacro %}{{ m() }}"),
            "True");
}

TEST(Jinja, ReadsTellsVariables) {
  const auto compiled = jinja::Template::compile(
      "{% set a = 1 %}{{ a }}{{ b }}{% for x in c %}{{ x.d }}{{ e }}{% endfor %}{% macro m(f) %}"
      "{{ f }}{{ g }}{% endmacro %}");
  ASSERT_TRUE(compiled.ok());
  for (const char* name : {"b", "c", "e", "g"}) EXPECT_TRUE(compiled->reads(name)) << name;
  for (const char* name : {"a", "x", "d", "f", "m"}) EXPECT_FALSE(compiled->reads(name)) << name;
}

TEST(Jinja, OneTemplateOnManyThreads) {
  const auto compiled = jinja::Template::compile(
      "{% macro m(x) %}{{ x ~ 'é' }}{% endmacro %}{% for i in range(200) %}{{ m(i) }}{% endfor %}");
  ASSERT_TRUE(compiled.ok());
  const std::string expected = *compiled->render({}, kNow);
  std::vector<std::thread> threads;
  std::atomic<int> n_equal = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 20; ++j) n_equal += *compiled->render({}, kNow) == expected;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(n_equal, 80);
}

}  // namespace
}  // namespace pando::testing
