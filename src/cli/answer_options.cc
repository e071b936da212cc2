#include "cli/answer_options.h"

#include <cmath>
#include <cstdio>
#include <ctime>

#include "cli/model_options.h"
#include "cli/prompt_text.h"

namespace pando::cli {
namespace {

CLI::Validator at_least_0() {
  return expect("0 or more", [](double x) { return x >= 0; });
}
CLI::Validator at_least_1() {
  return expect("at least 1", [](double x) { return x >= 1; });
}
CLI::Validator a_number() {
  return expect("a number", [](double x) { return std::isfinite(x); });
}

std::optional<LocalTime> date_of(const std::string& text) {
  LocalTime date;
  int n_read = 0;
  const bool is_date = std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &date.year, &date.month,
                                   &date.day, &n_read) == 3 &&
                       n_read == static_cast<int>(text.size()) && date.year > 0 &&
                       date.month >= 1 && date.month <= 12 && date.day >= 1 && date.day <= 31;
  if (!is_date) return std::nullopt;
  std::tm day{.tm_mday = date.day, .tm_mon = date.month - 1, .tm_year = date.year - 1900};
  timegm(&day);  // a day that the month does not have becomes one of the next
  return day.tm_mday == date.day ? std::optional(date) : std::nullopt;
}

void add_sampling_options(CLI::App& app, SamplingOptions& s, const std::string& group) {
  const auto add = [&](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->capture_default_str()->group(group);
  };
  add("--max-tokens", s.max_tokens, "Tokens of an answer at most")->check(at_least_0());
  add("--temperature", s.temperature, "0: the likeliest token")
      ->check(expect("0 or more", [](double x) { return x >= 0 && std::isfinite(x); }));
  add("--top-k", s.top_k, "Only the k likeliest tokens; 0: all")->check(at_least_0());
  add("--top-p", s.top_p, "Only the likeliest tokens that sum to p; 0: the likeliest")
      ->check(expect("0 to 1", [](double x) { return x >= 0 && x <= 1; }));
  add("--min-p", s.min_p, "Only tokens at least p times as likely as the likeliest")
      ->check(expect("0 to 1", [](double x) { return x >= 0 && x <= 1; }));
  add("--repetition-penalty", s.repetition_penalty, "Of tokens in prompt or answer; 1: off")
      ->check(expect("more than 0", [](double x) { return x > 0 && std::isfinite(x); }));
  add("--presence-penalty", s.presence_penalty, "Of tokens in the answer; 0: off")
      ->check(a_number());
  add("--frequency-penalty", s.frequency_penalty, "The same, times how often they are there")
      ->check(a_number());
  add("--n", s.n, "Answers to each question")->check(at_least_1());
  app.add_option("--stop", s.stop, "Text that ends an answer; may be given again")
      ->allow_extra_args(false)
      ->transform(unescaped())
      ->group(group);
  app.add_flag("--ignore-eos", s.ignore_eos, "Go on after the end-of-sequence token")->group(group);
}

}  // namespace

void add_prompt_options(CLI::App& app, AnswerOptions& o) {
  const std::string asking = "Asking (lines may say otherwise)";
  app.add_option("--instruction", o.instruction,
                 "Text before every context; with --chat the system message")
      ->transform(unescaped())
      ->group(asking);
  add_template_options(app,
                       "Prompt in which {instruction}, {context} and {question} are replaced by "
                       "their texts, and nothing is added",
                       [&o](std::string text) { o.prompt_template = std::move(text); })
      ->group(asking);
  app.get_option("--template-file")->group(asking);
  app.add_option("--choice", o.choices,
                 "A possible answer; may be given again, and the likeliest is the answer")
      ->allow_extra_args(false)
      ->transform(unescaped())
      ->group(asking);
  app.add_flag_callback(
         "--no-special-tokens", [&o] { o.add_special_tokens = false; },
         "Prompts without the tokens that the tokenizer puts around a text, such as the first")
      ->group(asking);
  app.add_flag("--chat", o.chat,
               "Ask each question as a conversation, by the model's chat template")
      ->group(asking);
  app.add_flag("--thinking", o.chat_options.thinking,
               "Let the model think before it answers, where its chat template can turn that on")
      ->group(asking);
  app.add_option_function<std::string>(
         "--date", [&o](const std::string& text) { o.chat_options.now = date_of(text); },
         "What chat templates take for today, as in 2026-11-25 (default: the day of the start)")
      ->check(CLI::Validator(
          [](std::string& text) {
            return date_of(text) ? std::string() : text + ", expected a date as in 2026-11-25";
          },
          "DATE", ""))
      ->group(asking);
}

void add_answer_options(CLI::App& app, AnswerOptions& o, uint64_t& seed) {
  add_prompt_options(app, o);
  const std::string sampling = "Sampling (lines may say otherwise)";
  add_sampling_options(app, o.sampling, sampling);
  app.add_option("--seed", seed, "Of lines that bring none")
      ->check(expect("0 to 2^64 - 1", [](double x) { return x >= 0 && x < 0x1p64; }))
      ->capture_default_str()
      ->group(sampling);

  const std::string reporting = "Reported with each answer (lines may say otherwise)";
  app.add_flag("--logprobs", o.sampling.logprobs, "ln p of generated tokens")->group(reporting);
  app.add_flag("--prompt-logprobs", o.prompt_logprobs, "ln p of the prompt's tokens")
      ->group(reporting);
  app.add_option("--top-logprobs", o.sampling.top_logprobs,
                 "Beside every ln p, those of so many of the likeliest tokens")
      ->check(at_least_0())
      ->group(reporting);
  app.add_flag("--logits-hash", o.logits_hash, "Hash of the logits that the answer was drawn from")
      ->group(reporting);
}

}  // namespace pando::cli
