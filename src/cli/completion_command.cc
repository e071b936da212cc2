// `pando completion`: what a shell needs to complete commands and options.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/model_options.h"

namespace pando::cli {
namespace {

// Long names of a command's options, with a space before each.
std::string options_of(const CLI::App& app) {
  std::string names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names += fmt::format(" --{}", name);
  return names;
}

// What an option can be, where that is a closed set; with spaces between.
std::string values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();  // "TEXT:{a,b}"
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::string values = type.substr(begin + 1, end - begin - 1);
  std::replace(values.begin(), values.end(), ',', ' ');
  return values;
}

// The word that an option's value stands behind.
std::string word_before(const CLI::App& command, const CLI::Option& option) {
  return option.get_lnames().empty() ? command.get_name() : "--" + option.get_lnames()[0];
}

std::string bash(const CLI::App& app) {
  std::string commands, cases, values;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands += fmt::format(" {}", command->get_name());
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(),
                         options_of(*command).substr(1));
    for (const CLI::Option* option : command->get_options())
      if (const std::string of_option = values_of(*option); !of_option.empty())
        values += fmt::format("    {}:{}) words=\"{}\" ;;\n", command->get_name(),
                              word_before(*command, *option), of_option);
  }
  return fmt::format(
      "_pando() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} words\n"
      "  case ${{COMP_WORDS[1]}} in\n{}"
      "    *) words=\"{}{}\" ;;\n"
      "  esac\n"
      "  local names=$words\n"
      "  case ${{COMP_WORDS[1]}}:${{COMP_WORDS[COMP_CWORD-1]}} in\n{}"
      "  esac\n"
      "  COMPREPLY=()\n"
      "  [[ $COMP_CWORD -gt 1 && $word != -* && $words == \"$names\" ]] || COMPREPLY=($(compgen -W "
      "\"$words\" -- "
      "\"$word\"))\n"
      "}}\n"
      "complete -o default -F _pando pando\n",
      cases, commands.substr(1), options_of(app), values);
}

std::string fish(const CLI::App& app) {
  std::string text;
  const auto quoted = [](const std::string& help) {
    std::string text(1, '\'');
    for (const char c : help) {
      if (c == '\'') text += '\\';
      text += c;
    }
    return text += '\'';
  };
  for (const CLI::App* command : app.get_subcommands({})) {
    text += fmt::format("complete -c pando -n __fish_use_subcommand -a {} -d {}\n",
                        command->get_name(), quoted(command->get_description()));
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames())
        text += fmt::format(
            "complete -c pando -n '__fish_seen_subcommand_from {}' -l {} -d {}{}\n",
            command->get_name(), name, quoted(option->get_description()),
            values_of(*option).empty() ? "" : fmt::format(" -x -a {}", quoted(values_of(*option))));
  }
  return text;
}

}  // namespace

Command add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
  app.footer(
      "Examples:\n  source <(pando completion bash)\n"
      "  pando completion fish > ~/.config/fish/completions/pando.fish");
  return [shell, &app] {
    const CLI::App& pando = *app.get_parent();
    if (*shell == "zsh") fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
    fmt::print("{}", *shell == "fish" ? fish(pando) : bash(pando));
    return kOk;
  };
}

}  // namespace pando::cli
