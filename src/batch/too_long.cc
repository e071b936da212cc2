#include "batch/too_long.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "api/prompt.h"

namespace pando {
namespace {

constexpr int kLeastRoom = 16;          // tokens: less of a context says nothing
constexpr size_t kMostTokenBytes = 32;  // as long as it matters here
constexpr int kMargin = 8;  // tokens: at a cut, other ones may come out than in the whole text

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// The nearest place at or below `at` that is not inside a character, and where one is near, behind
// a space.
size_t good_place(std::string_view text, size_t at) {
  constexpr size_t kNear = 64;
  for (size_t i = at; i > 0 && at - i < kNear; --i)
    if (is_space(text[i - 1])) return i;
  while (at > 0 && at < text.size() && (text[at] & 0xc0) == 0x80) --at;
  return at;
}

// The nearest place at or above `at`, by the same rule.
size_t next_place(std::string_view text, size_t at) {
  constexpr size_t kNear = 64;
  for (size_t i = at; i < text.size() && i - at < kNear; ++i)
    if (i > 0 && is_space(text[i - 1])) return i;
  while (at < text.size() && (text[at] & 0xc0) == 0x80) ++at;
  return at;
}

class Fitter {
 public:
  Fitter(const Model& model, int context) : model_(model), context_(context) {}

  // Returns the length of a request's prompt, in tokens; 0 if it cannot be encoded: the engine says
  // why.
  int length(const Request& request) const {
    const auto tokens = encode_prompt(model_, request);
    return tokens ? static_cast<int>(tokens->size()) : 0;
  }

  int length(std::string_view text) const {
    const auto tokens = model_.encode(text, /*add_bos=*/false);
    return tokens ? static_cast<int>(tokens->size()) : 0;
  }

  // Tokens that a prompt may have: the rest is for the answer.
  int room(const ask::Question& question) const {
    int answer = question.choices.empty() ? question.request.sampling.max_tokens : 0;
    for (const std::string& choice : question.choices)
      answer = std::max(answer, length(choice) + 1);
    return context_ - std::min(answer, context_ / 2);
  }

  // A text without its middle, of at most n tokens.
  std::string without_middle(const std::string& text, int n) const {
    const int n_tokens = length(text);
    std::string kept = text;
    for (double share = 1; n > 0 && length(kept) > n; share *= 0.98) {
      const double bytes = share * static_cast<double>(text.size()) * n / n_tokens;
      const size_t half = static_cast<size_t>(bytes / 2);
      kept = text.substr(0, good_place(text, half)) +
             text.substr(next_place(text, text.size() - half));
    }
    return kept;
  }

  // The beginning of a text, of at most n tokens: its length in bytes, at least 1.
  size_t beginning(std::string_view text, int n) const {
    size_t bytes = std::min(text.size(), static_cast<size_t>(n) * kMostTokenBytes);
    if (bytes < text.size()) bytes = std::max<size_t>(1, good_place(text, bytes));
    for (int n_tokens = length(text.substr(0, bytes)); n_tokens > n && bytes > 1;
         n_tokens = length(text.substr(0, bytes)))
      bytes = std::max<size_t>(
          1, good_place(text, bytes * static_cast<size_t>(n) / static_cast<size_t>(n_tokens + 1)));
    if (bytes == text.size()) return bytes;
    // Rather between paragraphs, lines or sentences, where that costs no more than a quarter.
    for (const char* end : {"\n\n", "\n", ". "}) {
      const size_t found = text.substr(0, bytes).rfind(end);
      if (found != std::string_view::npos && found > bytes - bytes / 4)
        return found + std::string_view(end).size();
    }
    return bytes;
  }

  // Returns the tokens that are left for the context of a question, which may be cut.
  int room_for_context(const ask::Job& job) const {
    int most = context_;
    for (const ask::Question& question : job.questions) {
      const Request without = question_request(job.options, "", question.text);
      most = std::min(most, room(question) - length(without) - kMargin);
    }
    return most;
  }

 private:
  const Model& model_;
  int context_;
};

void fit_context(const Fitter& fitter, TooLong policy, ask::Job& job) {
  const int room = fitter.room_for_context(job), n_tokens = fitter.length(job.contexts[0]);
  if (n_tokens <= room || room < kLeastRoom) return;
  if (policy == TooLong::kTruncateMiddle) {
    job.contexts[0] = fitter.without_middle(job.contexts[0], room);
    job.cut = fmt::format("the context of {} tokens was cut to {}; its middle was removed",
                          n_tokens, fitter.length(job.contexts[0]));
    return;
  }
  const std::string whole = std::move(job.contexts[0]);
  job.contexts.clear();
  for (std::string_view rest = whole; !rest.empty();) {
    const size_t n = fitter.beginning(rest, room);
    job.contexts.emplace_back(rest.substr(0, n));
    rest.remove_prefix(n);
  }
  const size_t n_questions = job.questions.size();
  for (size_t part = 1; part < job.contexts.size(); ++part)
    for (size_t i = 0; i < n_questions; ++i) {
      ask::Question question = job.questions[i];
      question.part = part;
      question.index = job.questions.size();
      question.request.id += fmt::format("/{}", part);
      job.questions.push_back(std::move(question));
    }
  job.cut = fmt::format("the context of {} tokens was split into {} parts", n_tokens,
                        job.contexts.size());
}

void fit_prompt(const Fitter& fitter, ask::Question& question) {
  Request& request = question.request;
  const int room = fitter.room(question), n_tokens = fitter.length(request);
  if (n_tokens <= room) return;
  const int excess = n_tokens - room;
  if (!request.tokens.empty()) {
    const auto middle = request.tokens.begin() + room / 2;
    request.tokens.erase(middle, middle + excess);
  } else {
    std::string* text = &request.prompt;
    JsonValue* fields = nullptr;
    for (ChatMessage& message : request.messages) {
      if (text != &request.prompt && message.content.size() <= text->size()) continue;
      text = &message.content;
      fields = &message.fields;
    }
    const int left = fitter.length(*text) - excess - kMargin;
    if (left < kLeastRoom) return;
    *text = fitter.without_middle(*text, left);
    if (fields != nullptr && fields->as_object() != nullptr) {
      JsonValue::Object others = *fields->as_object();  // without the parts of the whole text
      std::erase_if(others, [](const auto& member) { return member.first == "content"; });
      *fields = JsonValue::object(std::move(others));
    }
  }
  question.cut = fmt::format("the prompt of {} tokens was cut to {}; its middle was removed",
                             n_tokens, fitter.length(request));
}

}  // namespace

std::string cut_message(int n_prompt, int n_cut) {
  return fmt::format("the text of {} tokens was cut to {}", n_prompt + n_cut, n_prompt);
}

void fit(const Model& model, int context, TooLong policy, ask::Job& job) {
  if (policy == TooLong::kError || policy == TooLong::kSkip) return;
  const Fitter fitter(model, context);
  if (!job.contexts.empty()) return fit_context(fitter, policy, job);
  if (policy == TooLong::kSplit) return;
  for (ask::Question& question : job.questions) {
    if (question.classified) {  // the classifier cuts its texts itself
      int& most = question.classified->options.max_tokens;
      most = std::min(most, context);
      continue;
    }
    fit_prompt(fitter, question);
    if (!question.cut.empty()) job.cut = question.cut;
  }
}

}  // namespace pando
