// Every known template against the renderings of the reference (tools/chat_golden.py), and what is
// refused.
#include "text/chat_template.h"

#include <xxhash.h>

#include <set>

#include "base/gguf_writer.h"
#include "text/byte_tokenizer.h"
#include "text/chat_conversations.h"
#include "text/chat_forms.h"
#include "text/text_testing.h"

namespace pando::testing {
namespace {

const Json& golden() {
  static const Json document = [] {
    Result<Json> read = read_json_file(PANDO_SOURCE_DIR "/tests/text/data/chat_golden.json");
    return read.ok() ? std::move(*read) : throw std::runtime_error(read.error().message);
  }();
  return document;
}

ChatTemplate known(const Json& entry) {
  const uint64_t hash = std::stoull(entry["hash"].get<std::string>(), nullptr, 16);
  Result<ChatTemplate> found =
      ChatTemplate::with_hash(hash, "golden", {entry["bos"], entry["eos"]});
  EXPECT_TRUE(found.ok()) << entry["name"] << ": " << found.error().message;
  EXPECT_EQ(found->name(), entry["name"]);
  return *found;
}

std::vector<ChatMessage> messages_of(const Json& conversation) {
  std::vector<ChatMessage> messages;
  for (const Json& message : conversation) messages.push_back({message[0], message[1]});
  return messages;
}

// As the tool writes it: "text:...", or "error:" and the template's own words.
std::string outcome(const ChatTemplate& chat, const std::vector<ChatMessage>& messages,
                    const ChatOptions& options) {
  const Result<std::string> text = chat.render(messages, options);
  if (text.ok()) return "text:" + *text;
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  const std::string begin = "chat template '" + std::string(chat.name()) + "'";
  std::string message = text.error().message;
  EXPECT_TRUE(message.starts_with(begin)) << message;
  message.erase(0, begin.size());
  if (message.starts_with(": ")) return "error:" + message.substr(2);
  return message.starts_with(" leaves a system message out") ? "error:left out" : message;
}

TEST(ChatTemplate, RendersAsTheReference) {
  int n = 0;
  for (const Json& entry : golden()["templates"]) {
    const ChatTemplate chat = known(entry);
    for (const Json& rendering : entry["renderings"]) {
      ChatOptions options;
      options.add_generation_prompt = rendering["generation_prompt"];
      options.thinking = rendering["thinking"];
      const std::string expected = rendering.contains("text")
                                       ? "text:" + rendering["text"].get<std::string>()
                                       : "error:" + rendering["error"].get<std::string>();
      const std::string& title = rendering["conversation"].get_ref<const std::string&>();
      EXPECT_EQ(outcome(chat, messages_of(golden()["conversations"][title]), options), expected)
          << entry["name"] << ", " << title;
      ++n;
    }
  }
  EXPECT_GT(n, 500);
}

TEST(ChatTemplate, RendersRandomConversationsAsTheReference) {
  for (const Json& entry : golden()["templates"]) {
    const ChatTemplate chat = known(entry);
    const Thinking thinking =
        find_chat_form(std::stoull(entry["hash"].get<std::string>(), nullptr, 16))->thinking;
    uint64_t hash = 0;
    for (int i = 0; i < entry["random_conversations"]; ++i) {
      const RandomConversation drawn = random_conversation(i);
      ChatOptions options;
      options.add_generation_prompt = drawn.generation_prompt;
      options.thinking =
          thinking == Thinking::kSwitch ? drawn.thinking : thinking == Thinking::kAlways;
      const std::string text = outcome(chat, drawn.messages, options);
      hash = XXH3_64bits_withSeed(text.data(), text.size(), hash);
    }
    EXPECT_EQ(fmt::format("{:016x}", hash), entry["random_hash"]) << entry["name"];
  }
}

// Every entry of the table is in the reference.
TEST(ChatTemplate, NoTemplateWithoutReference) {
  std::set<std::string> names;
  for (const Json& entry : golden()["templates"]) names.insert(entry["name"]);
  EXPECT_EQ(names.size(), chat_forms().size());
}

TEST(ChatTemplate, SpaceIsWhatPythonStrips) {
  std::set<char32_t> found;
  for (char32_t point = 0; point < 0x110000; ++point) {
    if (point >= 0xd800 && point < 0xe000) continue;
    std::string text;
    append_utf8(point, &text);
    const std::string around = text + "a" + text + "b" + text;
    if (trim_space(text).empty()) found.insert(point);
    EXPECT_EQ(trim_space(around), found.contains(point) ? "a" + text + "b" : around);
  }
  EXPECT_EQ(found, golden()["spaces"].get<std::set<char32_t>>());
  for (const char* broken : {"\x80\x80\x80\x80\x80", "a\xc2", "\xa0"})
    EXPECT_EQ(trim_space(broken), broken);
}

TEST(ChatTemplate, HashIsOfTheTextAsJinjaReadsIt) {
  const uint64_t hash = ChatTemplate::hash("a\nb");
  EXPECT_EQ(hash, 0xc60f8ba575c1ad36u);
  for (const char* same : {"a\nb\n", "a\r\nb", "a\rb\r", "a\nb\r\n"})
    EXPECT_EQ(ChatTemplate::hash(same), hash) << same;
  for (const char* other : {"a\nb\n\n", "a\n\rb", "a b", "a\nb "})
    EXPECT_NE(ChatTemplate::hash(other), hash) << other;
}

TEST(ChatTemplate, UnknownTextIsRefused) {
  const auto chat = ChatTemplate::recognise("{{ messages }}", "dir/tokenizer_config.json", {});
  ASSERT_FALSE(chat.ok());
  EXPECT_EQ(chat.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(chat.error().message,
            fmt::format("'dir/tokenizer_config.json': the chat template is not a known one (its "
                        "hash is {:016x}; hint: ask without chat, with a prompt template of your "
                        "own)",
                        ChatTemplate::hash("{{ messages }}")));
}

TEST(ChatTemplate, TokensThatItWritesMustBeNamed) {
  constexpr uint64_t kLlama2 = 0x24f6d97f87d647f5, kPhi3 = 0x82fc89c04c54ba66,
                     kQwen2 = 0xd5d943bd0bd9082f;
  EXPECT_TRUE(ChatTemplate::with_hash(kQwen2, "f", {}).ok());
  EXPECT_TRUE(ChatTemplate::with_hash(kPhi3, "f", {std::nullopt, "</s>"}).ok());
  const auto no_bos = ChatTemplate::with_hash(kLlama2, "f", {std::nullopt, "</s>"});
  ASSERT_FALSE(no_bos.ok());
  EXPECT_EQ(no_bos.error().message,
            "'f': the chat template writes the bos_token, which the tokenizer does not name");
  EXPECT_NE(ChatTemplate::with_hash(kLlama2, "f", {"<s>", std::nullopt})
                .error()
                .message.find("eos_token"),
            std::string::npos);
}

TEST(ChatTemplate, WhatIsRefusedBeforeRendering) {
  const std::vector<ChatMessage> user = {{"user", "?"}};
  ChatOptions thinking;
  thinking.thinking = true;
  const ChatTemplate qwen2 = *ChatTemplate::with_hash(0xd5d943bd0bd9082f, "f", {});
  EXPECT_EQ(qwen2.render(user, thinking).error().message,
            "chat template 'qwen2' knows no thinking, expected it turned off");
  const ChatTemplate always = *ChatTemplate::with_hash(0xbdee364f122d2352, "f", {});
  EXPECT_EQ(always.render(user, {}).error().message,
            "chat template 'qwen3-thinking-2507' always thinks, expected thinking turned on");
  EXPECT_EQ(qwen2.render({}, {}).error().message, "the conversation has no messages");
  const std::vector<ChatMessage> tool = {{"user", "?"}, {"tool", "!"}};
  EXPECT_EQ(qwen2.render(tool, {}).error().message,
            "the role of a message is 'tool', expected system, user or assistant");
}

TEST(ChatTemplate, TodaysDate) {
  const ChatTemplate llama = *ChatTemplate::with_hash(0xc3d57e38f5ff0756, "f", {"<b>", "<e>"});
  ChatOptions options;
  options.date = "01 Feb 2030";
  const std::vector<ChatMessage> user = {{"user", "?"}};
  EXPECT_NE(llama.render(user, options)->find("Today Date: 01 Feb 2030\n\n<|eot_id|>"),
            std::string::npos);
}

class ChatTemplateFiles : public ::testing::Test {
 protected:
  Result<ChatTemplate> load() const {
    Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::load(directory.path());
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
    return ChatTemplate::load(directory.path(), **tokenizer);
  }
  void SetUp() override {
    ASSERT_TRUE(write_byte_tokenizer(directory.path()).ok());
    config = *read_json_file(directory.path() / "tokenizer_config.json");
    text = config["chat_template"];
    config.erase("chat_template");
  }

  TempDirectory directory;
  Json config;
  std::string text;  // of the template that generated models have
};

TEST_F(ChatTemplateFiles, WhereATemplateIsFound) {
  EXPECT_EQ(load()->name(), "generated");
  directory.write_json("tokenizer_config.json", config);
  EXPECT_EQ(
      load().error().message,
      fmt::format("'{}' has no chat template (hint: ask without chat)", directory.path().string()));
  EXPECT_EQ(load().error().code, ErrorCode::kUnsupported);
  directory.write_json("chat_template.json", {{"chat_template", text}});
  EXPECT_EQ(load()->name(), "generated");
  config["chat_template"] = {{{"name", "tool_use"}, {"template", "x"}},
                             {{"name", "default"}, {"template", text}}};
  directory.write_json("chat_template.json", {{"chat_template", "x"}});
  directory.write_json("tokenizer_config.json", config);
  EXPECT_EQ(load()->name(), "generated");
  directory.write("chat_template.jinja", "x");
  EXPECT_NE(load().error().message.find("chat_template.jinja': the chat template is not a known"),
            std::string::npos);
  directory.write("chat_template.jinja", text + "\n");
  EXPECT_EQ(load()->name(), "generated");
}

TEST_F(ChatTemplateFiles, AFieldOfTheWrongType) {
  config["chat_template"] = 5;
  directory.write_json("tokenizer_config.json", config);
  EXPECT_NE(load().error().message.find("'chat_template' is 5, expected a string"),
            std::string::npos);
  EXPECT_EQ(load().error().code, ErrorCode::kBadFile);
  config["chat_template"] = {{{"name", "default"}}};
  directory.write_json("tokenizer_config.json", config);
  EXPECT_NE(load().error().message.find("'chat_template[0].template' is missing"),
            std::string::npos);
}

TEST_F(ChatTemplateFiles, OfAGgufFile) {
  const Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::load(directory.path());
  const std::filesystem::path path = directory.path() / "model.gguf";
  GgufWriter writer;
  directory.write("model.gguf", writer.bytes());
  EXPECT_EQ(ChatTemplate::load(path, **tokenizer).error().message,
            fmt::format("'{}' has no chat template (hint: ask without chat)", path.string()));
  writer.string("tokenizer.chat_template", text);
  directory.write("model.gguf", writer.bytes());
  EXPECT_EQ(ChatTemplate::load(path, **tokenizer)->name(), "generated");
}

TEST(ChatTemplate, PublishedTextOfQwen2_5) {
  const std::string path = PANDO_SHARED_DATA "/tokenizers/qwen2.5/tokenizer_config.json";
  if (!is_there(path)) GTEST_SKIP() << path << " is not there";
  const Json config = *read_json_file(path);
  const auto chat = ChatTemplate::recognise(config["chat_template"].get<std::string>(), path, {});
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  EXPECT_EQ(chat->name(), "qwen2.5-braces");
}

// The ids of apply_chat_template(tokenize=True).
TEST(ChatTemplate, IdsOfQwen2_5) {
  const std::filesystem::path directory = PANDO_SHARED_DATA "/tokenizers/qwen2.5";
  if (!is_there(directory)) GTEST_SKIP() << directory << " is not there";
  const Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::load(directory);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  const Result<ChatTemplate> chat = ChatTemplate::load(directory, **tokenizer);
  ASSERT_TRUE(chat.ok()) << chat.error().message;
  IdHash hash;
  for (int i = 0; i < 1000; ++i) {
    const RandomConversation drawn = random_conversation(i);
    ChatOptions options;
    options.add_generation_prompt = drawn.generation_prompt;
    hash.add(*(*tokenizer)->encode(*chat->render(drawn.messages, options), /*add_bos=*/false));
  }
  EXPECT_EQ(fmt::format("{:016x}", hash.value()), golden()["qwen2.5_ids_hash"]);
}

}  // namespace
}  // namespace pando::testing
