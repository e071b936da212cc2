#include "model/text_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/json.h"
#include "model/family.h"

namespace pando::model {
namespace {

using nlohmann::json;

constexpr const char* kTextConfig = "text_config";

// A model with parts beside its text part. The text part may be of almost any family, and reads a
// text in the same way as the family's own model.
struct Wrapper {
  const char* model_type;
  const char* text;  // model_type of a text part that gives none
  // Whether the head is tied if the file does not say so for the whole.
  bool tied = false;
  // Whether `true` in the text part ties the head although the whole says `false`.
  bool text_ties = false;
  bool never_tied = false;  // whatever the file says
  const char* part = kTextConfig;
  const char* ties = "tie_word_embeddings";  // in the whole, beside the usual name
};

constexpr Wrapper kWrappers[] = {
    {.model_type = "llava", .text = "llama", .text_ties = true},
    {.model_type = "llava_next", .text = "llama"},
    {.model_type = "llava_next_video", .text = "llama", .text_ties = true},
    {.model_type = "llava_onevision", .text = "qwen2", .text_ties = true},
    {.model_type = "video_llava", .text = "llama"},
    {.model_type = "vipllava", .text = "llama"},
    {.model_type = "video_llama_3", .text = "qwen2", .text_ties = true},
    {.model_type = "internvl", .text = "qwen2", .tied = true},
    {.model_type = "internvl_chat", .text = "qwen2", .text_ties = true, .part = "llm_config"},
    {.model_type = "idefics2", .text = "mistral"},
    {.model_type = "idefics3", .text = "llama"},
    {.model_type = "smolvlm", .text = "llama"},
    {.model_type = "lfm2_vl", .text = "lfm2", .tied = true, .ties = "tie_embedding"},
    {.model_type = "ovis2", .text = "qwen2", .tied = true},
    {.model_type = "got_ocr2", .text = "qwen2", .tied = true},
    {.model_type = "lighton_ocr", .text = "qwen3", .tied = true},
    {.model_type = "janus", .text = "llama", .tied = true},
    {.model_type = "deepseek_vl", .text = "llama", .tied = true},
    {.model_type = "voxtral", .text = "llama"},
    {.model_type = "qwen2_audio", .text = "qwen2", .never_tied = true},
    {.model_type = "audioflamingo3", .text = "qwen2", .never_tied = true},
    {.model_type = "glmasr", .text = "llama", .tied = true},
    {.model_type = "qwen3_asr", .text = "qwen3", .tied = true},
};

// Families that scale or cap the products with the head. Programs differ in whether a wrapper of
// them does so too.
constexpr std::string_view kNotWrapped[] = {"cohere",     "cohere2",          "granite",
                                            "granitemoe", "granitemoeshared", "granitemoehybrid",
                                            "gemma2",     "gemma3_text",      "gemma4_text"};

// Sizes that files of wrappers leave out if they equal the library's defaults.
constexpr struct {
  std::string_view family;
  const char* sizes;  // JSON
} kAbsent[] = {
    {"llama", R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
                  "num_hidden_layers": 32, "num_attention_heads": 32,
                  "max_position_embeddings": 2048})"},
    {"mistral", R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336,
                    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
                    "max_position_embeddings": 131072})"},
    {"qwen2", R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
                  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
                  "max_position_embeddings": 32768})"},
};

// Types whose models read texts as models of another type do.
constexpr std::pair<std::string_view, std::string_view> kSame[] = {
    {"qwen2_vl", "qwen2_5_vl"}, {"qwen2_vl_text", "qwen2_5_vl_text"}};

void use_known_type(json& object) {
  const auto type = object.find("model_type");
  for (const auto& [name, known] : kSame)
    if (type != object.end() && *type == name) {
      *type = known;
      return;
    }
}

// The fields of the language part of an older file, which has them at its top level.
json flat_part(const json& file, const Family& family) {
  json object = file;
  object.erase("vision_config");
  object["model_type"] = family.name;
  object["architectures"] = {family.architecture};
  return object;
}

