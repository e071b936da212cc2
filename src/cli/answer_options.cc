#include "cli/answer_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <type_traits>

#include "cli/model_options.h"
#include "cli/prompt_text.h"

namespace pando::cli {
namespace {

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

// Refuses values that the option does not allow. Texts that are no T are left to its type.
template <class T>
CLI::Validator within(const RequestOption& option) {
  return CLI::Validator(
      [&option](const std::string& text) {
        T value{};
        const bool is_wrong = CLI::detail::lexical_cast(text, value) && !option.holds(value);
        return is_wrong ? fmt::format("{}, expected {}", text, option.expected) : std::string();
      },
      "", "");
}

// Does nothing for a type that no option of the command line has.
template <class T>
void add_option(CLI::App& app, const RequestOption& option, T& value, const std::string& group) {
  const std::string name = "--" + dashed(option);
  if constexpr (std::is_same_v<T, bool>)
    app.add_flag(name, value, option.help)->group(group);
  else if constexpr (std::is_arithmetic_v<T>)
    app.add_option(name, value, option.help)
        ->capture_default_str()
        ->check(within<T>(option))
        ->group(group);
  else if constexpr (std::is_same_v<T, std::vector<std::string>>)
    app.add_option(name, value, option.help)
        ->allow_extra_args(false)
        ->transform(unescaped())
        ->check(some_text())
        ->group(group);
}

void add_options(CLI::App& app, SamplingOptions& sampling, bool reports, const std::string& group) {
  for (const RequestOption& option : request_options())
    if (option.stands_in(kInCommand) && option.reports == reports)
      std::visit([&](auto member) { add_option(app, option, sampling.*member, group); },
                 option.member);
}

}  // namespace

std::string dashed(const RequestOption& option) {
  std::string name = option.name;
  std::ranges::replace(name, '_', '-');
  return name;
}

void add_prompt_options(CLI::App& app, AnswerOptions& o) {
  const std::string asking = "Asking (input lines can override)";
  app.add_option("--instruction", o.instruction,
                 "Text put before every context; with --chat the system message")
      ->transform(unescaped())
      ->group(asking);
  add_template_options(app,
                       "Prompt template: {instruction}, {context} and {question} are replaced by "
                       "their texts, and nothing is added",
                       [&o](std::string text) { o.prompt_template = std::move(text); })
      ->group(asking);
  app.get_option("--template-file")->group(asking);
  app.add_option("--choice", o.choices,
                 "A possible answer; may be repeated. The likeliest one is the answer")
      ->allow_extra_args(false)
      ->transform(unescaped())
      ->check(some_text())
      ->group(asking);
  add_file_option(app, "--schema",
                  "File with a JSON Schema. Every answer is JSON that fits it, unless --max-tokens "
                  "cuts the answer",
                  [&o](std::string schema, const std::string&) {
                    o.sampling.form = {.kind = TextForm::Kind::kJsonSchema,
                                       .text = std::move(schema)};
                  })
      ->excludes(app.get_option("--choice"))
      ->group(asking);
  app.add_flag_callback(
         "--no-special-tokens", [&o] { o.add_special_tokens = false; },
         "Do not add the tokens that the tokenizer puts around a text, such as the first")
      ->group(asking);
  app.add_flag("--chat", o.chat,
               "Ask each question as a conversation, with the model's chat template")
      ->group(asking);
  app.add_flag("--thinking", o.chat_options.thinking,
               "Let the model think before it answers, if its chat template supports that")
      ->group(asking);
  app.add_option_function<std::string>(
         "--date", [&o](const std::string& text) { o.chat_options.now = date_of(text); },
         "Today's date for chat templates, such as 2026-11-25 (default: the day of the start)")
      ->check(CLI::Validator(
          [](std::string& text) {
            return date_of(text) ? std::string() : text + ", expected a date such as 2026-11-25";
          },
          "DATE", ""))
      ->group(asking);
}

void add_answer_options(CLI::App& app, AnswerOptions& o, uint64_t& seed) {
  add_prompt_options(app, o);
  const std::string sampling = "Sampling (input lines can override)";
  add_options(app, o.sampling, /*reports=*/false, sampling);
  app.add_option("--seed", seed, "Seed for lines that do not set one")
      ->check(seed_number())
      ->capture_default_str()
      ->group(sampling);

  const std::string reporting = "Reported with each answer (input lines can override)";
  add_options(app, o.sampling, /*reports=*/true, reporting);
  app.add_flag("--prompt-logprobs", o.prompt_logprobs, "ln p of the prompt's tokens")
      ->group(reporting);
  app.add_flag("--logits-hash", o.logits_hash, "Hash of the logits that the answer was drawn from")
      ->group(reporting);
}

}  // namespace pando::cli
