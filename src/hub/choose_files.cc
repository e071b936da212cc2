#include "hub/choose_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "base/errors.h"
#include "base/gguf_split.h"
#include "base/json.h"

namespace pando::hub {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr const char *kSingleWeights = "model.safetensors", *kTorchWeights = "pytorch_model.bin";

// Files by their whole names.
constexpr std::string_view kTokenizers[] = {"tokenizer.json", "tekken.json", "tokenizer.model",
                                            "vocab.json", "encoder.json"};
constexpr std::string_view kBesideTokenizers[] = {kConfig,
                                                  "generation_config.json",
                                                  "tokenizer_config.json",
                                                  "special_tokens_map.json",
                                                  "merges.txt",
                                                  "vocab.bpe",
                                                  "added_tokens.json",
                                                  "chat_template.jinja",
                                                  "vocab.txt",
                                                  "chat_template.json"};
constexpr std::string_view kBesideWeights[] = {"adapter_config.json", "hf_quant_config.json",
                                               "modules.json", "config_sentence_transformers.json"};
// Heads of bge-m3 for vectors and weights of tokens.
constexpr std::string_view kTokenHeads[] = {"colbert_linear.pt", "sparse_linear.pt"};

template <class Names>
bool is_among(std::string_view name, const Names& names) {
  return std::ranges::find(names, name) != std::end(names);
}

bool is_tokenizer(std::string_view name) {
  const bool at_root = name.find('/') == name.npos;
  return is_among(name, kTokenizers) || (at_root && name.ends_with(".tiktoken"));
}

// "additional_chat_templates/NAME.jinja".
bool is_further_template(std::string_view name) {
  return name.starts_with("additional_chat_templates/") && name.ends_with(".jinja") &&
         std::ranges::count(name, '/') == 1;
}

// "1_Pooling/config.json": a file of a sentence-transformers module; or sentence_bert_config.json.
// A module's weights in PyTorch's own format are needed only if its folder has no safetensors.
bool is_of_modules(std::string_view name, const std::vector<std::string>& names) {
  if (name.starts_with("sentence_") && name.ends_with("_config.json"))
    return name.find('/') == name.npos;
  const size_t slash = name.find('/'), digits = name.find_first_not_of("0123456789");
  if (slash == name.npos || digits == 0 || digits == name.npos || name[digits] != '_') return false;
  const std::string_view file = name.substr(slash + 1);
  const std::string safetensors = std::string(name.substr(0, slash + 1)) + kSingleWeights;
  return digits < slash && (file == kConfig || file == kSingleWeights ||
                            (file == kTorchWeights && !is_among(safetensors, names)));
}

bool is_small(std::string_view name, const std::vector<std::string>& names, Need need) {
  if (is_tokenizer(name) || is_among(name, kBesideTokenizers) || is_further_template(name))
    return true;
  return need == Need::kModel && (is_among(name, kBesideWeights) || is_among(name, kTokenHeads) ||
                                  is_of_modules(name, names));
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// GGUF files that hold a language model: no projectors, no importance matrices.
bool is_gguf_model(const std::string& name) {
  const std::string file = lower_case(fs::path(name).filename().string());
  return file.ends_with(".gguf") && file.find("mmproj") == file.npos &&
         file.find("imatrix") == file.npos;
}

// The file's name without its ending and its part numbers.
std::string stem_of(const std::string& name) {
  if (const auto part = gguf_part(name)) return part->stem;
  return fs::path(name).stem().string();
}

// True if the stem ends in the quantisation, after a separator: "x-q4_k_m", "x.Q8_0".
bool has_quantisation(const std::string& name, const std::string& quantisation) {
  const std::string stem = lower_case(stem_of(name)), wanted = lower_case(quantisation);
  if (!stem.ends_with(wanted)) return false;
  const size_t before = stem.size() - wanted.size();
  return before == 0 || stem[before - 1] == '-' || stem[before - 1] == '.';
}

// All parts of the model that begins with this file.
Result<std::vector<std::string>> parts_of(const std::string& first,
                                          const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const fs::path& part : gguf_parts(first)) {
    if (!is_among(part.string(), names))
      return in_file(part.string(), not_found("is absent, but it is a part of {}", first));
    parts.push_back(part.string());
  }
  return parts;
}

Result<std::string> choose_gguf(const ModelId& id, const std::vector<std::string>& names) {
  std::vector<std::string> all, fitting;
  for (const std::string& name : names) {
    const std::optional<GgufPart> part = gguf_part(name);
    if (!is_gguf_model(name) || (part && part->number != 1)) continue;
    all.push_back(name);
    if (id.choice.empty() ||
        (id.names_file() ? name == id.choice : has_quantisation(name, id.choice)))
      fitting.push_back(name);
  }
  std::ranges::sort(all);
  std::ranges::sort(fitting);
  if (id.names_file() && fitting.empty() && is_among(id.choice, names)) return id.choice;
  if (fitting.size() == 1) return fitting[0];
  if (all.empty()) return not_found("'{}' has no GGUF file", id.repository());
  if (fitting.empty())
    return not_found("'{}' has no GGUF file '{}', expected one of {}", id.repository(), id.choice,
                     fmt::join(all, ", "));
  return invalid_argument("'{}' has several GGUF files, expected one of them, as in '{}:{}': {}",
                          id.text(), id.repository(), fitting[0], fmt::join(fitting, ", "));
}

Error no_weights(const ModelId& id, const std::vector<std::string>& names) {
  const auto torch = std::ranges::find_if(names, [&](std::string_view name) {
    return (name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth")) &&
           !is_among(name, kTokenHeads) && !is_of_modules(name, names);
  });
  if (torch != names.end())
    return unsupported("'{}' has weights in PyTorch's own format ({}), expected {} or a GGUF file",
                       id.repository(), *torch, kSingleWeights);
  return not_found("'{}' holds no model, expected {} with {}, or a GGUF file", id.repository(),
                   kConfig, kSingleWeights);
}

Status check_names(const ChosenFiles& files) {
  for (const auto* names : {&files.small, &files.weights})
    for (const std::string& name : *names)
      if (!is_safe_name(name))
        return bad_file("'{}' is a file's name in the repository, expected a path inside it",
                        one_line(name));
  return {};
}

}  // namespace

Result<ChosenFiles> choose_files(const ModelId& id, const std::vector<std::string>& names,
                                 Need need) {
  ChosenFiles files;
  const bool single = is_among(kSingleWeights, names), index = is_among(kIndex, names);
  const bool is_directory = is_among(kConfig, names) && (single || index);
  const bool tokenizer_alone = need == Need::kTokenizer && std::ranges::any_of(names, is_tokenizer);
  const bool any_gguf = std::ranges::any_of(names, is_gguf_model);
  if (!id.choice.empty() || (!is_directory && !tokenizer_alone && any_gguf)) {
    const Result<std::string> first = choose_gguf(id, names);
    if (!first) return first.error();
    Result<std::vector<std::string>> parts = parts_of(*first, names);
    if (!parts) return parts.error();
    files.weights = std::move(*parts);
    files.is_gguf = files.has_tokenizer = true;
  } else {
    if (need == Need::kModel && !is_directory) return no_weights(id, names);
    if (need == Need::kTokenizer && !tokenizer_alone)
      return not_found("'{}' holds no tokenizer, expected {}", id.repository(), kTokenizers[0]);
    for (const std::string& name : names) {
      if (is_small(name, names, need)) files.small.push_back(name);
      files.has_tokenizer |= is_tokenizer(name);
    }
    files.has_index = need == Need::kModel && !single;
    if (files.has_index) files.small.emplace_back(kIndex);
    if (need == Need::kModel && single) files.weights = {kSingleWeights};
    std::ranges::sort(files.small);
  }
  if (Status status = check_names(files); !status) return status.error();
  return files;
}

Result<std::vector<std::string>> shards_of_index(std::string_view text, const std::string& source) {
  const Result<Json> index = parse_json_object(text, source);
  if (!index) return index.error();
  const auto map = index->find("weight_map");
  if (map == index->end() || !map->is_object())
    return in_file(source, bad_file("'weight_map' is {}, expected an object",
                                    map == index->end() ? "absent" : found_text(*map)));
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string() || !is_safe_name(shard.get<std::string>()))
      return in_file(source, bad_file("'weight_map' names the file {}, expected a path inside the "
                                      "repository",
                                      found_text(shard)));
    shards.insert(shard.get<std::string>());
  }
  return std::vector<std::string>(shards.begin(), shards.end());
}

}  // namespace pando::hub
