// A request to an engine, and its answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pando/values/chat.h"
#include "pando/values/json_value.h"
#include "pando/values/result.h"
#include "pando/values/token.h"

namespace pando {

// A form that the text of an answer must have. Every finished answer has it. An answer that
// max_tokens cuts, or that a stop text or token ends, is the beginning of such a text.
// docs/extraction.md lists the supported features.
struct TextForm {
  enum class Kind {
    kJsonSchema,  // `schema` is a JSON Schema, or `text` the JSON of one; its answers have at
                  // most one space behind each colon and comma, and no other white space
    kJsonObject,  // any object of JSON
    kRegex,       // `text` is a regular expression, which the whole answer matches
    kChoices,     // one of `choices`
    kGbnf,        // `text` is a grammar as llama.cpp writes it
    kLark,        // `text` is a grammar as Lark writes it
  };
  Kind kind = Kind::kJsonObject;
  std::string text = {};
  std::vector<std::string> choices = {};
  JsonValue schema = {};  // null: `text` has it
  bool operator==(const TextForm&) const = default;
};

// A token is drawn in these steps: a form masks tokens that cannot continue a valid text;
// min_tokens masks tokens that would end the answer; logit_bias and the penalties change the
// logits, in this order; the temperature divides them; min_p, top_k and top_p, in this order, drop
// unlikely tokens of the resulting distribution.
struct SamplingOptions {
  int max_tokens = 128;    // tokens to generate at most; also bounded by the context. 0: none, with
                           // prompt_logprobs_from
  int min_tokens = 0;      // tokens before a token or text may end the answer; at most max_tokens
  double temperature = 0;  // 0: always the likeliest token
  int top_k = 0;           // sample from the k likeliest tokens; 0: from all
  double top_p = 1;        // sample from the likeliest tokens that sum to p, in [0, 1]; 0: from one
  double min_p = 0;  // sample from tokens with at least min_p times the largest probability, in [0,
                     // 1]
  std::map<Token, double> logit_bias;  // added to the logits of these tokens
  // On tokens that the prompt or the answer holds: positive logits are divided by it, others
  // multiplied.
  double repetition_penalty = 1;    // more than 0; 1: off
  double presence_penalty = 0;      // taken off the logits of tokens that the answer holds
  double frequency_penalty = 0;     // the same, times how often it holds them
  std::optional<uint64_t> seed;     // absent: from the engine's seed and the request's id
  int n = 1;                        // answers to the same prompt, which is computed once
  std::vector<std::string> stop;    // texts that end an answer; they are not part of it
  std::vector<Token> stop_tokens;   // tokens that end an answer, besides the model's own
  bool ignore_eos = false;          // go on after the model's end-of-sequence token
  bool skip_special_tokens = true;  // special tokens give no text
  bool logprobs = false;            // report ln p of every generated token
  int top_logprobs = 0;             // number of likeliest tokens to report beside every ln p
  std::optional<TextForm> form;     // of the answer's text; absent: any text
};

// Hidden states of the prompt, after the final norm, that make the embedding.
enum class Pooling {
  kNone,          // no embedding is wanted
  kLast,          // that of the last token
  kMean,          // the mean over all tokens: f32 sums in the order of positions, times 1/n
  kFirst,         // that of the first token, or of the first one behind `unpooled`
  kRows,          // rows of all tokens, one after another
  kMax,           // the maximum over all tokens, each channel by itself
  kMeanSqrtLen,   // f32 sums in the order of positions, times 1/sqrt(n)
  kWeightedMean,  // the mean, with the weight i + 1 at position i
};
// Names of the poolings that make one vector.
inline constexpr std::pair<std::string_view, Pooling> kPoolingNames[] = {
    {"last", Pooling::kLast},
    {"mean", Pooling::kMean},
    {"cls", Pooling::kFirst},
    {"max", Pooling::kMax},
    {"mean_sqrt_len", Pooling::kMeanSqrtLen},
    {"weighted_mean", Pooling::kWeightedMean}};

// Calls of the tools in ChatOptions::tools. Arguments fit the schema of their tool.
struct CallOptions {
  bool required = false;                  // the answer is one call or more
  bool parallel = true;                   // false: the answer ends after its first call
  std::vector<std::string> allowed = {};  // names of the tools that may be called; empty: all
  // True: a schema that cannot be enforced is an error. False: its arguments may be any object.
  bool strict = false;
  bool operator==(const CallOptions&) const = default;
};

// A prompt, and the options of its answers.
struct Request {
  std::string id;      // the caller's name for it; with the engine's seed it decides sampling
  std::string prompt;  // text, or
  std::vector<ChatMessage> messages;  // a conversation, used where not empty, or
  std::vector<Token> tokens;          // tokens, used where not empty
  // [tokens] the part of a pair that each belongs to, for models with token types; empty: all 0.
  std::vector<uint8_t> token_types;
  ChatOptions chat;  // how `messages` are rendered
  // True if the tokenizer's tokens around a text, such as that of its beginning, are added. Absent:
  // around `prompt`, not around `messages`, whose template writes its own.
  std::optional<bool> add_special_tokens;
  // True if the model's reasoning goes to Completion::reasoning and the rest to its text, for
  // models whose chat format marks it. Absent: true for `messages` alone. With tools in `chat`,
  // calls of them go to Completion::calls.
  std::optional<bool> separate_reasoning;
  CallOptions calling;
  // Limit of the reasoning, in tokens; the text that ends it follows. Absent: no limit.
  std::optional<int> thinking_budget;
  // A longer prompt is cut to this many tokens, at its beginning or at its end; the tokens around
  // the text stay. 0: no limit.
  int truncate_prompt_tokens = 0;
  bool truncate_at_end = false;
  SamplingOptions sampling;  // how answers are drawn
  // Report ln p of the prompt's tokens from this index on, at least 1. Cached keys and values are
  // used.
  std::optional<int> prompt_logprobs_from;
  // Report ln p of each of these tokens in place of the prompt's last token, too: it takes no
  // further row of logits. Goes with prompt_logprobs_from and max_tokens = 0.
  std::vector<Token> alternatives;
  // Compute the embedding of the prompt instead of an answer. Goes with n = 1 and without
  // prompt_logprobs_from; the rest of `sampling` is not used.
  Pooling pooling = Pooling::kNone;
  // The beginning of `prompt` that the mean leaves out. It leaves out as many tokens as this text
  // has by itself, without the tokens that the tokenizer puts after a text.
  std::string unpooled;
  int pooled_from = 0;         // first token of all poolings but kLast; computed from `unpooled`
  int cut_tokens = 0;          // tokens cut from `prompt`; set when it is encoded
  uint64_t isolation_key = 0;  // requests share prefixes only within one key; below 2^64 - 1
  // Number of first tokens that are public: requests of any isolation key whose public tokens are
  // the same share them. The last token is never public.
  size_t n_public = 0;
  // True if its keys and values stay cached for later requests. False: those that no open request
  // shares are dropped when it ends, also those that others of its isolation key left there before.
  bool cached = true;
  // Deadlines, for policies that use them (EngineOptions): seconds until the first token, and from
  // one token to the next. 0: as its class has it.
  double ttft_slo = 0, tpot_slo = 0;
  std::string deadline_class;  // of EngineOptions::deadline_classes
  // Tokens of the other prompts of its group, excluding tokens shared with this one. Their work
  // counts as its own for the deadline of the first token, and for how late the request is.
  size_t tokens_beside = 0;
  size_t tokens_behind = 0;  // of these, tokens of prompts that were asked after it
  // When it was sent: ttft_slo counts from then. Absent: when it is submitted.
  std::optional<std::chrono::steady_clock::time_point> sent;
  // Hash the logits that every answer was drawn from; for an embedding, the hidden states.
  bool logits_hash = false;
  // Tokens of each answer that another engine drew, at most `n` lists: the answer goes on behind
  // them. The same model, request and seed give the bits of an answer that was never interrupted.
  // With log-probabilities or logits_hash they are drawn again, and must be the same.
  std::vector<std::vector<Token>> begun;
  bool tells_tokens = false;  // events have their tokens
};

// A call of a tool, as an answer asks for it.
struct ToolCall {
  std::string id;         // the model's own, or nine letters and digits made of the request's id
  std::string name;       // of a tool that the request offers
  std::string arguments;  // text of a JSON object
  bool operator==(const ToolCall&) const = default;
};

// Why an answer is over: by a token or text that ends it, by max_tokens, or because the context is
// full before that.
enum class FinishReason { kStop, kLength, kContext };
const char* finish_reason_name(FinishReason reason);  // "stop", "length", "context"

// A token's likelihood under the model's own distribution: the softmax of the unmodified logits.
struct TokenLogprob {
  Token token = 0;                           // whose it is
  float logprob = 0;                         // ln p
  bool likeliest = false;                    // no token is likelier, and none of lower id as likely
  std::vector<std::pair<Token, float>> top;  // the likeliest tokens, with their ln p
};

// One finished answer.
struct Completion {
  int choice = 0;                                      // in [0, n)
  std::string text;                                    // UTF-8, without what ended it
  std::string reasoning;                               // UTF-8, with Request::separate_reasoning
  std::vector<ToolCall> calls;                         // with tools in Request::chat
  std::vector<Token> tokens;                           // generated, the ending token included
  std::vector<TokenLogprob> logprobs;                  // [tokens] with `logprobs`
  std::vector<TokenLogprob> prompt_logprobs;           // [prompt_tokens - prompt_logprobs_from]
  std::vector<TokenLogprob> alternatives;              // [alternatives] of the request
  FinishReason finish_reason = FinishReason::kLength;  // why it is over
  std::string stop_text;                               // the stop string that ended it; empty: none
  std::vector<float> embedding;  // [d_model], or with kRows [rows, d_model], where asked for
  int prompt_tokens = 0;         // length of the prompt
  int cut_tokens = 0;            // tokens cut by Request::truncate_prompt_tokens
  // Tokens of the prompt that were cached when the request arrived, or that others wanted too. No
  // bit depends on it.
  int shared_tokens = 0;
  uint64_t logits_hash = 0;             // XXH3-64 over the raw f32 logits rows, chained by seed
  std::vector<double> choice_logprobs;  // [choices] ln p of each, where the answer is one of them
};

// Something that happened to a request. Events of one request come in order, from the engine's
// thread: a listener must not block, and may call submit and cancel. Every answer's first token
// gives one, later ones where there is text, a log-probability or the end to tell.
struct Event {
  uint64_t request = 0;         // as returned by submit
  int choice = 0;               // in [0, n)
  std::string text;             // new text of the answer; whole UTF-8 characters
  std::string reasoning;        // the same of its reasoning
  std::vector<ToolCall> calls;  // new calls, each whole
  size_t n_tokens = 0;          // of the answer so far
  // With Request::tells_tokens: the answer's tokens behind those of its last event and
  // Request::begun.
  std::vector<Token> tokens = {};
  std::optional<TokenLogprob> logprob;   // of the token just drawn, with SamplingOptions::logprobs
  std::optional<Completion> completion;  // the answer is finished
  std::optional<Error> error;            // the request is over; no further events
};

}  // namespace pando