Result<json> part_of(const json& file, const char* name, std::string_view source) {
  const auto part = file.find(name);
  if (part == file.end() || !part->is_object())
    return bad_file("{}: '{}' is {}, expected an object", source, name,
                    part == file.end() ? "absent" : found_text(*part));
  return json(*part);
}

// Copies fields of the whole to its part. Fields of tokens and types that the part has stay.
void take_from_whole(const json& file, json& object) {
  for (const char* name : {"tie_word_embeddings", "quantization_config"})
    if (file.contains(name)) object[name] = file[name];
  for (const char* name : {"bos_token_id", "eos_token_id", "dtype", "torch_dtype"})
    if (!object.contains(name) && file.contains(name)) object[name] = file[name];
}

bool is_true(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && *found == true;
}

// The text part of a wrapper, with the library's defaults for absent fields.
Result<json> wrapped_part(const json& file, const Wrapper& wrapper, std::string_view source) {
  Result<json> part = part_of(file, wrapper.part, source);
  if (!part) return part;
  json object = std::move(part).value();
  constexpr const char *kType = "model_type", *kTied = "tie_word_embeddings";
  if (!object.contains(kType)) object[kType] = wrapper.text;
  const std::string type = object[kType].is_string() ? object[kType].get<std::string>() : "";
  const Family* family = find_family(type);
  if (family != nullptr && std::ranges::find(kNotWrapped, type) != std::end(kNotWrapped))
    return unsupported(
        "{}: '{}.{}' is {} in a model of type {}, expected a family that does not scale or cap its "
        "logits",
        source, wrapper.part, kType, found_text(object[kType]), found_text(file[kType]));
  if (family != nullptr) object["architectures"] = {family->architecture};
  const bool text_ties = wrapper.text_ties && is_true(object, kTied);
  const json* whole = nullptr;
  for (const char* name : {wrapper.ties, kTied})
    if (whole == nullptr && file.contains(name)) whole = &file[name];
  if (whole == nullptr && !object.contains(kTied)) object[kTied] = wrapper.tied;
  take_from_whole(file, object);
  if (whole != nullptr) object[kTied] = *whole;
  if (text_ties && object[kTied] == false) object[kTied] = true;
  if (wrapper.never_tied) object[kTied] = false;
  for (const auto& [name, sizes] : kAbsent) {
    if (type != name) continue;
    const json absent = json::parse(sizes);
    for (const auto& [field, value] : absent.items())
      if (!object.contains(field)) object[field] = value;
  }
  return object;
}

}  // namespace

Result<json> text_part(const json& whole, std::string_view source) {
  json file = whole;
  use_known_type(file);
  const auto all = families();
  const auto type = file.find("model_type");
  if (type == file.end()) return file;
  for (const Wrapper& wrapper : kWrappers)
    if (*type == wrapper.model_type) return wrapped_part(file, wrapper, source);
  const auto is_wrapped = [&](const Family* family) {
    return family->wrapper != nullptr && *type == family->wrapper;
  };
  auto wrapped = std::ranges::find_if(all, is_wrapped);
  if (wrapped == all.end()) return file;
  if (!file.contains(kTextConfig) && file.contains("hidden_size") &&
      std::ranges::count_if(all, is_wrapped) == 1)
    return flat_part(file, **wrapped);
  Result<json> part = part_of(file, kTextConfig, source);
  if (!part) return part;
  json object = std::move(part).value();
  use_known_type(object);
  if (!object.contains("model_type")) object["model_type"] = (*wrapped)->name;
  const auto named = std::ranges::find_if(all, [&](const Family* family) {
    return is_wrapped(family) && object["model_type"] == family->name;
  });
  if (named != all.end()) {
    wrapped = named;
  } else if (object["model_type"].is_string() &&
             find_family(object["model_type"].get<std::string>()) != nullptr) {
    std::vector<std::string_view> parts;
    for (const Family* family : all)
      if (is_wrapped(family)) parts.push_back(family->name);
    return unsupported("{}: '{}.model_type' is {} in a model of type {}, expected {}", source,
                       kTextConfig, found_text(object["model_type"]), found_text(*type),
                       one_of_these(parts));
  }
  object["architectures"] = {(*wrapped)->architecture};
  take_from_whole(file, object);
  return object;
}

}  // namespace pando::model
