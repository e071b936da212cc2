// Conversations: rendered by the model's template, and nothing added in front of it.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "engine/tiny_engine.h"
#include "pando/answer.h"

namespace pando::testing {
namespace {

const std::vector<ChatMessage> kMessages = {
    {"system", "Be brief."}, {"user", "One?"}, {"assistant", "1."}, {"user", "Two?"}};
const std::string kRendered =
    "system: Be brief.\nuser: One?\nassistant: 1.\nuser: Two?\nassistant:";

Request chat_request(std::vector<ChatMessage> messages) {
  Request request = tiny_request("");
  request.messages = std::move(messages);
  return request;
}

TEST(Chat, AConversationIsItsRendering) {
  ASSERT_EQ(*tiny_model()->render_chat(kMessages), kRendered);
  const auto as_messages = open_tiny()->complete(chat_request(kMessages));
  const auto as_prompt = open_tiny()->complete(tiny_request(kRendered));
  ASSERT_TRUE(as_messages.ok() && as_prompt.ok());
  EXPECT_EQ(as_messages->at(0).tokens, as_prompt->at(0).tokens);
  EXPECT_EQ(as_messages->at(0).logits_hash, as_prompt->at(0).logits_hash);
  EXPECT_EQ(as_messages->at(0).prompt_tokens, static_cast<int>(kRendered.size()));
}

TEST(Chat, OptionsReachTheTemplate) {
  const std::string thinking = kRendered + " (thinking)";
  Request request = chat_request(kMessages);
  request.chat.thinking = true;
  EXPECT_EQ(*tiny_model()->render_chat(kMessages, request.chat), thinking);
  EXPECT_EQ(open_tiny()->complete(request)->at(0).logits_hash,
            open_tiny()->complete(tiny_request(thinking))->at(0).logits_hash);
}

// The tiny model with another tokenizer_config.json (or `name`).
std::shared_ptr<const Model> with_config(const std::function<void(nlohmann::json& config)>& change,
                                         const std::string& name = "tokenizer_config.json") {
  TemporaryFolder folder;
  RandomModelOptions options;
  options.out = folder.path();
  EXPECT_TRUE(make_random_model(options).ok());
  std::ifstream file(folder.path() / name);
  nlohmann::json config = nlohmann::json::parse(file);
  change(config);
  folder.write(name, config.dump());
  Result<std::shared_ptr<const Model>> model = Model::load(folder.path());
  EXPECT_TRUE(model.ok()) << model.error().message();
  return *model;
}

TEST(Chat, WhatATemplateRefusesIsTheCallersFault) {
  const auto model = with_config([](nlohmann::json& config) {
    config["chat_template"] = "{{ raise_exception('Users alone are answered.') }}";
  });
  const auto refused = model->render_chat(kMessages);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message().find("Users alone are answered."), std::string::npos)
      << refused.error().message();
}

// Lines may have the tools or documents that a template needs.
TEST(Chat, ATemplateIsTriedWithToolsAndDocuments) {
  const auto checked = [](const char* source) {
    const auto model = with_config([&](auto& config) { config["chat_template"] = source; });
    const Status status = check_chat(*model, {.instruction = "I", .chat = true});
    return status ? "" : status.error().message();
  };
  const std::string users = "{% for m in messages %}{{ m.content }}{% endfor %}";
  EXPECT_EQ(checked((users + "{% for t in tools %}{{ t|tojson }}{% endfor %}").c_str()), "");
  EXPECT_EQ(checked((users + "{{ documents[0].title + tools[0].type }}").c_str()), "");
  EXPECT_EQ(checked("{% for t in tools %}{{ t }}{% endfor %}{{ messages[-1].content }}"),
            "chat template, line 1: 'NoneType' object is not iterable");
  EXPECT_EQ(checked((users + "{{ raise_exception('never') }}").c_str()),
            "chat template, line 1: never");
}

TEST(Chat, NoBeginningOfSequenceIsAdded) {
  const auto model = with_config(
      [](nlohmann::json& tokenizer) {
        const nlohmann::json begin = {{"SpecialToken", {{"id", "<|endoftext|>"}, {"type_id", 0}}}};
        const nlohmann::json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
        tokenizer["post_processor"] = {{"type", "TemplateProcessing"}, {"single", {begin, text}}};
      },
      "tokenizer.json");
  constexpr Token kBos = 256;
  EXPECT_EQ(*model->encode("a"), (std::vector<Token>{kBos, 'a'}));
  EXPECT_EQ(*model->encode("a", /*add_bos=*/false), std::vector<Token>{'a'});
  Result<std::unique_ptr<Engine>> engine = Engine::open(model, tiny_options());
  EXPECT_EQ((*engine)->complete(tiny_request("a"))->at(0).prompt_tokens, 2);
  const auto completions = (*engine)->complete(chat_request({{"user", "a"}}));
  EXPECT_EQ(completions->at(0).prompt_tokens,
            static_cast<int>(std::string("user: a\nassistant:").size()));
}

TEST(Chat, ATemplateThatCannotBeReadDisturbsNothingElse) {
  const auto model =
      with_config([](nlohmann::json& config) { config["chat_template"] = "{{ messages|nope }}"; });
  Result<std::unique_ptr<Engine>> engine = Engine::open(model, tiny_options());
  EXPECT_TRUE((*engine)->complete(tiny_request("a")).ok());
  const auto refused = (*engine)->complete(chat_request({{"user", "a"}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message().find("chat template, line 1: no filter named 'nope'"),
            std::string::npos);
}

}  // namespace
}  // namespace pando::testing
