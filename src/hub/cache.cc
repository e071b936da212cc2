#include "hub/cache.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/byte_order_mark.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/write_file.h"

namespace pando::hub {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestRef = 256;

std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Error cannot_write(const fs::path& path, const std::error_code& failure) {
  return io_error("cannot write {}: {}", path.string(), failure.message());
}

Status make_folder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) return cannot_write(folder, failure);
  return {};
}

fs::path temporary_in(const fs::path& folder) {
  return folder / (kTemporary + std::to_string(getpid()));
}

// The chosen files that the snapshot lacks, with the shards that its index names, sorted.
std::vector<std::string> missing_of(const CachedRepository& repository, const std::string& commit,
                                    const ChosenFiles& files) {
  std::vector<std::string> names = files.small;
  names.insert(names.end(), files.weights.begin(), files.weights.end());
  if (files.has_index) {
    const fs::path path = repository.snapshot(commit) / kIndex;
    const auto shards = shards_of_index(contents_of(path), path.string());
    if (!shards) return {kIndex};
    names.insert(names.end(), shards->begin(), shards->end());
  }
  std::erase_if(names, [&](const std::string& name) { return repository.has(commit, name); });
  std::ranges::sort(names);
  return names;
}

}  // namespace

CachedRepository::CachedRepository(const fs::path& cache, const ModelId& id) {
  const std::string name = "models--" + id.organisation + "--" + id.name;
  folder_ = cache / name;
  locks_ = cache / ".locks" / name;
}

std::string CachedRepository::commit_of(const std::string& revision) const {
  std::error_code failure;
  if (!is_revision(revision)) return {};
  if (is_commit(revision)) return fs::is_directory(snapshot(revision), failure) ? revision : "";
  const fs::path path = folder_ / "refs" / revision;
  if (!fs::is_regular_file(path, failure) || fs::file_size(path, failure) > kLongestRef) return "";
  std::string commit = contents_of(path);
  if (commit.starts_with(kByteOrderMark)) commit.erase(0, kByteOrderMark.size());
  while (!commit.empty() && (commit.back() == '\n' || commit.back() == '\r')) commit.pop_back();
  const bool is_name = is_safe_name(commit) && commit.find('/') == commit.npos;
  return is_name && fs::is_directory(snapshot(commit), failure) ? commit : "";
}

Status CachedRepository::write_ref(const std::string& revision, const std::string& commit) const {
  if (is_commit(revision)) return {};
  return write_whole(folder_ / "refs" / revision, commit);
}

Status CachedRepository::write_whole(const fs::path& path, const std::string& text) const {
  if (contents_of(path) == text) return {};
  const fs::path temporary = temporary_in(folder_);
  if (Status status = make_folder(path.parent_path()); !status) return status;
  if (Status status = write_file(temporary, text); !status) return status;
  std::error_code failure;
  fs::rename(temporary, path, failure);
  if (failure) return cannot_write(path, failure);
  return {};
}

std::optional<std::vector<std::string>> CachedRepository::listing(const std::string& commit) const {
  const Result<Json> names = parse_json(contents_of(listings() / (commit + ".json")));
  if (!names || !names->is_array()) return std::nullopt;
  std::vector<std::string> all;
  for (const Json& name : *names)
    if (name.is_string()) all.push_back(name.get<std::string>());
  return all;
}

Status CachedRepository::keep_listing(const std::string& commit,
                                      const std::vector<std::string>& names) const {
  return write_whole(listings() / (commit + ".json"), json_text(Json(names)));
}

bool CachedRepository::has(const std::string& commit, const std::string& name) const {
  std::error_code failure;
  return fs::is_regular_file(snapshot(commit) / name, failure);
}

Status CachedRepository::link(const std::string& commit, const std::string& name,
                              const std::string& etag) const {
  if (!is_safe_name(name))
    return bad_file("has a file '{}', expected a name that stays in its folder", one_line(name));
  const fs::path root = snapshot(commit), path = root / name;
  if (Status status = make_folder(root); !status) return status;
  std::error_code failure;
  // A folder of the snapshot may be a link that leads elsewhere.
  const fs::path inside = fs::relative(fs::weakly_canonical(path.parent_path(), failure),
                                       fs::canonical(root, failure), failure);
  if (failure || inside.empty() || *inside.begin() == "..")
    return in_file(path.string(), bad_file("is behind a link that leads out of the snapshot"));
  if (Status status = make_folder(path.parent_path()); !status) return status;
  fs::path target = "../..";
  for (auto at = std::ranges::count(name, '/'); at > 0; --at) target /= "..";
  const fs::path temporary = temporary_in(folder_).string() + "-" + etag;
  fs::remove(temporary, failure);
  fs::create_symlink(target / "blobs" / etag, temporary, failure);
  if (!failure) fs::rename(temporary, path, failure);
  if (failure) return cannot_write(path, failure);
  return {};
}

std::vector<std::string> names_below(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failure, ignored;
  for (fs::recursive_directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure))
    if (at->is_regular_file(ignored))
      names.push_back(at->path().lexically_relative(folder).generic_string());
  std::ranges::sort(names);
  return names;
}

std::optional<CachedModel> find_cached(const fs::path& cache, const ModelId& id,
                                       const std::string& revision, Need need) {
  const CachedRepository repository(cache, id);
  const std::string commit = repository.commit_of(revision);
  if (commit.empty()) return std::nullopt;
  const fs::path snapshot = repository.snapshot(commit);
  const Result<ChosenFiles> files = choose_files(id, names_below(snapshot), need);
  if (!files) {
    if (!id.choice.empty()) return std::nullopt;
    return CachedModel{snapshot};
  }
  // All of it is in the file and its parts, which it counts.
  const std::vector<std::string> none;
  if (files->is_gguf) return CachedModel{snapshot / files->weights[0], true, true, commit, none};
  CachedModel model{snapshot, false, files->has_tokenizer, commit};
  model.has_weights = need == Need::kModel && missing_of(repository, commit, *files).empty();
  if (const auto names = repository.listing(commit))
    if (const Result<ChosenFiles> all = choose_files(id, *names, need); all)
      model.missing = missing_of(repository, commit, *all);
  return model;
}

}  // namespace pando::hub
