// The template language: small templates against jinja2 (tools/jinja_golden.py), limits, and
// messages.
#include "text/chat/jinja.h"

#include <sys/resource.h>

#include <ctime>
#include <thread>

#include "base/json.h"
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
  return out.ok() ? "rendered: " + *out : out.error().message();
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
      ASSERT_TRUE(out.ok()) << text << ": " << out.error().message();
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
            "line 1: the tag 'include' is not supported in a chat template");
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
            "line 1: a value is longer than the limit of 1000 bytes");
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
  ASSERT_TRUE(deep.ok()) << deep.error().message();
  EXPECT_EQ(deep->substr(0, 6), "120119");
}

double seconds_of(const std::function<void()>& work) {
  const clock_t begin = clock();
  work();
  return static_cast<double>(clock() - begin) / CLOCKS_PER_SEC;
}

TEST(Jinja, ManyBranchesAreReadInLinearTime) {
  std::string text;
  for (int i = 0; i < 4000; ++i)
    text += fmt::format(
        "{{% if a %}}{{% set v{0} = 1 %}}{{% elif b %}}{{% set w{0} = 1 %}}{{% endif %}}", i);
  EXPECT_LT(seconds_of([&] { EXPECT_TRUE(jinja::Template::compile(text).ok()); }), 2);
}

TEST(Jinja, NamesThatOnlyABranchAssigns) {
  const Ordered a = {{"a", true}, {"x", "given"}}, none = {{"x", "given"}};
  const auto check = [&](const char* text, const char* taken, const char* left) {
    EXPECT_EQ(*render_text(text, a), taken) << text;
    EXPECT_EQ(*render_text(text, none), left) << text;
  };
  check("{% if a %}{% set x = 1 %}{% endif %}{{ x }}", "1", "given");
  check("{% if a %}{% set x = 1 %}{% else %}{{ x }}{% endif %}{{ x }}", "1", "givengiven");
  check("{% if a %}{% if a %}{% set x = 1 %}{% endif %}{% endif %}{{ x }}", "1", "given");
  check("{% set x = 0 %}{% if a %}{% set x = 1 %}{% endif %}{{ x }}", "1", "0");
  check("{% for i in [1] %}{% if a %}{% set x = 1 %}{% endif %}{{ x }}{% endfor %}{{ x }}",
        "1given", "givengiven");
  check("{% if a %}{% set x = 1 %}{% endif %}{% set x = x ~ 2 %}{{ x }}", "12", "given2");
}

