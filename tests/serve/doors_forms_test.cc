// Forms of answers, by the fields of other servers.
#include "base/json.h"
#include "serve/endpoints.h"

namespace pando::testing {
namespace {

const Json kFormTalk = {{{"role", "user"}, {"content", "Q"}}};

// Each of other servers' fields asks for the same: a text "ab" or "ac".
TEST_F(Endpoints, AnswersOfAForm) {
  const Json schema = {{"enum", {"ab", "ac"}}};
  const auto text = [&](const char* name, const Json& value) {
    Json body = completion("P");
    body["max_tokens"] = 20;
    body[name] = value;
    auto found = post("/v1/completions", body)["choices"][0]["text"].get<std::string>();
    std::erase(found, ' ');  // spaces may follow colons and commas
    return found;
  };
  for (const auto& [name, value] :
       {std::pair<const char*, Json>{
            "response_format",
            {{"type", "json_schema"}, {"json_schema", {{"name", "n"}, {"schema", schema}}}}},
        {"guided_json", schema},
        {"guided_json", schema.dump()},
        {"response_format", {{"type", "json_schema"}, {"schema", schema}}},
        {"response_format", {{"type", "json_schema"}, {"value", {{"schema", schema}}}}},
        {"json_schema", schema},
        {"structured_outputs", {{"json", schema}}}}) {
    const std::string found = text(name, value);
    EXPECT_TRUE(found == "\"ab\"" || found == "\"ac\"") << name << ": " << found;
  }
  for (const auto& [name, value] : {std::pair<const char*, Json>{"guided_regex", "a[bc]"},
                                    {"guided_choice", {"ab", "ac"}},
                                    {"grammar", "root ::= \"a\" [bc]"},
                                    {"guided_grammar", "start: \"a\" (\"b\" | \"c\")"},
                                    {"structured_outputs", {{"regex", "ab|ac"}}},
                                    {"structured_outputs", {{"choice", {"ab", "ac"}}}}}) {
    const std::string found = text(name, value);
    EXPECT_TRUE(found == "ab" || found == "ac") << name << ": " << found;
  }
  const std::string object = text("response_format", {{"type", "json_object"}});
  EXPECT_TRUE(object.starts_with("{")) << object;
  const Json only_a = {{"properties", {{"a", {{"const", 1}}}}},
                       {"required", {"a"}},
                       {"additionalProperties", false}};
  EXPECT_EQ(text("response_format", {{"type", "json_object"}, {"schema", only_a}}), R"({"a":1})");
  EXPECT_EQ(text("response_format", {{"type", "json"}, {"value", only_a}}), R"({"a":1})");
  EXPECT_TRUE(text("response_format", {{"type", "json_object"}, {"schema", Json::object()}})
                  .starts_with("{"));
  Json body = completion("P");
  body["response_format"] = {{"type", "text"}};
  post("/v1/completions", body);
}

// The properties of an answer come in the order in which the body has them.
TEST_F(Endpoints, FormsKeepTheOrderOfProperties) {
  const std::string answer =
      client_
          .ask("POST", "/v1/completions", R"({"prompt": "P", "max_tokens": 40,
      "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object",
      "properties": {"z": {"const": 1}, "a": {"const": 2}}, "required": ["a", "z"],
      "additionalProperties": false}}}})")
          .body;
  auto text = Json::parse(answer)["choices"][0]["text"].get<std::string>();
  std::erase(text, ' ');
  EXPECT_EQ(text, R"({"z":1,"a":2})");
}

TEST_F(Endpoints, FormsThatAreRefused) {
  const auto message = [&](const Json& fields) {
    Json body = completion("P");
    body.update(fields);
    return error("/v1/completions", body)["message"].get<std::string>();
  };
  EXPECT_EQ(message({{"guided_regex", "a"}, {"guided_choice", {"b"}}}),
            "field 'guided_choice' cannot be combined with 'guided_regex'");
  EXPECT_NE(message({{"response_format", {{"type", "xml"}}}}).find("expected an object whose"),
            std::string::npos);
  EXPECT_NE(message({{"structured_outputs", Json::object()}}).find("expected one of 'json'"),
            std::string::npos);
  EXPECT_NE(
      message({{"structured_outputs", {{"whitespace_pattern", " "}}}}).find("whitespace_pattern"),
      std::string::npos);
  EXPECT_NE(message({{"guided_json", {{"type", "sting"}}}}).find("sting"), std::string::npos);
  // Every field of a form is read, or refused by its name.
  const Json schema = {{"type", "object"}};
  for (const auto& [format, said] :
       {std::pair<Json, const char*>{{{"type", "json_object"}, {"shcema", schema}},
                                     "field 'response_format.shcema' is unknown (hint: 'schema'?)"},
        {{{"type", "json_object"}, {"schema", "x"}},
         "field 'response_format.schema' is \"x\", expected a JSON schema"},
        {{{"type", "json_object"}, {"json_schema", {{"schema", schema}}}},
         "field 'response_format.json_schema' is unknown"},
        {{{"type", "text"}, {"schema", schema}}, "field 'response_format.schema' is unknown"},
        {{{"type", "json_schema"}, {"json_schema", {{"schema", schema}, {"stric", true}}}},
         "field 'response_format.json_schema.stric' is unknown (hint: 'strict'?)"},
        {{{"type", "json_schema"}, {"json_schema", {{"schema", schema}, {"strict", 1}}}},
         "field 'response_format.json_schema.strict' is 1, expected true or false"},
        {{{"type", "json"}, {"value", "x"}},
         "field 'response_format.value' is \"x\", expected a JSON schema"},
        {{{"type", "json"}, {"value", schema}, {"schema", schema}},
         "field 'response_format.value' cannot be combined with 'schema'"},
        {{{"type", "json_schema"}, {"json_schema", {{"schema", schema}}}, {"schema", schema}},
         "field 'response_format.schema' cannot be combined with 'json_schema'"}})
    EXPECT_TRUE(message({{"response_format", format}}).starts_with(said))
        << message({{"response_format", format}});
  EXPECT_EQ(
      error("/v1/chat/completions", {{"messages", kFormTalk}, {"tool_choice", "required"}})["param"],
      "tool_choice");
}

}  // namespace
}  // namespace pando::testing
