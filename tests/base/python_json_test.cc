#include "base/python_json.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace pando {
namespace {

std::string read_python(std::string_view text) {
  const Result<Json> value = parse_python_json(text);
  EXPECT_TRUE(value.ok()) << text << ": " << value.error().message();
  return value.ok() ? value->dump() : std::string();
}

TEST(PythonJson, NumbersThatJsonDoesNotHave) {
  EXPECT_EQ(read_python("[0.5, Infinity,-Infinity, NaN]"),
            R"([0.5,{"__float__":"Infinity"},{"__float__":"-Infinity"},{"__float__":"NaN"}])");
  EXPECT_EQ(read_python(R"({"a": {"b": [NaN]}})"), R"({"a":{"b":[{"__float__":"NaN"}]}})");
  EXPECT_EQ(read_python("NaN"), R"({"__float__":"NaN"})");
  EXPECT_EQ(parse_python_object(R"({"a": NaN})", "x")->dump(), R"({"a":{"__float__":"NaN"}})");
}

TEST(PythonJson, TextsStay) {
  EXPECT_EQ(read_python(R"({"a": "Infinity"})"), R"({"a":"Infinity"})");
  EXPECT_EQ(read_python(R"({"NaN": "\"NaN\\", "a": NaN})"),
            R"({"NaN":"\"NaN\\","a":{"__float__":"NaN"}})");
}

TEST(PythonJson, ErrorsAreThoseOfTheText) {
  for (const char* text :
       {"", "[NaN", "[NaN1]", "[-NaN]", "[+Infinity]", "[Infinit]", "{NaN: 1}", "[nan]",
        "[\"NaN, Infinity]", "[\"NaN\\", "[1,\n\nInfinity,]", "{\"a\": NaN, \"a\": 1}"}) {
    const Result<Json> value = parse_python_json(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.error().message(), parse_json(text).error().message());
  }
  EXPECT_EQ(parse_python_object("[1]", "x.json").error().message(),
            "x.json: is a JSON array, expected an object");
  for (const char* number : {"NaN", " -Infinity\n"})
    EXPECT_EQ(parse_python_object(number, "x.json").error().message(),
              "x.json: is a number, expected an object");
}

}  // namespace
}  // namespace pando
