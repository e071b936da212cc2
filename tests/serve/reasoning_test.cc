// Chats with a model whose answers have channels.
#include "serve/client.h"
#include "text/channel_tokenizer.h"

namespace pando::testing {
namespace {

std::unique_ptr<Engine> open_channelled() {
  const TemporaryFolder folder;
  RandomModelOptions random;
  random.out = folder.path() / "model";
  random.tokenizer = folder.path() / "tokenizer";
  random.max_positions = kTinyContext;
  std::filesystem::create_directories(random.tokenizer);
  write_channel_tokenizer(random.tokenizer);
  if (Status status = make_random_model(random); !status)
    throw std::runtime_error(status.error().message());
  return Engine::open(Model::load(random.out).value(), tiny_options()).value();
}

// A model without sense begins its message at once, and then keeps to the form.
Json channelled_chat() {
  constexpr const char* kMessage = "258";
  return {{"messages", {{{"role", "user"}, {"content", "Q?"}}}},
          {"temperature", 0},
          {"max_tokens", 10},
          {"logit_bias", {{kMessage, 100}}},
          {"guided_regex", "a{3}"}};
}

TEST(ChannelsOfChats, AFormIsThatOfTheContent) {
  RunningServer server(tiny_server_options(), open_channelled());
  Client client(server.port());
  Json body = channelled_chat();
  const Json whole = client.post("/v1/chat/completions", body).json();
  EXPECT_EQ(whole["choices"][0]["message"]["content"], "aaa") << whole;
  EXPECT_EQ(whole["usage"]["completion_tokens"], 4) << "with the token that begins the message";
  body["stream"] = true;
  std::string content;
  for (const Json& event : client.post("/v1/chat/completions", body).events())
    content += event["choices"][0]["delta"].value("content", "");
  EXPECT_EQ(content, "aaa");
}

TEST(ChannelsOfChats, AreLeftAloneWhereSpecialTokensGiveText) {
  RunningServer server(tiny_server_options(), open_channelled());
  Client client(server.port());
  Json body = channelled_chat();
  body["skip_special_tokens"] = false;
  const Json whole = client.post("/v1/chat/completions", body).json();
  EXPECT_EQ(whole["choices"][0]["message"]["content"], "aaa") << whole;
  EXPECT_EQ(whole["usage"]["completion_tokens"], 3);
}

// After a conversation choices begin the content.
TEST(ChannelsOfChats, ChoicesAreContent) {
  RunningServer server(tiny_server_options(), open_channelled());
  Client client(server.port());
  const auto prompt_tokens = [&](const Json& choices) -> size_t {
    Json body = {{"context", "C"}, {"questions", {"Q?"}}, {"chat", true}, {"max_tokens", 3}};
    if (!choices.empty()) body["choices"] = choices;
    return client.post("/v1/answers", body).json()["answers"][0]["prompt_tokens"];
  };
  const std::string opening = "<|channel|>final<|message|>";
  EXPECT_EQ(prompt_tokens({"yes", "no"}),
            prompt_tokens({}) + opening.size() - std::string("<|channel|><|message|>").size() + 2);
}

}  // namespace
}  // namespace pando::testing
