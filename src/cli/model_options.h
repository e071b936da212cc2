// The options by which a command takes a model and opens an engine.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/model_path.h"
#include "pando/engine.h"
#include "pando/tokenizer_files.h"

namespace pando::cli {

struct ModelArguments {
  std::string model;
  std::string tokenizer;
  std::string chat_template;
  std::string tool_format = "auto";
  std::string device;  // empty: the default
  std::string weights = "stored";
  std::string kv_dtype = "f16";
  std::string parallel;  // empty: one process
  EngineOptions engine;
  std::string revision = {};            // of a model that is named by its hub id; empty: main
  bool may_fetch = true;                // from the hub what the local cache lacks
  bool quiet = false;                   // no word of what is fetched
  std::optional<ModelPath> files = {};  // of the model, where some are open before it is loaded
};

void add_model_options(CLI::App& app, ModelArguments& arguments);
// Adds --parallel to commands that compute.
void add_parallel_option(CLI::App& app, ModelArguments& arguments);
// Adds --chat-template to commands that may render conversations.
void add_chat_template_option(CLI::App& app, ModelArguments& arguments);
// Adds --tool-format, for commands that may read tool calls.
void add_tool_format_option(CLI::App& app, ModelArguments& arguments);
// Adds --model, --revision and --tokenizer alone.
void add_tokenizer_options(CLI::App& app, ModelArguments& arguments);

// --revision by itself.
CLI::Option* add_revision_option(CLI::App& app, std::string& revision);

// The directory or file that --model names. A model that is named by its hub id is fetched, as far
// as the local cache lacks it.
Result<std::filesystem::path> model_path(const ModelArguments& arguments);
// Does the same for --tokenizer, where it is given.
Result<std::filesystem::path> tokenizer_path(const ModelArguments& arguments);
// A hash that tells these files from others: of the model, and of the tokenizer where it is given.
Result<std::string> files_fingerprint(const ModelArguments& arguments);
// The tokenizer alone, of --tokenizer or else of --model.
Result<std::shared_ptr<const TokenizerFiles>> load_tokenizer_files(const ModelArguments& arguments);
// `quiet`: does not say that it is the demo model, or which parts of its files are not loaded.
Result<std::shared_ptr<const Model>> load_model(const ModelArguments& arguments,
                                                bool quiet = false);
// Without its weights: to encode and to render.
Result<std::shared_ptr<const Model>> load_tokenizer(const ModelArguments& arguments,
                                                    bool quiet = false);
// The longest sequence, in tokens: --context, or the model's. kInvalidArgument where it has fewer.
Result<int> context_of(const Model& model, const ModelArguments& arguments);
EngineOptions engine_options(const ModelArguments& arguments);

CLI::Validator not_empty(const std::string& expected = "a path");
// "4GiB", "1.5g" or "1000" becomes a number of bytes; k, kb and kib are 1,024, and so on.
CLI::Validator size_in_bytes();
// Their messages say what was found and what was expected, as those about lines do.
CLI::Validator one_of(std::vector<std::string> names);
// An option that sets `value` to the table's value of the given name.
template <class Value, size_t N>
CLI::Option* add_named_option(CLI::App& app, const std::string& option, Value& value,
                              const std::pair<std::string_view, Value> (&table)[N],
                              const std::string& help) {
  std::vector<std::string> names;
  for (const auto& one : table) names.emplace_back(one.first);
  const auto set = [&value, &table](const std::string& text) {
    for (const auto& [name, known] : table)
      if (name == text) value = known;
  };
  return app.add_option_function<std::string>(option, set, help)->check(one_of(std::move(names)));
}
CLI::Validator thread_number();  // 0: one per fast processor
CLI::Validator seed_number();
// A whole number from `least` on, without a sign.
std::optional<uint64_t> whole_number(std::string_view text, uint64_t least = 0);
CLI::Validator expect(const std::string& what, std::function<bool(double)> holds);
CLI::Validator at_least(int least);

}  // namespace pando::cli
