// The APIs of other servers over a connection: their answers say what OpenAI's say.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "engine/fim_model.h"
#include "serve/endpoints.h"

namespace pando::testing {
namespace {

const Json kAskedOthers = {{{"role", "user"}, {"content", "Q"}}};

class OtherDoors : public Endpoints {
 protected:
  std::string text_of_completion() {
    return post("/v1/completions", completion("P"))["choices"][0]["text"];
  }
  std::string text_of_chat() {
    return post("/v1/chat/completions", {{"messages", kAskedOthers},
                                         {"temperature", 0},
                                         {"max_tokens", 6},
                                         {"ignore_eos", true}})["choices"][0]["message"]["content"];
  }
  // The parts of a stream of any form: lines that have JSON, without what SSE writes before it.
  std::vector<Json> parts(const std::string& path, const Json& body, const std::string& type) {
    const Answer answer = client_.post(path, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_TRUE(answer.content_type.starts_with(type)) << answer.content_type;
    std::vector<Json> all;
    std::istringstream lines(answer.body);
    for (std::string line; std::getline(lines, line);)
      if (const size_t begin = line.find('{'); begin != line.npos)
        all.push_back(Json::parse(line.substr(begin)));
    return all;
  }
};

const Json kTgiBody = {{"inputs", "P"},
                       {"parameters", {{"max_new_tokens", 6}, {"ignore_eos", true}}}};
const Json kOllamaOptions = {{"num_predict", 6}, {"temperature", 0}, {"ignore_eos", true}};
const Json kCohereBody = {
    {"messages", kAskedOthers}, {"temperature", 0}, {"max_tokens", 6}, {"ignore_eos", true}};
const Json kLlamaBody = {
    {"prompt", "P"}, {"temperature", 0}, {"n_predict", 6}, {"ignore_eos", true}};

TEST_F(OtherDoors, AnswersHaveTheSameText) {
  const std::string text = text_of_completion(), chat = text_of_chat();
  EXPECT_EQ(post("/generate", kTgiBody)["generated_text"], text);
  EXPECT_EQ(post("/", kTgiBody)[0]["generated_text"], text);
  EXPECT_EQ(post("/completion", kLlamaBody)["content"], text);
  EXPECT_EQ(post("/api/generate", {{"prompt", "P"},
                                   {"raw", true},
                                   {"stream", false},
                                   {"options", kOllamaOptions}})["response"],
            text);
  EXPECT_EQ(post("/api/chat", {{"messages", kAskedOthers},
                               {"stream", false},
                               {"options", kOllamaOptions}})["message"]["content"],
            chat);
  EXPECT_EQ(post("/api/generate",
                 {{"prompt", "Q"}, {"stream", false}, {"options", kOllamaOptions}})["response"],
            chat);
  EXPECT_EQ(post("/v2/chat", kCohereBody)["message"]["content"][0]["text"], chat);
  EXPECT_EQ(post("/v1/fim/completions", completion("P"))["choices"][0]["message"]["content"], text);
}

TEST_F(OtherDoors, StreamsHaveTheSameText) {
  const std::string text = text_of_completion(), chat = text_of_chat();
  std::string joined;
  const std::vector<Json> tokens = parts("/generate_stream", kTgiBody, "text/event-stream");
  EXPECT_EQ(tokens.size(), 6u);
  for (const Json& one : tokens) joined += one["token"]["text"];
  EXPECT_EQ(joined, text);
  EXPECT_EQ(tokens.back()["generated_text"], text);
  joined.clear();
  Json body = kLlamaBody;
  body["stream"] = true;
  for (const Json& one : parts("/completion", body, "text/event-stream")) joined += one["content"];
  EXPECT_EQ(joined, text);
  joined.clear();
  const std::vector<Json> lines =
      parts("/api/chat", {{"messages", kAskedOthers}, {"options", kOllamaOptions}},
            "application/x-ndjson");
  for (const Json& one : lines) joined += one["message"]["content"];
  EXPECT_EQ(joined, chat);
  EXPECT_EQ(lines.back()["done"], true);
  EXPECT_EQ(lines.back()["eval_count"], 6);
  joined.clear();
  body = kCohereBody;
  body["stream"] = true;
  for (const Json& one : parts("/v2/chat", body, "text/event-stream"))
    if (one["type"] == "content-delta") joined += one["delta"]["message"]["content"]["text"];
  EXPECT_EQ(joined, chat);
}

TEST_F(OtherDoors, VectorsAreTheSame) {
  const Json data = post("/v1/embeddings", {{"input", {"one", "two"}}})["data"];
  const Json vectors = {data[0]["embedding"], data[1]["embedding"]};
  const Json texts = {"one", "two"};
  EXPECT_EQ(post("/embed", {{"inputs", texts}}), vectors);
  EXPECT_EQ(post("/", {{"inputs", texts}}), vectors);
  EXPECT_EQ(post("/embed_all", {{"inputs", "one"}})[0].size(), 3u);  // tokens
  EXPECT_NE(post("/embed_sparse", {{"inputs", "one"}}, 400)["error"].dump().find("sparse_linear"),
            std::string::npos);
  EXPECT_EQ(post("/api/embed", {{"input", texts}})["embeddings"], vectors);
  EXPECT_EQ(post("/api/embeddings", {{"prompt", "two"}})["embedding"], vectors[1]);
  EXPECT_EQ(post("/v2/embed", {{"texts", texts}})["embeddings"]["float"], vectors);
}

TEST_F(OtherDoors, ErrorsHaveTheFormOfTheirApi) {
  const auto refused = [&](const char* path, Json body) {
    body["mood"] = 1;
    return post(path, body, 400);
  };
  const std::string unknown = "field 'mood' is unknown or unsupported";
  for (const char* path : {"/generate", "/generate_stream", "/"})
    EXPECT_EQ(refused(path, kTgiBody), (Json{{"error", unknown}, {"error_type", "validation"}}));
  EXPECT_EQ(refused("/embed", {{"inputs", "a"}}),
            (Json{{"error", unknown}, {"error_type", "Validation"}}));
  EXPECT_EQ(refused("/v2/chat", kCohereBody), (Json{{"message", unknown}}));
  EXPECT_EQ(refused("/api/chat", {{"messages", kAskedOthers}}), (Json{{"error", unknown}}));
  EXPECT_EQ(refused("/completion", kLlamaBody)["error"]["message"], unknown);
  // The engine refuses this one.
  const Json cold =
      post("/api/chat", {{"messages", kAskedOthers}, {"options", {{"temperature", -1}}}}, 400);
  EXPECT_NE(cold["error"].get<std::string>().find("options.temperature"), std::string::npos)
      << cold;
  EXPECT_EQ(post("/infill", {{"input_prefix", "a"}}, 400)["error"]["code"], "unsupported");
  EXPECT_EQ(post("/api/show", {{"name", "other"}}, 404).size(), 1u);
}

TEST_F(OtherDoors, UnknownPathsHaveTheErrorsOfTheirApi) {
  const auto refused = [&](const char* path) {  // the connection ends
    const Answer answer = Client(server_->port()).post(path, Json::object());
    EXPECT_EQ(answer.status, 404);
    return answer.json();
  };
  EXPECT_TRUE(refused("/api/pull")["error"].is_string());
  EXPECT_TRUE(refused("/v2/classify")["message"].is_string());
  EXPECT_EQ(refused("/v1/messages/batches")["type"], "error");
  EXPECT_EQ(refused("/v1/audio/speech")["error"]["code"], "not_found");
}

TEST_F(OtherDoors, LatestIsTheModelItself) {
  for (const char* name : {"tiny", "tiny:latest"}) {
    Json body = completion("P");
    body["model"] = name;
    EXPECT_EQ(post("/v1/completions", body)["model"], "tiny");
    EXPECT_EQ(post("/api/show", {{"model", name}})["capabilities"][0], "completion");
    EXPECT_EQ(client_.get(std::string("/v1/models/") + name).status, 200);
  }
  for (const char* name : {"tiny:8b", "tiny:", ":latest", "other:latest"})
    EXPECT_EQ(error("/v1/completions", {{"model", name}, {"prompt", "P"}}, 404)["code"],
              "model_not_found");
}

TEST_F(OtherDoors, FactsAboutTheModel) {
  const auto get = [&](const char* path) { return client_.get(path).json(); };
  EXPECT_EQ(get("/info")["model_id"], "tiny");
  EXPECT_EQ(get("/info")["max_total_tokens"], kTinyContext);
  EXPECT_EQ(get("/props")["default_generation_settings"]["n_ctx"], kTinyContext);
  EXPECT_EQ(get("/slots").size(), get("/props")["total_slots"]);
  EXPECT_EQ(get("/api/tags")["models"][0]["name"], "tiny");
  EXPECT_EQ(get("/api/version").size(), 1u);
  const Json shown = post("/api/show", {{"model", "tiny"}});
  EXPECT_EQ(shown["model_info"]["general.architecture"], shown["details"]["family"]);
  EXPECT_EQ(shown["capabilities"][0], "completion");
  EXPECT_EQ(shown["template"], "{{ .Prompt }}");
}

TEST(FillInTheMiddle, ASuffixGivesTheSameTextAtEachDoor) {
  RunningServer server(tiny_server_options(), Engine::open(fim_model(), tiny_options()).value());
  Client client(server.port());
  const Json plain = {{"prompt", "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>"},
                      {"temperature", 0},
                      {"max_tokens", 6},
                      {"stop_token_ids", {kFimFile}}};
  const Json text = client.post("/v1/completions", plain).json()["choices"][0]["text"];
  Json body = {{"prompt", "a"}, {"suffix", "b"}, {"temperature", 0}, {"max_tokens", 6}};
  EXPECT_EQ(client.post("/v1/completions", body).json()["choices"][0]["text"], text);
  EXPECT_EQ(client.post("/v1/fim/completions", body).json()["choices"][0]["message"]["content"],
            text);
  EXPECT_EQ(
      client
          .post(
              "/infill",
              {{"input_prefix", "a"}, {"input_suffix", "b"}, {"temperature", 0}, {"n_predict", 6}})
          .json()["content"],
      text);
  EXPECT_EQ(client
                .post("/api/generate", {{"prompt", "a"},
                                        {"suffix", "b"},
                                        {"stream", false},
                                        {"options", {{"temperature", 0}, {"num_predict", 6}}}})
                .json()["response"],
            text);
  const Json shown = client.post("/api/show", Json::object()).json();
  EXPECT_NE(std::ranges::find(shown["capabilities"], Json("insert")), shown["capabilities"].end());
}

TEST(ModelNames, AServerMayAnswerToAllOfThem) {
  Json body = completion("P");
  body["model"] = "dummy";
  RunningServer strict;
  EXPECT_EQ(Client(strict.port()).post("/v1/completions", body).status, 404);
  serve::ServerOptions options = tiny_server_options();
  options.model_names = {"tiny", "small"};
  options.any_model_name = true;
  RunningServer server(std::move(options));
  Client client(server.port());
  const Answer answer = client.post("/v1/completions", body);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.json()["model"], "tiny");
  EXPECT_EQ(client.get("/v1/models").json()["data"].size(), 2u);
}

TEST(Lenient, UnknownFieldsAreLeftOutAndListed) {
  serve::ServerOptions options = tiny_server_options();
  options.lenient = true;
  RunningServer server(std::move(options));
  Client client(server.port());
  Json body = {{"messages", kAskedOthers}, {"max_tokens", 2}, {"mood", 1}, {"a,b", 2}};
  body["messages"][0]["nam"] = "x";
  const Answer answer = client.post("/v1/chat/completions", body);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.ignored_fields, "a%2Cb, mood, messages[0].nam");
  body["stream"] = true;
  EXPECT_EQ(client.post("/v1/chat/completions", body).ignored_fields, answer.ignored_fields);
  const Json options_of_ollama = {{"num_predict", 2}, {"mood", 1}};
  EXPECT_EQ(client.post("/api/chat", {{"messages", kAskedOthers}, {"options", options_of_ollama}})
                .ignored_fields,
            "options.mood");
  EXPECT_EQ(client.post("/tokenize", {{"prompt", "P"}, {"mood", 1}}).ignored_fields, "mood");
  // A known field with a wrong value is refused all the same.
  const Answer wrong = client.post("/v1/completions", {{"prompt", "P"}, {"mood", 1}, {"top_p", 2}});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.ignored_fields, "mood");
  EXPECT_EQ(client.post("/v1/completions", completion("P")).ignored_fields, "");
}

}  // namespace
}  // namespace pando::testing
