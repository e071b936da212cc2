// The server tells these of schemas and templates: errors with the field to blame, and parts
// without effect.
#include "serve/endpoints.h"

namespace pando::testing {
namespace {

const Json kContradicting = {{"type", "integer"}, {"minimum", 5}, {"maximum", 3}};
const Json kMisspelt = {{"type", "string"}, {"maxlength", 3}, {"maxLength", 2}};
const Json kConversation = {{{"role", "user"}, {"content", "Q"}}};

Json response_format(const Json& schema) {
  return {{"type", "json_schema"}, {"json_schema", {{"name", "n"}, {"schema", schema}}}};
}

std::string misspelt_in(const std::string& field) {
  return field +
         ": '#/maxlength' is not a JSON Schema keyword and has no effect (hint: "
         "'maxLength'?)";
}

TEST_F(Endpoints, ErrorsOfSchemasNameTheField) {
  const Json kinds[] = {kContradicting, {{"type", "sting"}}, {{"maxContains", 2}}};
  for (const Json& schema : kinds)
    for (const auto& [name, value, param] :
         {std::tuple<const char*, Json, const char*>{"response_format", response_format(schema),
                                                     "response_format"},
          {"guided_json", schema, "guided_json"},
          {"json_schema", schema, "json_schema"},
          {"structured_outputs", {{"json", schema}}, "structured_outputs.json"}}) {
      EXPECT_EQ(error("/v1/completions", {{"prompt", "P"}, {name, value}})["param"], param);
      EXPECT_EQ(
          error("/v1/chat/completions", {{"messages", kConversation}, {name, value}})["param"],
          param);
    }
  EXPECT_EQ(error("/v1/completions", {{"prompt", "P"}, {"guided_json", kContradicting}})["message"],
            "no text fits the schema: '#/minimum' is 5, but '#/maximum' is 3");
  EXPECT_EQ(error("/v1/completions", {{"prompt", "P"}, {"guided_regex", "a("}})["param"],
            "guided_regex");
  EXPECT_EQ(error("/v1/completions", {{"prompt", "P"}, {"grammar", "root ::= other"}})["param"],
            "grammar");
}

TEST_F(Endpoints, ErrorsOfSchemasNameTheQuestion) {
  const Json plain = "Q";
  const Json own = {{"text", "Q"}, {"schema", kContradicting}};
  EXPECT_EQ(error("/v1/answers", {{"context", "C"}, {"questions", {plain, own}}})["param"],
            "questions[1].schema");
  EXPECT_EQ(error("/v1/answers",
                  {{"context", "C"}, {"questions", {plain}}, {"schema", kContradicting}})["param"],
            "schema");
}

TEST_F(Endpoints, PartsOfASchemaWithoutEffectAreTold) {
  const Json format = response_format(kMisspelt);
  const Json expected = Json::array({misspelt_in("response_format")});
  const Json with = {{"response_format", format}, {"max_tokens", 8}};
  Json text = with, chat = with;
  text["prompt"] = {"P", "R"};
  chat["messages"] = kConversation;
  EXPECT_EQ(post("/v1/completions", text)["warnings"], expected);
  EXPECT_EQ(post("/v1/chat/completions", chat)["warnings"], expected);
  text["response_format"] = response_format({{"type", "string"}, {"maxLength", 2}});
  EXPECT_FALSE(post("/v1/completions", text).contains("warnings"));

  const Json misspelt = {{"text", "Q"}, {"schema", kMisspelt}};
  const Json answers = {{"context", "C"}, {"questions", {"Q", misspelt}}, {"max_tokens", 8}};
  EXPECT_EQ(post("/v1/answers", answers)["warnings"],
            Json::array({misspelt_in("questions[1].schema")}));
  const std::vector<Json> events = stream("/v1/answers", answers);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events.back()["object"], "answers.end");
  EXPECT_EQ(events.back()["warnings"], Json::array({misspelt_in("questions[1].schema")}));
}

// An optional property that no value fits is left out.
TEST_F(Endpoints, PropertiesThatNoAnswerHas) {
  const Json schema = {{"type", "object"},
                       {"properties", {{"age", kContradicting}}},
                       {"additionalProperties", false}};
  const Json answer =
      post("/v1/completions", {{"prompt", "P"}, {"guided_json", schema}, {"max_tokens", 8}});
  EXPECT_EQ(answer["choices"][0]["text"], "{}");
  EXPECT_FALSE(answer.contains("warnings"));
}

// However many questions are between two that have the same schema.
TEST_F(Endpoints, AWarningIsToldOnce) {
  const Json own = {{"text", "Q"}, {"schema", {{"type", "string"}, {"maxLength", 2}}}};
  const Json body = {{"context", "C"},
                     {"questions", {"Q", own, "R", own, "S"}},
                     {"schema", kMisspelt},
                     {"max_tokens", 8}};
  EXPECT_EQ(post("/v1/answers", body)["warnings"], Json::array({misspelt_in("schema")}));
}

// No chunk without a choice comes unasked.
TEST_F(Endpoints, TheLastChunkOfAStreamHasTheWarnings) {
  const Json expected = Json::array({misspelt_in("guided_json")});
  for (const bool with_usage : {false, true}) {
    Json body = {{"prompt", {"P", "R"}}, {"n", 2}, {"guided_json", kMisspelt}, {"max_tokens", 8}};
    if (with_usage) body["stream_options"] = {{"include_usage", true}};
    const std::vector<Json> events = stream("/v1/completions", body);
    ASSERT_GE(events.size(), 4u);
    EXPECT_EQ(events.back()["choices"].empty(), with_usage);
    for (const Json& event : events)
      EXPECT_EQ(event.value("warnings", Json()), &event == &events.back() ? expected : Json());
  }
}

}  // namespace
}  // namespace pando::testing