// All work that takes long counts as steps. 5,000,000 steps are a tenth of the limit.
TEST(Jinja, StepsBoundTime) {
  const char* kLong[] = {
      "{% set a='a'*20000000~'b' %}{% set b='a'*20000000~'c' %}{{ b in [a]*100000 }}",
      "{% set a='a'*20000000~'b' %}{% set b='a'*20000000~'c' %}{{ [a]*100000 == [b]*100000 or "
      "([a]*100000)|unique|list|length }}",
      "{% set n=namespace(x=[],y=[]) %}{% for i in range(100) %}{% set n.x=[n.x,n.x] %}{% set "
      "n.y=[n.y,n.y] %}{% endfor %}{{ n.x == n.y }}",
      "{% set n=namespace(x=[],y=[]) %}{% for i in range(100) %}{% set n.x=[n.x,n.x] %}{% set "
      "n.y=[n.y,n.y] %}{% endfor %}{{ n.x < n.y }}",
      "{% set n=namespace(x=(1,)) %}{% for i in range(100) %}{% set n.x=(n.x,n.x) %}{% endfor %}"
      "{{ [1,2,3,4,5,6,7,8,9,10,11,12,13,n.x]|unique|list }}",
      "{% set a='a'*60000000 %}{% for i in range(9999) %}{% set x=a|upper %}{% endfor %}",
      "{% set a='é'*30000000 %}{% for i in range(9999) %}{{ a[29999999] }}{% endfor %}",
      "{% set a=['a']*4000000 %}{% for i in range(9999) %}{% set x=a|tojson %}{% endfor %}",
      "{% for i in range(99999) %}{% for j in range(99999) %}{% set x='%99999d'%3 %}{% endfor %}"
      "{% endfor %}",
      "{% set a='a'*60000000 %}{% for i in range(9999) %}{% set x='b'.strip(a) %}{% endfor %}"};
  for (const char* text : kLong) {
    const double seconds = seconds_of([&] {
      EXPECT_NE(error_of(text, {.n_steps = 5'000'000}).find("limit of 5000000 steps"),
                std::string::npos)
          << text << error_of(text, {.n_steps = 5'000'000});
    });
    EXPECT_LT(seconds, 20) << text;
  }
  const double seconds = seconds_of([&] {
    EXPECT_EQ(*render_text("{% set a='a'*16000000 %}{% set b='a'*8000000~'b' %}{{ b in a }}|"
                           "{{ a.find(b) }}|{{ a.rfind(b) }}|{{ a.split(b)|length }}|"
                           "{{ a.rsplit('b'~a)|length }}|{{ a.replace(b, '')|length }}"),
              "False|-1|-1|1|1|16000000");
  });
  EXPECT_LT(seconds, 20);
  EXPECT_EQ(
      *render_text("{{ '{:09999,}'.format(1)|length }}|{{ '{:099999,}'.format(1)|length }}|"
                   "{{ '{:09,}|{:010,}|{:_x}|{:012_x}'.format(1234, 12345.5, 123456, 255) }}"),
      "9999|99999|0,001,234|0,012,345.5|1_e240|00_0000_00ff");
}

TEST(Jinja, SearchesFromTheRight) {
  EXPECT_EQ(*render_text("{{ 'abcabc'.rfind('abc') }}{{ 'abc'.rfind('') }}{{ ''.rfind('a') }}"
                         "{{ 'a,b,c'.rsplit(',', 1) }}{{ 'a,b,c'.rpartition(',') }}"
                         "{{ 'abc'.rpartition(',') }}{{ ',a,'.rsplit(',') }}{{ ' a  b '.rsplit() }}"
                         "{{ 'aaa'.rsplit('aa') }}{{ 'aaa'.split('aa') }}"),
            "33-1['a,b', 'c']('a,b', ',', 'c')('', '', 'abc')['', 'a', '']['a', 'b']['a', '']"
            "['', 'a']");
}

TEST(Jinja, NothingIsMadeOfEachCharacter) {
  EXPECT_EQ(*render_text("{{ 'añb😀c'|reverse }}{{ 'añb😀c'[::2] }}{{ 'añb😀c'[::-2] }}"
                         "{{ 'añb😀c'[3:0:-1] }}{{ ''[::2] }}{{ 'abcde'[4:1:-2] }}"),
            "c😀bñaabccba😀bñec");
  struct rusage before = {}, after = {};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_EQ(*render_text("{% set a='a'*30000000 %}{{ (a|reverse)|length }}{{ a[::2]|length }}"
                         "{{ a|wordcount }}{{ a.isalpha() }}"),
            "30000000150000001True");
  EXPECT_NE(
      error_of("{{ ('a\n' * 30000000).split('\n')|length }}").find("limit of 268435456 bytes"),
      std::string::npos);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 600 * 1024);  // KiB; sanitizers keep freed memory
}

TEST(Jinja, CharactersAsInPython) {
  EXPECT_EQ(*render_text("{{ 'ßẞµſΣς\u13a0\uab70'.casefold() }}|{{ 'ᾳᾀᾼﬓὖ'.upper() }}|"
                         "{{ 'ᾳ ᾀ ﬓ'.title() }}|{{ 'ὖb'.capitalize() }}|{{ 'ﬗA'.swapcase() }}"),
            "ssssμsσσ\u13a0\u13a0|ΑΙἈΙΑΙՄՆΥ̓͂|ᾼ ᾈ Մն|Υ̓͂b|ՄԽa");
  EXPECT_EQ(
      *render_text("{{ '①⓪❶'.isdigit() }}{{ '一'.isdigit() }}{{ '一二億'.isnumeric() }}"
                   "{{ 'Ⅷ〇x'.isidentifier() }}{{ 'a\u0301·_9'.isidentifier() }}"
                   "{{ '·a'.isidentifier() }}{{ 'ͺ'.isidentifier() }}{{ '9'.isidentifier() }}"),
      "TrueFalseTrueTrueTrueFalseFalseFalse");
}

