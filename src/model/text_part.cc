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

using json = Json;

constexpr const char *kTextConfig = "text_config", *kType = "model_type",
                     *kTied = "tie_word_embeddings";

// A model with parts beside its text part. The text part may be of almost any family, and reads a
// text in the same way as the family's own model.
struct Wrapper {
  const char* model_type;
  const char* text;  // model_type of a text part that gives none
  // True if the head is tied when the whole file does not say.
  bool tied = false;
  // True if `true` in the text part ties the head even if the whole file says `false`.
  bool text_ties = false;
  bool never_tied = false;  // whatever the file says
  const char* part = kTextConfig;
  const char* ties = "tie_word_embeddings";  // in the whole, beside the usual name
  // JSON: fields with the values that the library takes where a text part of this wrapper leaves
  // them out, before those of the part's family. Null: none.
  const char* absent = nullptr;
};

constexpr const char* kVoxtralAbsent =
    R"({"vocab_size": 131072, "hidden_size": 3072, "intermediate_size": 8192,
        "num_hidden_layers": 30, "num_key_value_heads": 8, "max_position_embeddings": 131072,
        "rms_norm_eps": 1e-5, "rope_theta": 1e8, "head_dim": 128})";
constexpr const char* kGlmAsrAbsent =
    R"({"vocab_size": 59264, "hidden_size": 2048, "intermediate_size": 6144,
        "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 4,
        "max_position_embeddings": 8192, "rms_norm_eps": 1e-5,
        "eos_token_id": [59246, 59253, 59255],
        "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

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
    {.model_type = "voxtral", .text = "llama", .never_tied = true, .absent = kVoxtralAbsent},
    {.model_type = "qwen2_audio", .text = "qwen2", .never_tied = true},
    {.model_type = "audioflamingo3", .text = "qwen2", .never_tied = true},
    {.model_type = "glmasr", .text = "llama", .tied = true, .absent = kGlmAsrAbsent},
    {.model_type = "qwen3_asr", .text = "qwen3", .tied = true},
};

// Families that scale or cap the products with the head. Programs differ in whether a wrapper of
// them does so too.
constexpr std::string_view kNotWrapped[] = {"cohere",     "cohere2",          "granite",
                                            "granitemoe", "granitemoeshared", "granitemoehybrid",
                                            "gemma2",     "gemma4_text"};

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

// Types with families of their own in which `true` in the text part ties the head although the
// whole says `false`.
constexpr std::string_view kTextTies[] = {"qwen2_5_vl", "glm4v", "glm4v_moe"};

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
    return in_file(source, bad_file("'{}' is {}, expected an object", name,
                                    part == file.end() ? "absent" : found_text(*part)));
  json object = *part;
  if (object.contains(kType) && (object[kType].is_null() || object[kType] == ""))
    object.erase(kType);
  return object;
}

// Copies fields of the whole to its part. Fields of tokens and types that the part has stay.
void take_from_whole(const json& file, json& object) {
  for (const char* name : {kTied, "quantization_config"})
    if (file.contains(name)) object[name] = file[name];
  for (const char* name : {"bos_token_id", "eos_token_id", "dtype", "torch_dtype"})
    if (!object.contains(name) && file.contains(name)) object[name] = file[name];
}

bool is_true(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && *found == true;
}

void add_absent(const json& absent, json& object) {
  for (const auto& [name, value] : absent.items())
    if (!object.contains(name)) object[name] = value;
}

// Adds the absent fields of a wrapper. The part's own rotation counts, even under another name.
void add_absent(const Wrapper& wrapper, json& object) {
  if (wrapper.absent == nullptr) return;
  json absent = json::parse(wrapper.absent);
  constexpr const char *kRope = "rope_parameters", *kScaling = "rope_scaling";
  for (const char* name : {kRope, kScaling}) {
    const auto rope = object.find(name);
    if (rope == object.end() || !rope->is_object() || rope->empty()) continue;
    absent.erase(kRope);
    if (rope->contains("rope_theta")) absent.erase("rope_theta");
  }
  add_absent(absent, object);
}

