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
#include "base/python_json.h"
#include "text/tokenizer.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

bool is_gguf_name(const fs::path& path) { return path.extension() == ".gguf"; }

// Files of weights that need what stands beside them, or a conversion.
bool is_weights_name(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".safetensors" || extension == ".bin" || extension == ".pt" ||
         extension == ".pth";
}

// A file that stands beside the weights.
bool is_part_name(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".json" || extension == ".model" || extension == ".jinja" ||
         extension == ".txt";
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
  if (failure) return io_error("{}: cannot be read: {}", directory.string(), failure.message());
  if (files.size() == 1) return files[0];
  if (files.empty()) return directory;
  std::ranges::sort(files);
  std::string names;
  for (const fs::path& file : files)
    names += (names.empty() ? "" : ", ") + file.filename().string();
  return invalid_argument("{}: holds several GGUF files, expected the path of one of them: {}",
                          directory.string(), names);
}

// Whether a directory without GGUF files is a folder of the hub cache, whose models are further
// down.
bool is_repository(const fs::path& directory) {
  std::error_code failure;
  return fs::is_directory(directory / "snapshots", failure) && !is_there(directory / "config.json");
}

Result<fs::path> find_snapshot(const fs::path& repository, const std::string& name) {
  const fs::path ref = repository / "refs" / "main";
  std::error_code failure;
  if (!fs::is_directory(repository, failure))
    return not_found(
        "'{}' is neither a path nor in the local hub cache: {} does not exist (hint: Pando "
        "downloads nothing; download the model with the hub's own tools)",
        name, repository.string());
  std::ifstream file;
  if (fs::is_regular_file(ref, failure)) file.open(ref);
  std::string revision;
  file >> revision;
  if (revision.starts_with(kByteOrderMark)) revision.erase(0, kByteOrderMark.size());
  if (!is_id_part(revision))
    return bad_file("{}: does not name a snapshot of '{}'", ref.string(), name);
  const fs::path snapshot = repository / "snapshots" / revision;
  if (!fs::is_directory(snapshot, failure))
    return not_found("{}: does not exist, but {} names it", snapshot.string(), ref.string());
  return snapshot;
}

// What is read with a file of a tokenizer.
constexpr const char* kBesideATokenizer[] = {"tokenizer_config.json",  "special_tokens_map.json",
                                             "chat_template.jinja",    "chat_template.json",
                                             "generation_config.json", "config.json"};

// Of a folder models--org--name of the hub cache, given as a path: the snapshot that its id means,
// or the only one.
Result<fs::path> snapshot_of_folder(const fs::path& repository) {
  if (const Result<fs::path> of_id = find_snapshot(repository, repository.string()); of_id)
    return of_id;
  std::vector<fs::path> snapshots;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(repository / "snapshots", failure))
    if (entry.is_directory(failure)) snapshots.push_back(entry.path());
  if (snapshots.size() == 1) return snapshots[0];
  if (snapshots.empty())
    return not_found("{}: holds no snapshot, expected the path of a model",
                     (repository / "snapshots").string());
  std::ranges::sort(snapshots);
  std::string names;
  for (const fs::path& snapshot : snapshots)
    names += (names.empty() ? "" : ", ") + snapshot.filename().string();
  return invalid_argument("{}: holds several snapshots, expected the path of one of them: {}",
                          (repository / "snapshots").string(), names);
}

constexpr size_t kWhole = size_t{64} << 20, kPieces = 256, kPiece = 4096;

uint64_t hash_of(const char* data, size_t n) {
  if (n <= kWhole) return XXH3_64bits(data, n);
  uint64_t hash = n;
  for (size_t i = 0; i < kPieces; ++i)
    hash = XXH3_64bits_withSeed(data + (n - kPiece) / (kPieces - 1) * i, kPiece, hash);
  return hash;
}

// What a model is read from: not its readme, nor what else is kept beside it.
bool is_read(const fs::path& path) {
  const std::string extension = path.extension().string();
  for (const char* read :
       {".json", ".safetensors", ".gguf", ".model", ".tiktoken", ".txt", ".jinja"})
    if (extension == read) return true;
  return false;
}

