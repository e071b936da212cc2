#include "pando/model_files.h"

#include <xxhash.h>

#include <algorithm>
#include <fstream>

#include "base/byte_order_mark.h"
#include "base/errors.h"
#include "base/fields.h"
#include "base/gguf_split.h"
#include "base/is_there.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/mix.h"
#include "base/model_path.h"
#include "base/python_json.h"
#include "model/module_files.h"
#include "text/tokenizer.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

bool is_gguf_name(const fs::path& path) { return path.extension() == ".gguf"; }

// A file that is only a part of a model.
bool is_part_name(const fs::path& path) {
  const std::string extension = path.extension().string();
  constexpr std::string_view kParts[] = {".safetensors", ".bin",   ".pt",    ".pth",
                                         ".json",        ".model", ".jinja", ".txt"};
  return std::ranges::find(kParts, extension) != std::end(kParts);
}

// One part of a hub id: nothing that leads elsewhere.
bool is_id_part(const std::string& part) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !part.empty() && part[0] != '.' && std::ranges::all_of(part, allowed);
}

// "org", "name" and perhaps a file; empty where `name` has another form.
std::vector<std::string> id_parts(const std::string& name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '/')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  const bool shaped = parts.size() == 2 || (parts.size() == 3 && is_gguf_name(parts[2]));
  if (!shaped || !std::ranges::all_of(parts, is_id_part)) return {};
  return parts;
}

// A directory itself, or the only GGUF file in one without config.json.
Result<fs::path> with_files(const fs::path& directory) {
  if (is_there(directory / "config.json")) return directory;
  std::error_code failure;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failure)) {
    const std::optional<GgufPart> part = gguf_part(entry.path());
    if (is_gguf_name(entry.path()) && (!part || part->number == 1)) files.push_back(entry.path());
  }
  if (failure)
    return in_file(directory.string(), io_error("cannot be read: {}", failure.message()));
  if (files.size() == 1) return files[0];
  if (files.empty()) return directory;
  std::ranges::sort(files);
  std::string names;
  for (const fs::path& file : files)
    names += (names.empty() ? "" : ", ") + file.filename().string();
  return in_file(
      directory.string(),
      invalid_argument("holds several GGUF files, expected the path of one of them: {}", names));
}

// True if a directory without GGUF files is a folder of the hub cache, which holds models further
// down.
bool is_repository(const fs::path& directory) {
  std::error_code failure;
  return fs::is_directory(directory / "snapshots", failure) && !is_there(directory / "config.json");
}

Result<fs::path> find_snapshot(const fs::path& repository, const std::string& name) {
  const fs::path ref = repository / "refs" / "main";
  std::error_code failure;
  if (!fs::is_directory(repository, failure))
    return not_found("'{}' is neither a path nor in the local hub cache: {} does not exist", name,
                     repository.string());
  std::ifstream file;
  if (fs::is_regular_file(ref, failure)) file.open(ref);
  std::string revision;
  file >> revision;
  if (revision.starts_with(kByteOrderMark)) revision.erase(0, kByteOrderMark.size());
  if (!is_id_part(revision))
    return in_file(ref.string(), bad_file("does not name a snapshot of '{}'", name));
  const fs::path snapshot = repository / "snapshots" / revision;
  if (!fs::is_directory(snapshot, failure))
    return in_file(snapshot.string(), not_found("does not exist, but {} names it", ref.string()));
  return snapshot;
}

// Files that are read beside a tokenizer's file.
constexpr const char* kBesideATokenizer[] = {"tokenizer_config.json",  "special_tokens_map.json",
                                             "chat_template.jinja",    "chat_template.json",
                                             "generation_config.json", "config.json"};

// The snapshot in a folder models--org--name of the hub cache: the one that its id means, or the
// only one.
Result<fs::path> snapshot_of_folder(const fs::path& repository) {
  if (const Result<fs::path> of_id = find_snapshot(repository, repository.string()); of_id)
    return of_id;
  std::vector<fs::path> snapshots;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(repository / "snapshots", failure))
    if (entry.is_directory(failure)) snapshots.push_back(entry.path());
  if (snapshots.size() == 1) return snapshots[0];
  if (snapshots.empty())
    return in_file((repository / "snapshots").string(),
                   not_found("holds no snapshot, expected the path of a model"));
  std::ranges::sort(snapshots);
  std::string names;
  for (const fs::path& snapshot : snapshots)
    names += (names.empty() ? "" : ", ") + snapshot.filename().string();
  return in_file(
      (repository / "snapshots").string(),
      invalid_argument("holds several snapshots, expected the path of one of them: {}", names));
}

constexpr size_t kWhole = size_t{64} << 20, kPieces = 256, kPiece = 4096;

uint64_t hash_of(const char* data, size_t n) {
  if (n <= kWhole) return XXH3_64bits(data, n);
  uint64_t hash = n;
  for (size_t i = 0; i < kPieces; ++i)
    hash = XXH3_64bits_withSeed(data + (n - kPiece) / (kPieces - 1) * i, kPiece, hash);
  return hash;
}