// The text part of a wrapper, with the library's defaults for absent fields.
Result<json> wrapped_part(const json& file, const Wrapper& wrapper, std::string_view source) {
  Result<json> part = part_of(file, wrapper.part, source);
  if (!part) return part;
  json object = std::move(part).value();
  if (!object.contains(kType)) object[kType] = wrapper.text;
  const std::string type = object[kType].is_string() ? object[kType].get<std::string>() : "";
  const Family* family = find_family(type);
  if (family != nullptr && std::ranges::find(kNotWrapped, type) != std::end(kNotWrapped))
    return in_file(
        source,
        unsupported(
            "'{}.{}' is {} in a model of type {}, expected a family that does not scale or cap its "
            "logits",
            wrapper.part, kType, found_text(object[kType]), found_text(file[kType])));
  if (family != nullptr) object["architectures"] = {family->architecture};
  const bool text_ties = wrapper.text_ties && is_true(object, kTied);
  const json* whole = nullptr;
  for (const char* name : {wrapper.ties, kTied})
    if (whole == nullptr && file.contains(name)) whole = &file[name];
  // The library asks only the whole. `false` in the part stays: such a file has a head.
  const bool part_unties = object.contains(kTied) && object[kTied] == false;
  if (whole == nullptr && !part_unties) object[kTied] = wrapper.tied;
  take_from_whole(file, object);
  if (whole != nullptr) object[kTied] = *whole;
  if (text_ties && object[kTied] == false) object[kTied] = true;
  if (wrapper.never_tied) object[kTied] = false;
  add_absent(wrapper, object);
  for (const auto& [name, sizes] : kAbsent)
    if (type == name) add_absent(json::parse(sizes), object);
  return object;
}

}  // namespace

bool has_text_part(const json& whole) {
  json file = whole;
  use_known_type(file);
  const auto type = file.find(kType);
  if (type == file.end()) return false;
  return std::ranges::any_of(kWrappers,
                             [&](const Wrapper& wrapper) { return *type == wrapper.model_type; }) ||
         std::ranges::any_of(families(), [&](const Family* family) {
           return family->wrapper != nullptr && *type == family->wrapper;
         });
}

std::vector<std::string_view> types_with_text_part() {
  std::vector<std::string_view> types;
  const auto add = [&](std::string_view type) {
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
  };
  for (const Family* family : families())
    if (family->wrapper != nullptr) add(family->wrapper);
  for (const Wrapper& wrapper : kWrappers) add(wrapper.model_type);
  return types;
}

Result<json> text_part(const json& whole, std::string_view source) {
  json file = whole;
  use_known_type(file);
  const auto all = families();
  const auto type = file.find(kType);
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
  const json own_type = object.contains(kType) ? object[kType] : json();
  use_known_type(object);
  if (!object.contains(kType)) object[kType] = (*wrapped)->name;
  const auto named = std::ranges::find_if(all, [&](const Family* family) {
    return is_wrapped(family) && object[kType] == family->name;
  });
  if (named != all.end()) {
    wrapped = named;
  } else if (object[kType].is_string() &&
             find_family(object[kType].get<std::string>()) != nullptr) {
    std::vector<std::string_view> parts;
    for (const Family* family : all)
      if (is_wrapped(family)) parts.push_back(family->name);
    return in_file(
        source, unsupported("'{}.model_type' is {} in a model of type {}, expected {}", kTextConfig,
                            found_text(own_type), found_text(whole[kType]), one_of_these(parts)));
  }
  object["architectures"] = {(*wrapped)->architecture};
  const bool text_ties = is_true(object, kTied) &&
                         std::ranges::find(kTextTies, (*wrapped)->wrapper) != std::end(kTextTies);
  take_from_whole(file, object);
  if (text_ties) object[kTied] = true;
  return object;
}

}  // namespace pando::model
