// Numbers and token lists as they are printed.
#include "ask/logprobs.h"

#include <cmath>
#include <cstring>
#include <fstream>

#include "ask/errors.h"
#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

TEST(Logprobs, PrintedAsTheShortestTextOfTheFloat) {
  EXPECT_EQ(json_text(ask::printed(-1.1F)), "-1.1");
  EXPECT_EQ(json_text(ask::printed(0.1F)), "0.1");
  uint32_t bits = 1;
  int n = 0, n_longer = 0;
  for (int i = 0; i < 200000; ++i) {
    bits = bits * 1664525 + 1013904223;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    if (!(std::abs(value) > 1e-4F && std::abs(value) < 1e4F)) continue;
    const std::string text = json_text(ask::printed(value));
    EXPECT_EQ(std::strtof(text.c_str(), nullptr), value);
    ++n;
    n_longer += text.size() > 15;  // sign, point, nine digits and an exponent
  }
  // The printer of doubles finds the shortest text of nearly all.
  EXPECT_GT(n, 10000);
  EXPECT_LE(n_longer, n / 500);
}

// Bytes that are no characters: no two tokens look alike, and offsets count characters.
TEST(Logprobs, TokensThatAreNoCharacters) {
  ask::TokenLists lists(*tiny_model());
  lists.add_first(0xc3);
  lists.add_all(
      std::vector<TokenLogprob>{{.token = 0xa9, .logprob = -1, .top = {{0xa9, -1}, {0xaa, -2}}},
                                {.token = 'a', .logprob = -3, .top = {{0xa9, -1}}}});
  const auto json = nlohmann::ordered_json::parse(json_text(lists.take()));
  EXPECT_EQ(json["tokens"], (std::vector<std::string>{"bytes:\\xc3", "bytes:\\xa9", "a"}));
  EXPECT_EQ(json["token_logprobs"][0], nullptr);
  EXPECT_EQ(json["top_logprobs"][1].size(), 2u);
  EXPECT_EQ(json["top_logprobs"][2].size(), 2u);
  EXPECT_EQ(json["top_logprobs"][2]["a"], -3);
  EXPECT_EQ(json["text_offset"], (std::vector<int>{0, 1, 1}));
}

// Padded vocabularies have many ids beyond the tokenizer's.
TEST(Logprobs, TokensWithoutText) {
  ask::TokenLists lists(*tiny_model());
  lists.add_all(std::vector<TokenLogprob>{
      {.token = 300, .logprob = -2, .top = {{301, -1}, {300, -2}, {302, -3}}}});
  const auto json = nlohmann::ordered_json::parse(json_text(lists.take()));
  EXPECT_EQ(json["tokens"][0], "token_id:300");
  EXPECT_EQ(json["top_logprobs"][0],
            (nlohmann::ordered_json{
                {"token_id:301", -1.0}, {"token_id:300", -2.0}, {"token_id:302", -3.0}}));
  const auto chat = nlohmann::ordered_json::parse(json_text(
      ask::chat_logprobs(*tiny_model(), std::vector<TokenLogprob>{{.token = 300, .logprob = -2}})));
  EXPECT_EQ(chat["content"][0]["token"], "token_id:300");
  EXPECT_EQ(chat["content"][0]["bytes"], nlohmann::ordered_json::array());
}

// The demo model with another decoder, which holds back text.
std::shared_ptr<const Model> demo_with_decoder(const nlohmann::json& decoder) {
  const TemporaryFolder folder;
  const std::filesystem::path demo = PANDO_SOURCE_DIR "/models/demo";
  std::filesystem::copy(demo, folder.path() / "demo");
  std::ifstream file(demo / "tokenizer.json");
  nlohmann::json tokenizer = nlohmann::json::parse(file);
  tokenizer["decoder"] = decoder;
  folder.write("demo/tokenizer.json", tokenizer.dump());
  Result<std::shared_ptr<const Model>> model = Model::load(folder.path() / "demo");
  if (!model) throw std::runtime_error(model.error().message());
  return std::move(*model);
}

// "t", "ai" and "lor", whose text comes with a later token or at the end.
TEST(Logprobs, AStopTextThatIsHeldBack) {
  // The first holds back "lor", the other holds back all.
  for (const char* kind : {"String", "Regex"}) {
    const nlohmann::json replace = {
        {"type", "Replace"}, {"pattern", {{kind, "lorQ"}}}, {"content", "z"}};
    const nlohmann::json decoder = {{"type", "Sequence"},
                                    {"decoders", {{{"type", "ByteLevel"}}, replace}}};
    const std::shared_ptr<const Model> model = demo_with_decoder(decoder);
    const std::unique_ptr<Engine> engine = std::move(Engine::open(model, tiny_options()).value());
    const auto check = [&](const std::string& stop, int max_tokens, const std::string& text,
                           size_t n_reported) {
      Request request;
      request.prompt =
          "The dog named Brako has fur that is green. Velina works as a tailor.\n\nQuestion: What "
          "is the profession of Velina?\nAnswer:";
      request.sampling.max_tokens = max_tokens;
      request.sampling.stop = {stop};
      request.sampling.logprobs = true;
      const Completion answer = engine->complete(request).value().front();
      EXPECT_TRUE(answer.text.ends_with(text)) << answer.text;
      EXPECT_EQ(answer.finish_reason, FinishReason::kStop) << stop << max_tokens;
      EXPECT_EQ(ask::reported_logprobs(*model, request, answer).size(), n_reported)
          << kind << stop << max_tokens;
    };
    for (const int max_tokens : {3, 20}) {
      check("lor", max_tokens, "tai", 2);
      check("ilo", max_tokens, "ta", 2);
      check("ai", max_tokens, "t", 1);
    }
    check("ai", 2, "t", 1);
    check("t", 1, "", 1);
  }
}

TEST(Logprobs, OneTableOfErrors) {
  EXPECT_EQ(ask::http_error({ErrorCode::kInvalidArgument, ""}).status, 400);
  EXPECT_EQ(ask::http_error({ErrorCode::kTooLong, ""}).code, "context_length_exceeded");
  EXPECT_EQ(ask::http_error({ErrorCode::kUnavailable, ""}).status, 429);
  EXPECT_EQ(ask::http_error({ErrorCode::kInternal, ""}).type, "server_error");
}

}  // namespace
}  // namespace pando::testing
