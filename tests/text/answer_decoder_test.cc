// Answers of gpt-oss, divided by their channels.
#include "text/answer_decoder.h"

#include "text/byte_tokenizer.h"
#include "text/channel_tokenizer.h"

namespace pando::testing {
namespace {

const std::string kPrompt = "<|start|>user<|message|>Q?<|end|><|start|>assistant";

Request conversation() {
  Request request;
  request.messages.push_back({"user", "Q?"});
  return request;
}

class ChannelsOfAnswers : public ::testing::Test {
 protected:
  void SetUp() override {
    tokenizer_ = load_json(channel_tokenizer_json());
    ASSERT_NE(tokenizer_, nullptr);
    format_.channels = find_channel_tokens(*tokenizer_);
    ASSERT_TRUE(format_.channels);
  }

  std::vector<Token> tokens(const std::string& text) const {
    return tokenizer_->encode(text, /*add_bos=*/false).value();
  }
  AnswerDecoder decoder(const Request& request, const std::string& prompt) const {
    return {*tokenizer_, format_, request, tokens(prompt)};
  }

  // "content|reasoning".
  std::string divided(const std::string& answer, const Request& request = conversation(),
                      const std::string& prompt = kPrompt) const {
    AnswerDecoder decoder = this->decoder(request, prompt);
    AnswerText all;
    const auto take = [&](const AnswerText& text) {
      all.content += text.content;
      all.reasoning += text.reasoning;
    };
    for (const Token token : tokens(answer)) take(decoder.push(token));
    take(decoder.finish());
    return all.content + "|" + all.reasoning;
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  AnswerFormat format_;
};

TEST_F(ChannelsOfAnswers, AnalysisIsReasoning) {
  EXPECT_EQ(divided("<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant"
                    "<|channel|>final<|message|>4."),
            "4.|Easy.");
  EXPECT_EQ(divided("<|channel|>final<|message|>4."), "4.|");
  EXPECT_EQ(divided("<|channel|>analysis<|message|>Hm"), "|Hm");
}

TEST_F(ChannelsOfAnswers, TextComesWithItsToken) {
  AnswerDecoder decoder = this->decoder(conversation(), kPrompt);
  const auto push = [&](const std::string& text) {
    AnswerText all;
    for (const Token token : tokens(text)) {
      const AnswerText more = decoder.push(token);
      all.content += more.content;
      all.reasoning += more.reasoning;
    }
    return all.content + "|" + all.reasoning;
  };
  EXPECT_FALSE(decoder.in_content());
  EXPECT_EQ(push("<|channel|>analysis<|message|>"), "|");
  EXPECT_EQ(push("a"), "|a");
  EXPECT_FALSE(decoder.in_content());
  EXPECT_EQ(push("<|end|><|start|>assistant<|channel|>final<|message|>"), "|");
  EXPECT_TRUE(decoder.in_content());
  EXPECT_EQ(push("b"), "b|");
}

// Also if the token that ends a message cuts off a character.
TEST_F(ChannelsOfAnswers, CharactersComeWhole) {
  AnswerDecoder decoder = this->decoder(conversation(), kPrompt);
  for (const Token token : tokens("<|channel|>analysis<|message|>")) decoder.push(token);
  EXPECT_EQ(decoder.push(0xC3).reasoning, "");
  EXPECT_EQ(decoder.push(0xA9).reasoning, "é");
  EXPECT_EQ(decoder.push(0xC3).reasoning, "");
  EXPECT_EQ(decoder.push(format_.channels->end).reasoning, "\uFFFD");
}

TEST_F(ChannelsOfAnswers, MessagesOfOneKindArePartedByAnEmptyLine) {
  EXPECT_EQ(divided("<|channel|>analysis<|message|>A<|end|><|start|>assistant"
                    "<|channel|>commentary<|message|>B<|end|><|start|>assistant"
                    "<|channel|>analysis<|message|>C<|end|><|start|>assistant"
                    "<|channel|>final<|message|>D"),
            "B\n\nD|A\n\nC");
}

TEST_F(ChannelsOfAnswers, CallsOfToolsAreContentThatNamesTheTool) {
  EXPECT_EQ(divided("<|channel|>analysis<|message|>A<|end|><|start|>assistant"
                    "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\":1}"),
            "to=functions.f {\"a\":1}|A");
  // As templates write them.
  EXPECT_EQ(divided(" to=functions.f<|channel|>commentary json<|message|>{}"),
            "to=functions.f {}|");
  // Tools that the model uses while it thinks.
  EXPECT_EQ(divided("<|channel|>analysis to=python code<|message|>1+1"), "|1+1");
}

TEST_F(ChannelsOfAnswers, NoTextIsLostOfAnswersThatDoNotKeepToTheFormat) {
  EXPECT_EQ(divided("Hello"), "Hello|");
  EXPECT_EQ(divided("<|message|>Hello"), "Hello|");
  EXPECT_EQ(divided("<|channel|>final<|message|>A<|end|>B"), "AB|");
  EXPECT_EQ(divided("<|channel|>anal"), "|");  // a head that was cut
  EXPECT_EQ(divided("Hello", conversation(), "no message at all"), "Hello|");
}

TEST_F(ChannelsOfAnswers, AnAnswerMayGoOnWithAMessage) {
  const std::string begun = "<|start|>assistant<|channel|>final<|message|>Half of";
  EXPECT_EQ(divided(" it", conversation(), begun), " it|");
  const std::string thinking = "<|start|>assistant<|channel|>analysis<|message|>Hm";
  EXPECT_EQ(divided(", yes<|end|><|start|>assistant<|channel|>final<|message|>A", conversation(),
                    thinking),
            "A|, yes");
}

TEST_F(ChannelsOfAnswers, WhereNothingIsDivided) {
  const std::string answer = "<|channel|>final<|message|>4.";
  Request plain;
  EXPECT_EQ(divided(answer, plain), "final4.|");
  plain.separate_reasoning = true;
  EXPECT_EQ(divided(answer, plain), "4.|");
  Request request = conversation();
  request.separate_reasoning = false;
  EXPECT_EQ(divided(answer, request), "final4.|");
  request = conversation();
  request.sampling.skip_special_tokens = false;
  EXPECT_EQ(divided(answer, request), answer + "|");
}

// A form applies to the text of messages and to nothing else.
TEST_F(ChannelsOfAnswers, OfAForm) {
  Request request = conversation();
  request.sampling.form = TextForm{};
  EXPECT_EQ(divided("<|channel|>commentary to=functions.f<|message|>{}", request), "{}|");
  EXPECT_EQ(divided("Hello", request), "|");
  EXPECT_EQ(divided("<|channel|>final<|message|>{}<|end|>B", request), "{}|");
}

TEST_F(ChannelsOfAnswers, TheOpeningOfContent) {
  EXPECT_EQ(opening_of_content(*tokenizer_, kPrompt), "<|channel|>final<|message|>");
  EXPECT_EQ(opening_of_content(*tokenizer_, kPrompt + "<|channel|>final<|message|>"), "");
  const TempDirectory directory;
  ASSERT_TRUE(write_byte_tokenizer(directory.path()).ok());
  const auto bytes = load_tokenizer(directory.path());
  EXPECT_FALSE(find_channel_tokens(*bytes));
  EXPECT_EQ(opening_of_content(*bytes, kPrompt), "");
}

}  // namespace
}  // namespace pando::testing