// True for files that a model is read from; false for its readme and others.
bool is_read(const fs::path& path) {
  const std::string extension = path.extension().string();
  for (const char* read :
       {".json", ".safetensors", ".gguf", ".model", ".tiktoken", ".txt", ".jinja", ".pt"})
    if (extension == read) return true;
  return false;
}

// Adds the files of a folder that `counts`.
Status add_files(const fs::path& folder, bool (*counts)(const fs::path&),
                 std::vector<fs::path>& files) {
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure))
    if (entry.is_regular_file(failure) && counts(entry.path())) files.push_back(entry.path());
  if (failure) return in_file(folder.string(), io_error("cannot be read: {}", failure.message()));
  return {};
}

// Adds the files of the folders that modules.json names. What is wrong with it is left to who
// reads it.
Status add_modules(const fs::path& directory, std::vector<fs::path>& files) {
  const auto modules = model::read_modules(ModelPath(directory));
  if (!modules) return {};
  std::error_code failure;
  for (const model::Module& module : *modules) {
    if (module.path.empty() || !fs::is_directory(module.folder, failure)) continue;
    const auto counts = [](const fs::path& path) {
      return is_read(path) || path.filename() == "pytorch_model.bin";
    };
    if (Status status = add_files(module.folder, counts, files); !status) return status;
  }
  return {};
}

}  // namespace

Result<fs::path> find_model(const std::string& name, const fs::path& hub_cache) {
  std::error_code failure;
  const fs::file_status status = fs::status(name, failure);
  if (fs::is_directory(status)) {
    Result<fs::path> own = with_files(name);
    if (!own || *own != fs::path(name) || !is_repository(name)) return own;
    const Result<fs::path> snapshot = snapshot_of_folder(name);
    return snapshot ? with_files(*snapshot) : snapshot;
  }
  if (fs::exists(status) && is_part_name(name))
    return in_file(
        name, invalid_argument("is one file of a model, expected its directory or a GGUF file"));
  if (fs::exists(status)) return fs::path(name);
  if (status.type() == fs::file_type::none || status.type() == fs::file_type::unknown)
    return in_file(name, io_error("cannot be read: {}", failure.message()));
  if (fs::is_symlink(name, failure)) return why_not_found(name);
  const std::vector<std::string> parts = id_parts(name);
  if (parts.empty() || hub_cache.empty())
    return in_file(
        name,
        not_found(
            "no such directory or file, expected a model's directory, a GGUF file or the id of a "
            "model in the local hub cache, such as org/name"));
  const Result<fs::path> snapshot =
      find_snapshot(hub_cache / fmt::format("models--{}--{}", parts[0], parts[1]), name);
  if (!snapshot || parts.size() == 2) return snapshot ? with_files(*snapshot) : snapshot;
  if (!fs::exists(*snapshot / parts[2], failure))
    return in_file((*snapshot / parts[2]).string(), not_found("no such file"));
  return *snapshot / parts[2];
}

Result<fs::path> find_tokenizer(const std::string& name, const fs::path& hub_cache) {
  std::error_code failure;
  const fs::path path = name;
  // One of the two files of find_vocab_merges(): its directory has the other.
  const bool half = path.filename() == "vocab.json" || path.filename() == "encoder.json";
  if (!half && is_tokenizer_file(path) && is_there(path)) return path;
  return find_model(name, hub_cache);
}

Result<std::vector<fs::path>> files_of_model(const fs::path& path) {
  std::error_code failure;
  std::vector<fs::path> files;
  if (fs::is_directory(path, failure)) {
    if (Status status = add_files(path, is_read, files); !status) return status.error();
    if (Status status = add_modules(path, files); !status) return status.error();
  } else if (is_tokenizer_file(path)) {
    files = {path};
    for (const char* beside : kBesideATokenizer)
      if (fs::is_regular_file(path.parent_path() / beside, failure) && path.filename() != beside)
        files.push_back(path.parent_path() / beside);
  } else {
    files = gguf_parts(path);
  }
  std::ranges::sort(files);
  return files;
}

Result<uint64_t> model_fingerprint(const fs::path& path) {
  const Result<std::vector<fs::path>> files = files_of_model(path);
  if (!files) return files.error();
  std::error_code failure;
  uint64_t hash = 0;
  for (const fs::path& file : *files) {
    const std::string name = file.filename().string();
    hash = XXH3_64bits_withSeed(name.data(), name.size(), hash);
    if (fs::is_regular_file(file, failure) && fs::file_size(file, failure) == 0) continue;
    const Result<MappedFile> mapped = MappedFile::open(file);
    if (!mapped) return mapped.error();
    hash = mix64(hash ^ hash_of(reinterpret_cast<const char*>(mapped->data()), mapped->size()));
  }
  return hash;
}

}  // namespace pando
