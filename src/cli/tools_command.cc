// `pando tools`: how a model's tool calls are read.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/report.h"
#include "pando/tools.h"

namespace pando::cli {
namespace {

void print_row(std::string_view name, std::string_view value) {
  fmt::print("{:<22}{}\n", name, value);
}

const char* source_text(CallsInfo::Source source) {
  switch (source) {
    case CallsInfo::Source::kTemplate:
      return "the chat template";
    case CallsInfo::Source::kOption:
      return "--tool-format";
    case CallsInfo::Source::kNone:
      return "none: the chat template shows no calls, so that only plain JSON is read as a call";
  }
  return "";
}

int describe(const ModelArguments& arguments) {
  const Result<std::shared_ptr<const Model>> model = load_tokenizer(arguments);
  if (!model) return report_error(model.error());
  const Result<CallsInfo> info = describe_calls(**model);
  if (!info) return report_error(info.error());
  const auto yes_or_no = [](bool is) { return is ? "yes" : "no"; };
  print_row("source", source_text(info->source));
  print_row("a call", info->body);
  for (const auto& [name, text] : info->marks) print_row(name, quoted(text));
  print_row("several calls", yes_or_no(info->renders_parallel));
  print_row("a text and a call", yes_or_no(info->renders_text_and_call));
  print_row("reasoning", yes_or_no(info->renders_reasoning));
  if (info->example.empty()) {
    print_row("example", "none: the chat template writes no calls");
    return kOk;
  }
  print_row("example", quoted(info->example));
  for (const ToolCall& call : info->calls)
    print_row("read as", fmt::format("{} {}", call.name, call.arguments));
  if (!info->text.empty()) print_row("read as text", quoted(info->text));
  return kOk;
}

}  // namespace

Command add_tools(CLI::App& app) {
  auto arguments = std::make_shared<ModelArguments>();
  add_tokenizer_options(app, *arguments);
  CLI::Option* const named = app.get_option("--model");
  named->description(
      "As in `pando run`; the name of the option may be left out. Its weights are not loaded "
      "(default: Pando's demo model)");
  app.add_option("model", arguments->model, "As --model")->check(not_empty())->excludes(named);
  add_chat_template_option(app, *arguments);
  add_tool_format_option(app, *arguments);
  app.footer("Examples:\n  pando tools MODEL\n  pando tools MODEL --tool-format hermes");
  return [arguments] { return describe(*arguments); };
}

}  // namespace pando::cli
