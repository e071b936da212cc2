// `pando pull`, `pando list` and `pando remove`: models of the hub in the local cache.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "base/counted.h"
#include "base/errors.h"
#include "cli/commands.h"
#include "cli/hub_cache.h"
#include "cli/model_options.h"
#include "cli/model_source.h"
#include "cli/print_stderr.h"
#include "hub/cached_models.h"

namespace pando::cli {
namespace {

constexpr size_t kShownDigits = 12;  // of a commit

int pull(const ModelSource& source) {
  const Result<std::filesystem::path> path = pull_source(source);
  if (!path) return refuse(path.error());
  fmt::print("{}\n", path->string());
  return kOk;
}

int list_models() {
  const std::filesystem::path cache = hub_cache();
  if (cache.empty()) return report_error(no_cache());
  const Result<std::vector<hub::CachedRevision>> models = hub::cached_models(cache);
  if (!models) return report_error(models.error());
  if (models->empty()) print_stderr("pando: no models in {}\n", cache.string());
  for (const hub::CachedRevision& model : *models)
    fmt::print("{}\t{}\t{}\t{}\t{}\n", model.repository,
               model.refs.empty() ? model.commit.substr(0, kShownDigits)
                                  : fmt::format("{}", fmt::join(model.refs, ",")),
               counted(model.files.size(), "files"), hub::bytes_text(model.n_bytes),
               model.snapshot.string());
  return kOk;
}

int remove_model(const ModelSource& source) {
  const std::optional<hub::ModelId> id = hub::parse_model_id(source.name);
  if (!id)
    return refuse(
        invalid_argument("'{}' is no id of a model, expected org/name, or "
                         "org/name:QUANTISATION",
                         source.name));
  const std::filesystem::path cache = hub_cache();
  if (cache.empty()) return report_error(no_cache());
  const Result<hub::Removed> removed = hub::remove_cached(cache, *id, source.revision);
  if (!removed) return report_error(removed.error());
  fmt::print("removed {}, {}\n", counted(removed->n_files, "files"),
             hub::bytes_text(removed->n_bytes));
  return kOk;
}

void add_id(CLI::App& app, ModelSource& source, const char* description) {
  app.add_option("model", source.name, description)->required()->check(not_empty("an id"));
}

}  // namespace

Command add_pull(CLI::App& app) {
  auto source = std::make_shared<ModelSource>();
  add_id(app, *source,
         "Id on the hub: org/name; org/name:Q4_K_M or org/name:FILE.gguf for one GGUF file of it");
  add_revision_option(app, source->revision);
  app.add_flag("--quiet", source->quiet, "Show no progress");
  app.footer(
      "Asks the hub for the newest revision, fetches the files that a model needs and prints their "
      "path.\n"
      "Other commands fetch a model only if the cache lacks it.\n"
      "Examples:\n  pando pull Qwen/Qwen3-0.6B\n  pando pull Qwen/Qwen3-8B-GGUF:Q4_K_M");
  return [source] { return pull(*source); };
}

Command add_list(CLI::App& app) {
  app.footer(
      "One line for each revision: id, branches and tags (or the commit), files, size, path; "
      "between tabs.");
  return [] { return list_models(); };
}

Command add_remove(CLI::App& app) {
  auto source = std::make_shared<ModelSource>();
  add_id(app, *source,
         "Id, as in `pando pull`. With a quantisation or a file, that GGUF file alone");
  add_revision_option(app, source->revision)
      ->description("Remove only this branch, tag or commit (default: all of the model)");
  app.footer("Example:\n  pando remove Qwen/Qwen3-8B-GGUF:Q4_K_M");
  return [source] { return remove_model(*source); };
}

}  // namespace pando::cli
