#include "text/answer_decoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/errors.h"

namespace pando {
namespace {

constexpr std::string_view kReasoningChannel = "analysis", kToTool = "to=";

std::optional<Token> find_token(const Tokenizer& tokenizer, std::string_view text) {
  const Result<std::vector<Token>> tokens = tokenizer.encode(text, /*add_bos=*/false);
  if (!tokens || tokens->size() != 1) return std::nullopt;
  return tokens->front();
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// The word of `text` that begins at or behind `at`, spaces before it left out.
std::string_view word_at(std::string_view text, size_t at) {
  const auto* const begin = std::find_if_not(text.begin() + at, text.end(), is_space);
  return {begin, std::find_if(begin, text.end(), is_space)};
}

// "to=functions.weather"; empty if there is none.
std::string_view addressee(std::string_view head) {
  for (size_t at = head.find(kToTool); at != head.npos; at = head.find(kToTool, at + 1))
    if (at == 0 || is_space(head[at - 1])) return word_at(head, at);
  return {};
}

}  // namespace

std::optional<ChannelTokens> find_channel_tokens(const Tokenizer& tokenizer) {
  const auto start = find_token(tokenizer, "<|start|>");
  const auto channel = find_token(tokenizer, "<|channel|>");
  const auto message = find_token(tokenizer, "<|message|>");
  const auto end = find_token(tokenizer, "<|end|>");
  if (!start || !channel || !message || !end) return std::nullopt;
  return ChannelTokens{.start = *start,
                       .channel = *channel,
                       .message = *message,
                       .end = *end,
                       .returns = find_token(tokenizer, "<|return|>"),
                       .calls = find_token(tokenizer, "<|call|>"),
                       .constrain = find_token(tokenizer, "<|constrain|>")};
}

std::optional<Token> find_opening(const Tokenizer& tokenizer, const calls::CallFormat& format) {
  return find_token(tokenizer, calls::trimmed(format.reasoning_begin));
}

std::string_view opening_of_content(const Tokenizer& tokenizer, std::string_view prompt) {
  const bool begins = prompt.ends_with("<|start|>assistant") && find_channel_tokens(tokenizer);
  return begins ? "<|channel|>final<|message|>" : "";
}

bool divides_answer(const Request& request) {
  return request.separate_reasoning.value_or(!request.messages.empty()) &&
         request.sampling.skip_special_tokens;
}

bool offers_tools(const Request& request) {
  return !request.chat.tools.is_null() && !request.sampling.form;
}

Result<calls::CallFormPtr> call_form_of(const AnswerFormat& format, const Request& request) {
  const CallOptions& options = request.calling;
  const bool must_hold = options.required || options.strict;
  const bool is_strict = options.strict && offers_tools(request);
  if ((options.required || is_strict) && !divides_answer(request))
    return blame(
        options.required ? "tool_choice" : "tools",
        invalid_argument("{}, but calls are not taken out of the text, expected "
                         "separate_reasoning and skip_special_tokens to be true",
                         options.required ? "a call is required" : "a function is strict"));
  if (!must_hold && (!divides_answer(request) || !format.calls)) return calls::CallFormPtr();
  if (format.call_forms != nullptr) return format.call_forms->get(request);
  if (!options.required && (!options.strict || request.chat.tools.is_null()))
    return calls::CallFormPtr();
  return blame("tools", unsupported("the model has no chat template that is read, so calls of "
                                    "tools cannot be enforced"));
}

AnswerDecoder::AnswerDecoder(const Tokenizer& tokenizer, const AnswerFormat& format,
                             const Request& request, std::span<const Token> prompt,
                             calls::CallFormPtr calls)
    : tokenizer_(tokenizer),
      decoder_(tokenizer, /*first_in_text=*/false, request.sampling.skip_special_tokens),
      calls_(std::move(calls)),
      is_strict_(request.sampling.form.has_value()) {
  if (divides_answer(request)) {
    may_call_ =
        !request.chat.tools.is_null() &&
        (!is_strict_ || (!format.channels && calls_ != nullptr && calls_->masks != nullptr));
    if (format.channels && !may_call_)
      channels_ = *format.channels;
    else if (format.calls && (may_call_ || !format.calls->reasoning_end.empty()))
      parse(format, request, prompt);
  }
  decoder_.follow(prompt);
  if (channels_) begin_in_channels(prompt);
}

// The parser sees special tokens too, because marks are made of them.
void AnswerDecoder::parse(const AnswerFormat& format, const Request& request,
                          std::span<const Token> prompt) {
  constexpr size_t kMostTokens = 64;  // of a prompt's end that opens an answer
  decoder_ = StreamDecoder(tokenizer_, /*first_in_text=*/false, /*skip_special=*/false);
  if (calls_ == nullptr || !may_call_) {
    calls::CallForm form;
    if (may_call_) form.tools = calls::OfferedTools::of(request.chat.tools);
    form.tools.keep(request.calling.allowed);
    calls_ = std::make_shared<const calls::CallForm>(std::move(form));
  }
  std::string end;
  for (const Token token : prompt.last(std::min(prompt.size(), kMostTokens)))
    end += tokenizer_.token_bytes(token, /*skip_special=*/false);
  parser_.emplace(*format.calls, calls_->tools, end);
  const std::string_view reasoning_end = calls::trimmed(format.calls->reasoning_end);
  if (!reasoning_end.empty() && !parser_->in_reasoning() &&
      !calls::trimmed(end).ends_with(reasoning_end))
    opening_ = format.opening;
}

AnswerText AnswerDecoder::parted(std::vector<calls::AnswerEvent> events) {
  using Kind = calls::AnswerEvent::Kind;
  AnswerText out;
  for (calls::AnswerEvent& event : events) switch (event.kind) {
      case Kind::kText:
        out.content += event.bytes;
        break;
      case Kind::kReasoning:
        out.reasoning += event.bytes;
        break;
      case Kind::kCallBegin:
        out.calls.push_back({.id = std::move(event.id), .name = std::move(event.bytes)});
        break;
      case Kind::kArguments:
        out.calls.back().arguments += event.bytes;
        break;
      case Kind::kCallEnd:
        break;
    }
  return out;
}

void AnswerDecoder::begin_in_channels(std::span<const Token> prompt) {
  // The answer goes on in the prompt's last message.
  const auto last = std::find(prompt.rbegin(), prompt.rend(), channels_->start);
  if (last == prompt.rend()) return;
  AnswerText ignored;
  for (const Token token : prompt.last(static_cast<size_t>(last - prompt.rbegin()) + 1))
    if (is_marker(token))
      follow(token, ignored);
    else if (place_ == Place::kHead)
      head_ += tokenizer_.token_bytes(token, /*skip_special=*/true);
    else
      is_new_ = false;
  own_head_ = head_.size();
}

std::optional<calls::BegunCall> AnswerDecoder::begun_call() const {
  const std::optional<size_t> n_waiting = decoder_.n_waiting();
  if (!n_waiting) return std::nullopt;
  std::optional<calls::BegunCall> begun = parser_->begun_call();
  if (begun) begun->n_bytes += *n_waiting;
  return begun;
}

AnswerText AnswerDecoder::push(Token token) {
  AnswerText out;
  opening_.reset();
  if (parser_) return parted(parser_->feed(decoder_.push(token)));
  if (!channels_ || !is_marker(token)) {
    add(decoder_.push(token), out);
  } else {
    add(decoder_.finish(), out);
    follow(token, out);
  }
  return out;
}

AnswerText AnswerDecoder::finish() {
  AnswerText out;
  if (parser_) {
    std::vector<calls::AnswerEvent> events = parser_->feed(decoder_.finish());
    for (calls::AnswerEvent& event : parser_->finish()) events.push_back(std::move(event));
    return parted(std::move(events));
  }
  add(decoder_.finish(), out);
  // A head that nothing marks as one is an answer of a model that does not keep to the format.
  if (place_ == Place::kHead && !channel_ && !is_strict_) out.content += head_.substr(own_head_);
  return out;
}

bool AnswerDecoder::is_marker(Token token) const {
  return token == channels_->start || token == channels_->channel || token == channels_->message ||
         token == channels_->end || token == channels_->returns || token == channels_->calls ||
         token == channels_->constrain;
}

void AnswerDecoder::follow(Token marker, AnswerText& out) {
  if (marker == channels_->start) {
    begin_head();
  } else if (marker == channels_->channel) {
    if (place_ != Place::kHead) begin_head();
    head_ += ' ';
    channel_ = head_.size();
  } else if (marker == channels_->message) {
    begin_message(out);
  } else if (marker == channels_->constrain) {
    if (place_ == Place::kHead) head_ += ' ';
  } else {
    place_ = Place::kBetween;
  }
}

void AnswerDecoder::begin_head() {
  place_ = Place::kHead;
  head_.clear();
  own_head_ = 0;
  channel_.reset();
}

void AnswerDecoder::begin_message(AnswerText& out) {
  const bool has_head = place_ == Place::kHead;
  const bool is_reasoning = has_head && channel_ && word_at(head_, *channel_) == kReasoningChannel;
  place_ = is_reasoning ? Place::kReasoning : Place::kContent;
  is_new_ = true;
  const std::string_view tool = has_head ? addressee(head_) : std::string_view();
  if (!is_reasoning && !tool.empty() && !is_strict_) write(std::string(tool) + ' ', out);
}

void AnswerDecoder::add(const std::string& text, AnswerText& out) {
  if (text.empty()) return;
  switch (place_) {
    case Place::kHead:
      head_ += text;
      break;
    case Place::kBetween:
      if (is_strict_) break;
      out.content += text;
      has_text_[1] = true;
      break;
    case Place::kReasoning:
    case Place::kContent:
      write(text, out);
  }
}

void AnswerDecoder::write(const std::string& text, AnswerText& out) {
  const bool is_content = place_ == Place::kContent;
  std::string& to = is_content ? out.content : out.reasoning;
  bool& has_text = has_text_[is_content ? 1 : 0];
  if (is_new_ && has_text) to += "\n\n";
  is_new_ = false;
  has_text = true;
  to += text;
}

}  // namespace pando
