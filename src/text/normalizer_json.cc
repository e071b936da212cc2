#include "text/normalizer_json.h"

#include "text/base64.h"
#include "text/tokenizer_steps.h"

namespace pando {
namespace {

constexpr std::string_view kOfferedNormalizers =
    "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, Precompiled, Nmt, "
    "BertNormalizer";

// {"pattern": {"String": from} or {"Regex": expression}, "content": to}
Result<NormalStep> read_replace_step(const JsonPlace& place) {
  if (is_text_pattern(place.at("pattern"))) {
    Result<normal::Replace> replace = read_replace(place);
    if (!replace.ok()) return replace.error();
    return NormalStep(std::move(*replace));
  }
  Result<SplitPattern> pattern = read_pattern(place.at("pattern"));
  if (!pattern.ok()) return pattern.error();
  Result<std::string> to = place.at("content").text();
  if (!to.ok()) return to.error();
  return NormalStep(normal::ReplaceMatches{std::move(*pattern), std::move(*to)});
}

Result<NormalStep> read_strip(const JsonPlace& place) {
  const Result<bool> left = place.at("strip_left").boolean(true);
  if (!left.ok()) return left.error();
  const Result<bool> right = place.at("strip_right").boolean(true);
  if (!right.ok()) return right.error();
  return NormalStep(normal::Strip{*left, *right});
}

Result<NormalStep> read_bert(const JsonPlace& place) {
  normal::Bert step;
  const std::pair<const char*, bool*> flags[] = {{"clean_text", &step.clean},
                                                 {"handle_chinese_chars", &step.ideographs},
                                                 {"lowercase", &step.lowercase}};
  for (const auto& [name, flag] : flags) {
    const Result<bool> value = place.at(name).boolean(true);
    if (!value.ok()) return value.error();
    *flag = *value;
  }
  const Result<bool> accents = place.at("strip_accents").boolean(step.lowercase);
  if (!accents.ok()) return accents.error();
  step.strip_accents = *accents;
  return NormalStep(step);
}

Result<NormalStep> read_character_map(const JsonPlace& place) {
  const JsonPlace map = place.at("precompiled_charsmap");
  const Result<std::string> text = map.text();
  if (!text.ok()) return text.error();
  auto bytes = from_base64(*text);
  if (!bytes || !is_character_map(*bytes)) {
    return map.wrong("a character map of SentencePiece in base64");
  }
  return NormalStep(normal::MapCharacters{std::make_shared<const CharacterMap>(std::move(*bytes))});
}

Result<NormalStep> read_normal_step(const JsonPlace& place) {
  const std::string_view type = place.type_name();
  if (type == "NFC") return NormalStep(UnicodeForm::kNfc);
  if (type == "NFD") return NormalStep(UnicodeForm::kNfd);
  if (type == "NFKC") return NormalStep(UnicodeForm::kNfkc);
  if (type == "NFKD") return NormalStep(UnicodeForm::kNfkd);
  if (type == "Lowercase") return NormalStep(normal::Lowercase{});
  if (type == "StripAccents") return NormalStep(normal::StripAccents{});
  if (type == "Strip") return read_strip(place);
  if (type == "Replace") return read_replace_step(place);
  if (type == "Precompiled") return read_character_map(place);
  if (type == "Nmt") return NormalStep(normal::Nmt{});
  if (type == "BertNormalizer") return read_bert(place);
  if (type != "Prepend") return place.not_offered(kOfferedNormalizers);
  Result<std::string> text = place.at("prepend").text();
  if (!text.ok()) return text.error();
  return NormalStep(normal::Prepend{std::move(*text)});
}

}  // namespace

Result<Normalizer> read_normalizer(const JsonPlace& place) {
  const auto list = steps_of(place, "normalizers");
  if (!list.ok()) return list.error();
  std::vector<NormalStep> steps;
  for (const JsonPlace& element : *list) {
    Result<NormalStep> step = read_normal_step(element);
    if (!step.ok()) return step.error();
    steps.push_back(std::move(*step));
  }
  return Normalizer(std::move(steps));
}

}  // namespace pando
