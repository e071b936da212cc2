#include "cli/prompt_text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/errors.h"
#include "cli/exit_code.h"
#include "cli/print_stderr.h"
#include "pando/file_input.h"

namespace pando::cli {
namespace {

constexpr const char* kUnescaped = "unescaped";  // the validator's name

std::optional<char> meaning_of(char behind_backslash) {
  switch (behind_backslash) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case '\\':
      return '\\';
    default:
      return std::nullopt;
  }
}

Result<std::string> text_of_file(const std::string& path) {
  Result<std::string> text = read_text(path);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    Error error = std::move(text).error();
    error.expected = "the name of a readable file";
    return error;
  }
  if (text && text->empty()) return bad_file("'{}' is empty", path);
  return text;
}

}  // namespace

CLI::Validator unescaped() {
  return CLI::Validator(
      [](std::string& text) {
        std::string plain;
        for (size_t at = 0; at < text.size(); ++at) {
          if (text[at] != '\\') {
            plain += text[at];
            continue;
          }
          const std::string found = text.substr(at, 2);
          const std::optional<char> meant =
              found.size() == 2 ? meaning_of(found[1]) : std::optional<char>();
          if (!meant)
            return fmt::format(
                "'{}' contains '{}', expected \\n"
                ", \\t, \\r, or \\\\ for a backslash",
                text, found);
          plain += *meant;
          ++at;
        }
        text = plain;
        return std::string();
      },
      "", kUnescaped);
}

bool is_unescaped(CLI::Option& option) {
  try {
    return option.get_validator(kUnescaped) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

std::string with_escapes(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '\\' ? std::string("\\\\") : std::string(1, c);
  return escaped;
}

CLI::Validator some_text() {
  return CLI::Validator(
      [](std::string& text) {
        return text.empty() ? std::string("is empty, expected at least one character")
                            : std::string();
      },
      "", "");
}

CLI::Option* add_file_option(CLI::App& app, const std::string& name, const std::string& help,
                             const std::function<void(std::string, const std::string&)>& set) {
  return app
      .add_option_function<std::string>(
          name, [set](const std::string& path) { set(text_of_file(path).value(), path); }, help)
      ->check(CLI::Validator(
          [](const std::string& path) {
            const Result<std::string> read = text_of_file(path);
            return read ? std::string() : message_of(read.error());
          },
          "", ""));
}

CLI::Option* add_template_options(CLI::App& app, const std::string& help,
                                  const std::function<void(std::string)>& set) {
  CLI::Option* text =
      app.add_option_function<std::string>("--template", set, help)->transform(unescaped());
  add_file_option(app, "--template-file", "The same, read from a file exactly as it is",
                  [set](std::string from_file, const std::string& path) {
                    if (from_file.ends_with('\n'))
                      print_stderr(
                          "pando: the template in '{}' ends with a newline, so every prompt does "
                          "too\n",
                          path);
                    set(std::move(from_file));
                  })
      ->excludes(text);
  return text;
}

}  // namespace pando::cli
