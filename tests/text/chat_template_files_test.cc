// Chat templates are found in several files, and may write some tokens.
#include "base/gguf_writer.h"
#include "json_literal.h"
#include "text/byte_tokenizer.h"
#include "text/chat_template_testing.h"
#include "text/text_testing.h"

namespace pando::testing::templates {
namespace {

using testing::operator""_value;

class ChatTemplateFiles : public ::testing::Test {
 protected:
  Result<ChatTemplate> load(const std::string& choice = {}) const {
    const auto tokenizer = load_tokenizer(directory.path());
    return ChatTemplate::load(directory.path(), *tokenizer, choice);
  }
  std::string rendered(const std::string& choice = {}, const ChatOptions& options = {}) const {
    const auto chat = load(choice);
    if (!chat) return chat.error().message();
    const auto text = chat->render(kBlank, options);
    return text ? *text : text.error().message();
  }
  void SetUp() override {
    ASSERT_TRUE(write_byte_tokenizer(directory.path()).ok());
    config = *read_json_file(directory.path() / "tokenizer_config.json");
  }
  void set_config(const Json& chat_template) {
    config["chat_template"] = chat_template;
    directory.write_json("tokenizer_config.json", config);
  }

  TempDirectory directory;
  Json config;
};

TEST_F(ChatTemplateFiles, WhereATemplateIsFound) {
  EXPECT_EQ(rendered(), "user: \nassistant:");
  set_config(nullptr);
  EXPECT_EQ(
      rendered(),
      fmt::format("'{}' has no chat template, expected one there or the option 'chat_template'",
                  directory.path().string()));
  EXPECT_EQ(load().error().code, ErrorCode::kUnsupported);
  directory.write_json("chat_template.json", {{"chat_template", "of json{{ eos_token }}"}});
  EXPECT_EQ(rendered(), "of json<|endoftext|>");
  set_config("of config");
  EXPECT_EQ(rendered(), "of config");
  directory.write("chat_template.jinja", "of jinja");
  EXPECT_EQ(rendered(), "of jinja");
  const std::filesystem::path file = directory.path() / "tokenizer.json";  // beside it
  const auto tokenizer = load_tokenizer(file);
  ASSERT_NE(tokenizer, nullptr);
  const auto chat = ChatTemplate::load(file, *tokenizer, "");
  ASSERT_TRUE(chat) << chat.error().message();
  const auto text = chat->render(kBlank, {});
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(*text, "of jinja");
}

TEST_F(ChatTemplateFiles, OneOfSeveral) {
  const ChatOptions with_tools{.tools = "[{}]"_value};  // needs a template that reads them
  set_config({{{"name", "tool_use"}, {"template", "tools{{ tools[9] }}"}},
              {{"name", "default"}, {"template", "plain{{ tools[9] if tools }}"}},
              {{"name", "broken"}, {"template", "{% x %}"}}});
  EXPECT_EQ(rendered(), "plain");
  EXPECT_EQ(rendered("", with_tools), "tools");
  EXPECT_EQ(rendered("tool_use"), "tools");
  EXPECT_EQ(rendered("default", with_tools), "plain");
  EXPECT_EQ(rendered("nope"),
            "'nope' is neither a file nor a chat template of the model, expected tool_use, "
            "default or broken");
  EXPECT_NE(rendered("broken").find("line 1: unknown tag 'x'"), std::string::npos);
  set_config({{{"name", "long"}, {"template", "a"}}, {{"name", "short"}, {"template", "b"}}});
  EXPECT_EQ(rendered(),
            "the model has several chat templates and none named 'default', expected the option "
            "'chat_template' to name one: long or short");
  directory.write("mine.jinja", "mine");
  EXPECT_EQ(rendered((directory.path() / "mine.jinja").string()), "mine");
  std::filesystem::create_directory(directory.path() / "additional_chat_templates");
  directory.write("additional_chat_templates/rag.jinja", "rag");
  EXPECT_EQ(rendered("rag"), "rag");
  EXPECT_EQ(rendered(), "rag");  // the only one
  directory.write("chat_template.jinja", "default");
  EXPECT_EQ(rendered(), "default");
  EXPECT_EQ(rendered("rag"), "rag");
}

// Another template would render conversations differently.
TEST_F(ChatTemplateFiles, ABrokenLinkIsNamed) {
  set_config("own");
  for (const char* name :
       {"chat_template.jinja", "additional_chat_templates", "special_tokens_map.json"}) {
    std::filesystem::create_symlink("nowhere", directory.path() / name);
    EXPECT_EQ(load().error().code, ErrorCode::kIo);
    EXPECT_NE(rendered().find(name), std::string::npos) << rendered();
    std::filesystem::remove(directory.path() / name);
    EXPECT_EQ(rendered(), "own");
  }
}

TEST_F(ChatTemplateFiles, EachOfSeveralTakesWhatItTakes) {
  set_config(
      {{{"name", "tool_use"},
        {"template",
         "{{ tools[9] }}{% for m in messages %}{% if m.content is string %}{{ m.content }}{% "
         "else %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endif %}{% endfor %}"}},
       {{"name", "default"}, {"template", "{{ messages[0].content }}"}}});
  const std::vector<ChatMessage> parts = {
      {"user", "", R"({"content": [{"type": "text", "text": "a"}]})"_value}};
  const auto chat = load();
  ASSERT_TRUE(chat.ok()) << chat.error().message();
  EXPECT_EQ(*chat->render(parts, {}), "a");
  EXPECT_EQ(*chat->render(parts, {.tools = "[{}]"_value}), "[a]");
}

TEST_F(ChatTemplateFiles, NoTokenIsInvented) {
  config.erase("bos_token");
  set_config("{{ bos_token is defined }}");
  EXPECT_EQ(rendered(), "False");
}

TEST_F(ChatTemplateFiles, TokensThatATemplateMayWrite) {
  config["bos_token"] = {{"content", "<bos>"}};
  config["image_token"] = "<img>";
  config["add_bos_token"] = false;
  config["extra_special_tokens"] = {{"call_token", "<call>"}};
  config["model_specific_special_tokens"] = {{"end_of_call", "</call>"}};
  set_config(
      "{{ bos_token }}{{ image_token }}{{ call_token }}{{ end_of_call }}{{ add_bos_token is "
      "defined }}{{ pad_token is defined }}");
  EXPECT_EQ(rendered(), "<bos><img><call></call>FalseFalse");
  directory.write_json("special_tokens_map.json", {{"pad_token", "<pad>"}, {"bos_token", "<b>"}});
  EXPECT_EQ(rendered(), "<b><img><call></call>FalseTrue");
}

TEST_F(ChatTemplateFiles, AFieldOfTheWrongType) {
  set_config(5);
  EXPECT_NE(rendered().find("'chat_template' is 5, expected a string"), std::string::npos);
  EXPECT_EQ(load().error().code, ErrorCode::kBadFile);
  set_config({{{"name", "default"}}});
  EXPECT_NE(rendered().find("'chat_template[0].template' is missing"), std::string::npos);
}

TEST_F(ChatTemplateFiles, OfAGgufFile) {
  const auto tokenizer = load_tokenizer(directory.path());
  const std::filesystem::path path = directory.path() / "model.gguf";
  GgufWriter writer;
  directory.write("model.gguf", writer.bytes());
  EXPECT_NE(ChatTemplate::load(path, *tokenizer).error().message().find("has no chat template"),
            std::string::npos);
  writer.string("tokenizer.chat_template", "plain");
  writer.string("tokenizer.chat_template.tool_use", "tools");
  directory.write("model.gguf", writer.bytes());
  EXPECT_EQ(*ChatTemplate::load(path, *tokenizer)->render(kBlank, {}), "plain");
  EXPECT_EQ(*ChatTemplate::load(path, *tokenizer)->render(kBlank, {.tools = "[]"_value}), "tools");
  EXPECT_EQ(*ChatTemplate::load(path, *tokenizer, "tool_use")->render(kBlank, {}), "tools");
}

}  // namespace
}  // namespace pando::testing::templates