void read_option(Fields& fields, const RequestOption& option, GenerationConfig& config) {
  const nlohmann::json* value = fields.find(option.config_name);
  if (value == nullptr) return;
  const bool is_integer = std::holds_alternative<int SamplingOptions::*>(option.member);
  if (value->is_number() && option.holds(value->get<double>()) && (!is_integer || is_whole(*value)))
    config.options.emplace_back(&option, value->get<double>());
  else
    fields.refuse(option.config_name,
                  fmt::format("{}{}", is_integer ? "an integer, " : "", option.expected));
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
  if (fs::exists(status) && is_weights_name(name))
    return invalid_argument(
        "{}: is a weights file; pass its directory (with config.json and safetensors) or a GGUF "
        "file",
        name);
  if (fs::exists(status) && is_part_name(name))
    return invalid_argument(
        "{}: is one file of a model; pass its directory (with config.json and safetensors) or a "
        "GGUF file",
        name);
  if (fs::exists(status)) return fs::path(name);
  if (status.type() == fs::file_type::none || status.type() == fs::file_type::unknown)
    return io_error("{}: cannot be read: {}", name, failure.message());
  const std::vector<std::string> parts = id_parts(name);
  if (parts.empty() || hub_cache.empty())
    return not_found(
        "{}: no such directory or file, expected a model's directory, a GGUF file or the id of a "
        "model in the local hub cache, such as org/name",
        name);
  const Result<fs::path> snapshot =
      find_snapshot(hub_cache / fmt::format("models--{}--{}", parts[0], parts[1]), name);
  if (!snapshot || parts.size() == 2) return snapshot ? with_files(*snapshot) : snapshot;
  if (!fs::exists(*snapshot / parts[2], failure))
    return not_found("{}: no such file", (*snapshot / parts[2]).string());
  return *snapshot / parts[2];
}

Result<fs::path> find_tokenizer(const std::string& name, const fs::path& hub_cache) {
  std::error_code failure;
  const fs::path path = name;
  // Half a tokenizer, that of find_vocab_merges(): its directory has the other half.
  const bool half = path.filename() == "vocab.json" || path.filename() == "encoder.json";
  if (!half && is_tokenizer_file(path) && is_there(path)) return path;
  return find_model(name, hub_cache);
}

Result<GenerationConfig> read_generation_config(const fs::path& model) {
  std::error_code failure;
  if (fs::is_regular_file(model, failure))
    return not_found(
        "{}: is a GGUF file, which has no generation_config.json (hint: set temperature and other "
        "sampling options instead)",
        model.string());
  const fs::path path = model / "generation_config.json";
  const Result<MappedFile> file = MappedFile::open(path);
  if (!file) return file.error();
  const Result<nlohmann::json> object = parse_python_object(
      {reinterpret_cast<const char*>(file->data()), file->size()}, path.string());
  if (!object) return object.error();
  Fields fields(*object, path.string());
  GenerationConfig config;
  config.samples = fields.boolean("do_sample", false);
  for (const RequestOption& option : request_options())
    if (option.stands_in(kInConfig | kInSamplingConfig)) read_option(fields, option, config);
  constexpr int64_t kMost = INT32_MAX;
  if (const nlohmann::json* eos = fields.find("eos_token_id")) {
    const nlohmann::json list = eos->is_array() ? *eos : nlohmann::json::array({*eos});
    for (const nlohmann::json& id : list) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() > static_cast<uint64_t>(kMost)) {
        fields.refuse("eos_token_id", "a token id, or an array of token ids");
        break;
      }
      config.eos.push_back(id.get<Token>());
    }
  }
  // Fields of the transformers library that change which token is drawn, and what means no change.
  const std::pair<const char*, double> others[] = {
      {"typical_p", 1.0},     {"epsilon_cutoff", 0.0},
      {"eta_cutoff", 0.0},    {"no_repeat_ngram_size", 0.0},
      {"min_length", 0.0},    {"num_beams", 1.0},
      {"penalty_alpha", 0.0}, {"exponential_decay_length_penalty", 0.0}};
  for (const auto& [name, neutral] : others) {
    const nlohmann::json* value = fields.find(name);
    if (value != nullptr && *value != neutral)
      config.not_offered.push_back(fmt::format("{} {}", name, found_text(*value)));
  }
  if (Status status = fields.status(); !status) return status.error();
  return config;
}

Result<std::vector<fs::path>> files_of_model(const fs::path& path) {
  std::error_code failure;
  std::vector<fs::path> files;
  if (fs::is_directory(path, failure)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path, failure))
      if (entry.is_regular_file(failure) && is_read(entry.path())) files.push_back(entry.path());
    if (failure) return io_error("{}: cannot be read: {}", path.string(), failure.message());
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
