#include "cli/unused_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

namespace pando::cli {
namespace {

using Form = BatchLine::Form;
using Names = std::span<const std::string_view>;

constexpr std::string_view kAskQuestions[] = {"--instruction", "--template", "--template-file"};
constexpr std::string_view kMakePrompts[] = {"--instruction",  "--template", "--template-file",
                                             "--chat",         "--thinking", "--date",
                                             "--chat-template"};
constexpr std::string_view kMakeConversations[] = {"--chat", "--thinking", "--date",
                                                   "--chat-template"};
constexpr std::string_view kOfConversations[] = {"--date", "--chat-template"};
constexpr std::string_view kOfText[] = {"--no-special-tokens"};
constexpr std::string_view kNotOfBodies[] = {
    "--instruction", "--template",          "--template-file",  "--choice",
    "--with",        "--no-special-tokens", "--prompt-logprobs"};
constexpr std::string_view kOfDraws[] = {"--temperature",
                                         "--seed",
                                         "--max-tokens",
                                         "--ignore-eos",
                                         "--top-k",
                                         "--top-p",
                                         "--min-p",
                                         "--min-tokens",
                                         "--stop",
                                         "--repetition-penalty",
                                         "--presence-penalty",
                                         "--frequency-penalty"};
constexpr std::string_view kOfChance[] = {"--seed", "--top-k", "--top-p", "--min-p"};
constexpr std::string_view kOfNumber[] = {"--n"};
constexpr std::string_view kOfEmbedded[] = {"--instruction", "--input-type", "--template",
                                            "--template-file"};

// A kind of lines, and options that have no effect on it.
struct Unused {
  bool holds;
  std::string_view lines;
  Names names;
};

// --chat is not among those of lines with 'messages': they are what it asks for.
std::vector<Unused> unused_of(const BatchLine& line, const RunOptions& options, bool draws) {
  const auto is_own = [&](Form form) { return !line.is_openai && line.form == form; };
  if (options.batch.task == BatchTask::kEmbed)
    return {{line.form == Form::kTokens,
             "lines with 'tokens', because the model gets 'tokens' unchanged", kOfEmbedded}};
  if (options.batch.task != BatchTask::kAnswer) return {};
  return {
      {is_own(Form::kPrompt),
       "lines with 'prompt', because the model gets 'prompt' unchanged (hint: use 'messages' for a "
       "conversation)",
       kMakePrompts},
      {is_own(Form::kTokens), "lines with 'tokens', because the model gets 'tokens' unchanged",
       kMakePrompts},
      {is_own(Form::kTokens), "lines with 'tokens', because the model gets 'tokens' unchanged",
       kOfText},
      {is_own(Form::kMessages),
       "lines with 'messages' (hint: an instruction is a message with the role 'system')",
       kAskQuestions},
      {line.is_openai, "lines of an OpenAI batch (hint: put the setting into the line's 'body')",
       kNotOfBodies},
      {line.is_openai && line.form != Form::kMessages,
       "lines of an OpenAI batch without 'messages' (hint: use the url /v1/chat/completions)",
       kMakeConversations},
      {is_own(Form::kQuestions) && !options.batch.defaults.chat, "questions without --chat",
       kOfConversations},
      {line.picks, "questions with choices, because the answer is always the likeliest choice",
       kOfDraws},
      {line.is_greedy, "answers at temperature 0, because each token is the likeliest one",
       kOfChance},
      {draws && line.is_greedy && options.batch.defaults.sampling.n > 1,
       "answers at temperature 0 except to repeat them, because each token is the likeliest one "
       "(hint: --temperature)",
       kOfNumber},
  };
}

}  // namespace

std::vector<std::string> UnusedOptions::of(const BatchLine& line) {
  std::vector<std::string> messages;
  for (const Unused& unused : unused_of(line, options_, draws_)) {
    if (!unused.holds) continue;
    std::vector<std::string_view> found;
    for (const std::string_view name : unused.names)
      if (options_.given(std::string(name)) && said_.emplace(unused.lines, name).second)
        found.push_back(name);
    if (!found.empty())
      messages.push_back(fmt::format("{} {}: {} {} no effect on {}", line.place, line.number,
                                     fmt::join(found, ", "), found.size() == 1 ? "has" : "have",
                                     unused.lines));
  }
  return messages;
}

}  // namespace pando::cli
