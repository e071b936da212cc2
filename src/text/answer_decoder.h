// The text of an answer, divided as the model's chat format divides it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pando/values/request.h"
#include "text/calls/call_forms.h"
#include "text/calls/call_parser.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"

namespace pando {

// The tokens by which gpt-oss ("harmony") divides an answer into messages:
//   <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...
struct ChannelTokens {
  Token start, channel, message, end;
  std::optional<Token> returns, calls, constrain;  // <|return|>, <|call|>, <|constrain|>
};

// Nothing if the tokenizer lacks one of the first four.
std::optional<ChannelTokens> find_channel_tokens(const Tokenizer& tokenizer);

// Text to append to a prompt so that the answer begins with content; empty if none is needed.
std::string_view opening_of_content(const Tokenizer& tokenizer, std::string_view prompt);

// True if the answer is to be divided into reasoning and content, given a tokenizer with the tokens
// for it: as separate_reasoning says, by default for conversations. False if special tokens give
// text.
bool divides_answer(const Request& request);

// True if the request offers tools and its answer has no form.
bool offers_tools(const Request& request);

// New text of an answer, and new calls. Their ids are those that the model wrote, or empty.
struct AnswerText {
  std::string content, reasoning;
  std::vector<ToolCall> calls;
};

// How a model's answers are written; found once for a model.
struct AnswerFormat {
  std::optional<ChannelTokens> channels;
  std::optional<calls::CallFormat> calls;             // of its chat template; absent: there is none
  std::shared_ptr<calls::CallForms> call_forms = {};  // null: calls are not enforced
  std::optional<Token> opening = {};                  // find_opening of `calls`
};

// The token that opens reasoning; nothing if no single token does.
std::optional<Token> find_opening(const Tokenizer& tokenizer, const calls::CallFormat& format);

// The tools of a request, and how its calls are enforced; null if it offers none, or if its calls
// are text. Errors: those of CallForms::get; kUnsupported if calls cannot be enforced and must be.
Result<calls::CallFormPtr> call_form_of(const AnswerFormat& format, const Request& request);

// Text of an answer's tokens as they come. One thread.
//
// A model's marks of reasoning and calls part the text (calls/call_parser.h). In the channels of
// gpt-oss, without tools, its tokens do. There, messages in the channel "analysis" are reasoning,
// all others are content; their heads and the tokens around them give no text. A message to a tool
// begins with "to=" and the tool's name. An empty line parts messages of one kind. Text outside of
// all messages is content.
class AnswerDecoder {
 public:
  // prompt: the tokens before the answer. calls: of the request; null: it is made here. Borrows
  // tokenizer and format.
  AnswerDecoder(const Tokenizer& tokenizer, const AnswerFormat& format, const Request& request,
                std::span<const Token> prompt, calls::CallFormPtr calls = nullptr);

  AnswerText push(Token token);
  // Says that the next token ends a call.
  void expect_end() {
    if (parser_) parser_->expect_end();
  }
  // Returns the text that was held back, at the end of an answer.
  AnswerText finish();

  // True if the next token belongs to the reasoning.
  bool in_reasoning() const {
    return parser_ ? parser_->in_reasoning() : place_ == Place::kReasoning;
  }
  // True if the next text is content. The form of a request applies to content alone.
  bool in_content() const { return parser_ ? !parser_->in_reasoning() : place_ == Place::kContent; }
  // The token by which the answer may still open its reasoning. Only at the answer's beginning, and
  // only if the prompt neither opens nor closes reasoning. A form begins after the reasoning.
  std::optional<Token> opening_of_reasoning() const { return opening_; }
  // True if calls are taken out of the text. If the answer has a form, a call is enforced whole.
  bool may_call() const { return parser_ && may_call_; }
  // Text at the prompt's end that may begin a call of the answer.
  std::string_view begun_by_prompt() const {
    return parser_ ? parser_->held_of_prompt() : std::string_view();
  }
  // True if the text so far may end inside a call.
  bool waits_for_call() const { return parser_ && parser_->waits_for_call(); }
  // The call at the end of the text so far, if it is known to be one. For waits_for_call().
  std::optional<calls::BegunCall> begun_call() const;

 private:
  // By the format's `calls`.
  void parse(const AnswerFormat& format, const Request& request, std::span<const Token> prompt);
  AnswerText parted(std::vector<calls::AnswerEvent> events);
  void begin_in_channels(std::span<const Token> prompt);

  enum class Place { kHead, kReasoning, kContent, kBetween };  // of messages

  bool is_marker(Token token) const;
  void follow(Token marker, AnswerText& out);
  void begin_head();
  void begin_message(AnswerText& out);
  void add(const std::string& text, AnswerText& out);
  void write(const std::string& text, AnswerText& out);

  const Tokenizer& tokenizer_;
  StreamDecoder decoder_;
  calls::CallFormPtr calls_;  // of parser_
  std::optional<Token> opening_;
  std::optional<calls::CallParser> parser_;  // of the model's marks
  std::optional<ChannelTokens> channels_;
  // Only texts of messages are content, because the answer has a form.
  bool is_strict_;
  bool may_call_ = false;
  Place place_ = Place::kContent;
  std::string head_;                   // of the message that begins
  size_t own_head_ = 0;                // the answer's own part of it begins here
  std::optional<size_t> channel_;      // the channel's name begins here in head_
  bool is_new_ = false;                // no text of the message was written yet
  std::array<bool, 2> has_text_ = {};  // reasoning, content
};

}  // namespace pando
