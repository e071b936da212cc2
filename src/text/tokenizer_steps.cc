#include "text/tokenizer_steps.h"

#include <algorithm>
#include <array>

namespace pando {
namespace {

// The steps of a field in order: of a Sequence its elements (under `list`), else the field alone.
Result<std::vector<JsonPlace>> steps_of(const JsonPlace& place, std::string_view list) {
  std::vector<JsonPlace> steps;
  if (place.absent()) return steps;
  if (place.type_name() != "Sequence") return std::vector{place};
  const JsonPlace elements = place.at(list);
  if (Status array = elements.expect_array(); !array.ok()) return array.error();
  for (size_t i = 0; i < elements.json().size(); ++i) steps.push_back(elements.at(i));
  return steps;
}

// {"pattern": {"String": from}, "content": to}
Result<normal::Replace> read_replace(const JsonPlace& place) {
  const JsonPlace pattern = place.at("pattern");
  if (pattern.at("String").absent()) return pattern.not_offered("a pattern of type String");
  Result<std::string> from = pattern.at("String").text();
  if (!from.ok()) return from.error();
  if (from->empty()) return pattern.at("String").wrong("at least one character");
  Result<std::string> to = place.at("content").text();
  if (!to.ok()) return to.error();
  return normal::Replace{std::move(*from), std::move(*to)};
}

Result<pre::Split> read_split(const JsonPlace& place) {
  const Result<std::string> behavior = place.at("behavior").text();
  if (!behavior.ok()) return behavior.error();
  if (*behavior != "Isolated") return place.at("behavior").not_offered("Isolated");
  const Result<bool> invert = place.at("invert").boolean(false);
  if (!invert.ok()) return invert.error();
  if (*invert) return place.at("invert").not_offered("false");
  const JsonPlace pattern = place.at("pattern").at("Regex");
  if (pattern.absent()) return place.at("pattern").not_offered("a pattern of type Regex");
  const Result<std::string> regex = pattern.text();
  if (!regex.ok()) return regex.error();
  const std::array known = {kGpt2Pattern, kQwen2Pattern, kLlama3Pattern};
  if (std::find(known.begin(), known.end(), *regex) == known.end()) {
    return pattern.not_offered("the regular expressions of GPT-2, Qwen2 and Llama 3");
  }
  Result<SplitPattern> compiled = SplitPattern::compile(*regex);
  if (!compiled.ok()) return compiled.error();
  return pre::Split{std::move(*compiled)};
}

// Newer files say prepend_scheme, older ones add_prefix_space.
Result<pre::Metaspace> read_metaspace(const JsonPlace& place) {
  using Prepend = pre::Metaspace::Prepend;
  pre::Metaspace step;
  Result<std::string> mark = place.at("replacement").text();
  if (!mark.ok()) return mark.error();
  if (mark->empty()) return place.at("replacement").wrong("one character");
  step.mark = std::move(*mark);
  const Result<bool> split = place.at("split").boolean(true);
  if (!split.ok()) return split.error();
  step.split = *split;
  const Result<bool> prefix = place.at("add_prefix_space").boolean(true);
  if (!prefix.ok()) return prefix.error();
  step.prepend = *prefix ? Prepend::kAlways : Prepend::kNever;
  if (place.at("prepend_scheme").absent()) return step;
  const Result<std::string> scheme = place.at("prepend_scheme").text();
  if (!scheme.ok()) return scheme.error();
  if (*scheme == "always") {
    step.prepend = Prepend::kAlways;
  } else if (*scheme == "first") {
    step.prepend = Prepend::kFirst;
  } else if (*scheme == "never") {
    step.prepend = Prepend::kNever;
  } else {
    return place.at("prepend_scheme").not_offered("always, first, never");
  }
  return step;
}

Status read_byte_level(const JsonPlace& place, std::vector<PreStep>* steps) {
  const Result<bool> space = place.at("add_prefix_space").boolean(true);
  if (!space.ok()) return space.error();
  if (*space) steps->emplace_back(pre::SpaceBefore{});
  const Result<bool> cut = place.at("use_regex").boolean(true);
  if (!cut.ok()) return cut.error();
  if (!*cut) return {};
  Result<SplitPattern> compiled = SplitPattern::compile(kGpt2Pattern);
  if (!compiled.ok()) return compiled.error();
  steps->emplace_back(pre::Split{std::move(*compiled)});
  return {};
}

Status read_decoder_step(const JsonPlace& step, Decoder* decoder) {
  const std::string_view type = step.type_name();
  if (type == "ByteLevel") {
    decoder->byte_level = true;
  } else if (type == "ByteFallback") {
    decoder->byte_fallback = true;
  } else if (type == "Replace") {
    const auto replace = read_replace(step);
    if (!replace.ok()) return replace.error();
    if (replace->to != " ") return step.at("content").not_offered("a space");
    decoder->space_mark = replace->from;
  } else if (type == "Metaspace") {
    const auto metaspace = read_metaspace(step);
    if (!metaspace.ok()) return metaspace.error();
    decoder->space_mark = metaspace->mark;
    decoder->strips_leading_space = metaspace->prepend != pre::Metaspace::Prepend::kNever;
  } else if (type == "Strip") {
    const Json& fields = step.json();
    const bool one_space = fields.value("content", Json()) == " " &&
                           fields.value("start", Json()) == 1 && fields.value("stop", Json()) == 0;
    if (!one_space) return step.not_offered("one space stripped from the start");
    decoder->strips_leading_space = true;
  } else if (type != "Fuse") {
    return step.not_offered("ByteLevel, ByteFallback, Replace, Metaspace, Strip, Fuse");
  }
  return {};
}

// {"single": [{"SpecialToken": {"id": text}}, {"Sequence": ...}]}
Result<std::optional<Token>> read_template(const JsonPlace& place, const Vocab& vocab) {
  const JsonPlace single = place.at("single");
  if (Status array = single.expect_array(); !array.ok()) return array.error();
  const size_t n = single.json().size();
  const bool bare = n == 1 && !single.at(0).at("Sequence").absent();
  if (bare) return std::optional<Token>();
  const bool one_before = n == 2 && !single.at(1).at("Sequence").absent();
  if (!one_before) return single.not_offered("at most one special token, before the text");
  const JsonPlace name = single.at(0).at("SpecialToken").at("id");
  const Result<std::string> text = name.text();
  if (!text.ok()) return text.error();
  const auto id = vocab.find(*text);
  if (!id) return name.wrong("a token of the vocabulary");
  return id;
}

}  // namespace

Result<Normalizer> read_normalizer(const JsonPlace& place) {
  std::vector<NormalStep> steps;
  const auto list = steps_of(place, "normalizers");
  if (!list.ok()) return list.error();
  for (const JsonPlace& step : *list) {
    if (step.type_name() == "NFC") {
      steps.emplace_back(normal::Nfc{});
    } else if (step.type_name() == "Prepend") {
      Result<std::string> text = step.at("prepend").text();
      if (!text.ok()) return text.error();
      steps.emplace_back(normal::Prepend{std::move(*text)});
    } else if (step.type_name() == "Replace") {
      Result<normal::Replace> replace = read_replace(step);
      if (!replace.ok()) return replace.error();
      steps.emplace_back(std::move(*replace));
    } else {
      return step.not_offered("NFC, Prepend, Replace");
    }
  }
  return Normalizer(std::move(steps));
}

Result<PreTokenizerField> read_pre_tokenizer(const JsonPlace& place) {
  PreTokenizerField field;
  std::vector<PreStep> steps;
  const auto list = steps_of(place, "pretokenizers");
  if (!list.ok()) return list.error();
  for (const JsonPlace& step : *list) {
    if (field.byte_level) return step.not_offered("no step after ByteLevel");
    if (step.type_name() == "Split") {
      Result<pre::Split> split = read_split(step);
      if (!split.ok()) return split.error();
      steps.emplace_back(std::move(*split));
    } else if (step.type_name() == "ByteLevel") {
      if (Status done = read_byte_level(step, &steps); !done.ok()) return done.error();
      field.byte_level = true;
    } else if (step.type_name() == "Metaspace") {
      Result<pre::Metaspace> metaspace = read_metaspace(step);
      if (!metaspace.ok()) return metaspace.error();
      steps.emplace_back(std::move(*metaspace));
    } else {
      return step.not_offered("Split, ByteLevel, Metaspace");
    }
  }
  field.steps = PreTokenizer(std::move(steps));
  return field;
}

Result<Decoder> read_decoder(const JsonPlace& place) {
  Decoder decoder;
  const auto list = steps_of(place, "decoders");
  if (!list.ok()) return list.error();
  for (const JsonPlace& step : *list) {
    if (Status done = read_decoder_step(step, &decoder); !done.ok()) return done.error();
  }
  return decoder;
}

Result<std::optional<Token>> read_post_processor(const JsonPlace& place, const Vocab& vocab) {
  std::optional<Token> first;
  const auto list = steps_of(place, "processors");
  if (!list.ok()) return list.error();
  for (const JsonPlace& step : *list) {
    if (step.type_name() == "ByteLevel") continue;  // about offsets only
    if (step.type_name() != "TemplateProcessing") {
      return step.not_offered("TemplateProcessing, ByteLevel");
    }
    const auto token = read_template(step, vocab);
    if (!token.ok()) return token.error();
    if (*token) first = *token;
  }
  return first;
}

}  // namespace pando
