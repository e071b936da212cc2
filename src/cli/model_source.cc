#include "cli/model_source.h"

#include <fmt/format.h>

#include <optional>

#include "base/errors.h"
#include "cli/hub_access.h"
#include "cli/print_stderr.h"
#include "cli/progress.h"
#include "hub/cache.h"
#include "pando/model_files.h"

namespace pando::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpected =
    "a model's directory, a GGUF file or the id of a model on the hub, such as org/name";

hub::Sought sought(const ModelSource& source, const hub::ModelId& id) {
  return {.id = id,
          .revision = source.revision.empty() ? "main" : source.revision,
          .need = source.need,
          .has_own_tokenizer = source.has_own_tokenizer};
}

std::string progress_text(const hub::FetchProgress& now) {
  std::string text = fmt::format("{} of {} files, {} of {}", now.n_files, now.n_all_files,
                                 hub::bytes_text(now.n_bytes), hub::bytes_text(now.n_all_bytes));
  const double left = static_cast<double>(now.n_all_bytes) - static_cast<double>(now.n_bytes);
  if (now.bytes_per_second > 0) {
    text += fmt::format("; {}/s", hub::bytes_text(static_cast<uint64_t>(now.bytes_per_second)));
    if (left > 0) text += fmt::format("; about {} left", duration(left / now.bytes_per_second));
  }
  if (now.n_waiting > 0) text += "; waiting for another process that fetches the same files";
  return text;
}

// Finds the model at a path; empty names of caches keep the library from looking further.
Result<fs::path> find_path(const ModelSource& source, const std::string& path) {
  return source.is_tokenizer ? find_tokenizer(path, "") : find_model(path, "");
}

template <class Find>
Result<fs::path> with_progress(const ModelSource& source, const Find& find) {
  ProgressLine line(source.quiet, "files");
  const auto say = [&](const std::string& text) {
    line.clear();
    print_stderr("pando: {}\n", text);
  };
  const hub::FetchCalls calls{
      .progress = [&](const hub::FetchProgress& now) { line.show(progress_text(now)); },
      .note =
          [&](const std::string& note) {
            if (!source.quiet) say(note);
          },
      .warn = say};
  Result<fs::path> found = find(calls);
  line.clear();
  return found;
}

// A name that is neither a path nor found on the hub may be meant as either.
Error of_either(const std::string& name, Error error) {
  const bool may_be_path = error.code == ErrorCode::kNotFound ||
                           error.code == ErrorCode::kUnavailable ||
                           error.code == ErrorCode::kUnsupported;
  if (!may_be_path || !error.place.file.empty() || error.subject != ErrorSubject::kNone)
    return error;
  error.found = "no such path, and " + error.found;
  return in_file(name, std::move(error));
}

}  // namespace

Error no_cache() {
  return not_found(
      "there is no folder for the hub's cache, expected HOME, HF_HOME or HF_HUB_CACHE");
}

Result<fs::path> find_source(const ModelSource& source) {
  std::error_code failure;
  const bool is_path = fs::symlink_status(source.name, failure).type() != fs::file_type::not_found;
  const std::optional<hub::ModelId> id = hub::parse_model_id(source.name);
  if (is_path || !id) {
    if (is_path && !source.revision.empty())
      return invalid_argument("--revision is '{}', but '{}' is a path, expected the id of a model",
                              source.revision, source.name);
    Result<fs::path> found = find_path(source, source.name);
    if (found || is_path || found.error().code != ErrorCode::kNotFound) return found;
    Error error = found.error();
    error.expected = kExpected;
    return error;
  }
  const hub::HubAccess access = hub_access();
  if (access.cache.empty()) return no_cache();
  const hub::Sought wanted = sought(source, *id);
  if (!source.may_fetch) {
    const auto cached = hub::find_cached(access.cache, *id, wanted.revision, wanted.need);
    return cached ? find_path(source, cached->path.string())
                  : not_found("'{}' is not in the local hub cache", source.name);
  }
  const Result<fs::path> found = with_progress(source, [&](const hub::FetchCalls& calls) {
    return hub::find_or_fetch(access, wanted, calls);
  });
  if (found) return find_path(source, found->string());
  return access.is_offline ? found.error() : of_either(source.name, found.error());
}

Result<fs::path> pull_source(const ModelSource& source) {
  const std::optional<hub::ModelId> id = hub::parse_model_id(source.name);
  if (!id)
    return invalid_argument(
        "'{}' is no id of a model, expected org/name, org/name:QUANTISATION or "
        "org/name:FILE.gguf",
        source.name);
  const hub::HubAccess access = hub_access();
  if (access.cache.empty()) return no_cache();
  return with_progress(source, [&](const hub::FetchCalls& calls) {
    return hub::fetch(access, sought(source, *id), calls);
  });
}

}  // namespace pando::cli