TEST(Jinja, NumbersOfMoreThan64Bits) {
  Ordered given;
  given["max"] = UINT64_MAX;
  given["all"] =
      *parse_json(R"([123456789012345678901234567890, -123456789012345678901234567890, 1e30])",
                  LargeNumbers::kKept);
  const auto text = [&](std::string_view body) {
    const Result<std::string> out = render_text(body, given);
    return out ? *out : out.error().message();
  };
  EXPECT_EQ(text("{{ max }}|{{ {'a': max}|tojson }}|{{ all }}|{{ all|tojson }}|{{ max ~ '' }}|"
                 "{{ '%s' % max }}|{{ max|string|length }}"),
            "18446744073709551615|{\"a\": 18446744073709551615}|[123456789012345678901234567890, "
            "-123456789012345678901234567890, 1e+30]|[123456789012345678901234567890, "
            "-123456789012345678901234567890, 1e+30]|18446744073709551615|18446744073709551615|20");
  EXPECT_EQ(text("{{ max is number }}{{ max is integer }}{{ max is string }}{{ max == max }}"
                 "{{ max == all[0] }}{{ max < all[0] }}{{ all[1] < 5 }}{{ 5 > all[1] }}"
                 "{{ all[2] > all[0] }}{{ max > 1.5 }}{{ 1.8446744073709552e19 > max }}"
                 "{{ all|sort|first == all[1] }}{{ true if max }}{{ max|int == max }}"),
            "TrueTrueFalseTrueFalseTrueTrueTrueTrueTrueTrueTrueTrueTrue");
  for (const char* body : {"{{ max + 1 }}", "{{ -max }}", "{{ max|abs }}", "{{ '%d' % max }}",
                           "{{ 'a' * max }}", "{{ max is odd }}", "{{ max|round }}"})
    EXPECT_EQ(text(body), "line 1: a number has more than 64 bits") << body;
}

TEST(Jinja, WideRanges) {
  EXPECT_EQ(error_of("{{ range(0, 9000000000000000000, 5000000000000000000)[2:] }}"),
            "line 1: a number has more than 64 bits");
  EXPECT_EQ(*render_text("{% set r = range(-9000000000000000000, 9000000000000000000, "
                         "9000000000000000000) %}{{ r|list }}{{ r[1] }}{{ 0 in r }}{{ 1 in r }}"
                         "{{ 9000000000000000000 in r }}{{ r[:1] }}"),
            "[-9000000000000000000, 0]0TrueFalseFalserange(-9000000000000000000, 0, "
            "9000000000000000000)");
  EXPECT_NE(error_of("{{ range(-9223372036854775807, 9223372036854775807)|length }}")
                .find("expected at most 100000"),
            std::string::npos);
  EXPECT_EQ(
      *render_text("{{ 'a'.center(-9223372036854775807) ~ 'b'.zfill(-9223372036854775807) }}"),
      "ab");
}

TEST(Jinja, JsonInAscii) {
  EXPECT_EQ(*render_text("{{ '\x7fé'|tojson(true) }}{{ '\x7f'|tojson }}"),
            "\"\\u007f\\u00e9\"\"\x7f\"");
}

TEST(Jinja, WhatHoldsItselfIsFreed) {  // LeakSanitizer looks
  EXPECT_EQ(*render_text("{% for i in [1, 2] %}{{ loop.changed(loop, [loop]) }}{% endfor %}"
                         "{% for i in [1, 1, 2] %}{{ loop.changed(i) }}{% endfor %}"),
            "TrueFalseTrueFalseTrue");
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
