#include "cli/models_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "base/errors.h"
#include "cli/options_file.h"
#include "pando/file_input.h"

namespace pando::cli {
namespace {

// The options that a table may have.
void add_table_options(CLI::App& app, FileModel& model) {
  add_model_options(app, model.model);
  add_chat_template_option(app, model.model);
  add_tool_format_option(app, model.model);
  add_generation_options(app, model.generation, "");
  app.get_option("--model")->required();
}

}  // namespace

Result<std::vector<FileModel>> read_models_file(const std::string& path,
                                                const ModelArguments& common) {
  const Result<std::string> text = read_text(path);
  if (!text) return in_file("--models", text.error());
  std::vector<FileModel> models;
  try {
    read_tables(path, *text, "models", [&](const std::string& name, const TakeOptions& take) {
      FileModel model{.name = name, .model = common, .generation = {}};
      CLI::App app;
      add_table_options(app, model);
      take(app);
      models.push_back(std::move(model));
    });
  } catch (const CLI::Error& error) {
    return invalid_argument("--models: {}", error.what());
  }
  if (models.empty())
    return invalid_argument("--models: '{}' has no model, expected a table such as [models.chat]",
                            path);
  return models;
}

}  // namespace pando::cli
