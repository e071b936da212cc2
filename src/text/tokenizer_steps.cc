#include "text/tokenizer_steps.h"

#include "text/utf8.h"

namespace pando {
namespace {

Status append_steps(const JsonPlace& place, std::string_view list, std::vector<JsonPlace>* steps) {
  if (place.absent()) return {};
  if (place.type_name() != "Sequence") {
    steps->push_back(place);
    return {};
  }
  const JsonPlace elements = place.at(list);
  if (Status array = elements.expect_array(); !array.ok()) return array;
  for (size_t i = 0; i < elements.json().size(); ++i) {
    if (Status done = append_steps(elements.at(i), list, steps); !done.ok()) return done;
  }
  return {};
}

}  // namespace

Result<std::vector<JsonPlace>> steps_of(const JsonPlace& place, std::string_view list) {
  std::vector<JsonPlace> steps;
  if (Status done = append_steps(place, list, &steps); !done.ok()) return done.error();
  if (steps.size() > kMostSteps) {
    return unsupported("'{}': field '{}' has {} steps, expected at most {}", place.file(),
                       place.name(), steps.size(), kMostSteps);
  }
  return steps;
}

Result<SplitPattern> read_pattern(const JsonPlace& place) {
  if (!place.at("String").absent()) {
    const Result<std::string> text = place.at("String").text();
    if (!text.ok()) return text.error();
    if (text->empty()) return place.at("String").wrong("at least one character");
    return SplitPattern::literal(*text);
  }
  const JsonPlace regex = place.at("Regex");
  if (regex.absent()) return place.not_offered("a pattern of type String or Regex");
  const Result<std::string> text = regex.text();
  if (!text.ok()) return text.error();
  Result<SplitPattern> pattern = SplitPattern::compile_of_file(*text);
  if (!pattern.ok()) {
    return unsupported("'{}': field '{}': {}", place.file(), regex.name(),
                       pattern.error().message());
  }
  return pattern;
}

bool is_text_pattern(const JsonPlace& pattern) {
  const JsonPlace regex = pattern.at("Regex");
  if (regex.absent() || !regex.json().is_string()) return regex.absent();
  const auto& expression = regex.json().get_ref<const std::string&>();
  return !expression.empty() && expression.find_first_of("\\^$.|?*+()[]{}") == expression.npos;
}

Result<normal::Replace> read_replace(const JsonPlace& place) {
  const JsonPlace pattern = place.at("pattern");
  if (!is_text_pattern(pattern)) return pattern.not_offered("a pattern that is a text");
  const JsonPlace text = pattern.at(pattern.at("Regex").absent() ? "String" : "Regex");
  if (text.absent()) return pattern.not_offered("a pattern of type String or Regex");
  Result<std::string> from = text.text();
  if (!from.ok()) return from.error();
  if (from->empty()) return text.wrong("at least one character");
  Result<std::string> to = place.at("content").text();
  if (!to.ok()) return to.error();
  return normal::Replace{std::move(*from), std::move(*to)};
}

Result<pre::Metaspace> read_metaspace(const JsonPlace& place) {
  using Prepend = pre::Metaspace::Prepend;
  pre::Metaspace step;
  Result<std::string> mark = place.at("replacement").text();
  if (!mark.ok()) return mark.error();
  const bool one = !mark->empty() && mark->size() == static_cast<size_t>(next_utf8(*mark).length);
  if (!one) return place.at("replacement").wrong("one character");
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

namespace {

Status append_token(const JsonPlace& name, int type, const Vocab& vocab,
                    std::vector<TemplatePart>* parts) {
  const Result<std::string> text = name.text();
  if (!text.ok()) return text.error();
  const auto id = vocab.find(*text);
  if (!id) return name.wrong("a token of the vocabulary");
  parts->push_back({.token = *id, .type = type});
  return {};
}

Result<int> read_type(const JsonPlace& place) {
  if (place.absent()) return 0;
  const Result<int64_t> type = place.integer();
  if (!type.ok()) return type.error();
  if (*type < 0 || *type > 255) return place.wrong("a token type from 0 to 255");
  return static_cast<int>(*type);
}

// Reads [{"SpecialToken": {"id": text, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
// ...]
Result<std::vector<TemplatePart>> read_parts(const JsonPlace& list, int n_texts,
                                             const Vocab& vocab) {
  if (Status array = list.expect_array(); !array.ok()) return array.error();
  std::vector<TemplatePart> parts;
  std::vector<int> times(2);
  for (size_t i = 0; i < list.json().size(); ++i) {
    const JsonPlace element = list.at(i);
    const JsonPlace sequence = element.at("Sequence");
    const JsonPlace part = sequence.absent() ? element.at("SpecialToken") : sequence;
    const Result<int> type = read_type(part.at("type_id"));
    if (!type.ok()) return type.error();
    if (sequence.absent()) {
      const Status done = append_token(part.at("id"), *type, vocab, &parts);
      if (!done.ok()) return done.error();
      continue;
    }
    const bool second = !part.at("id").absent() && part.at("id").json() == "B";
    ++times[second ? 1 : 0];
    parts.push_back({.text = second ? 1 : 0, .type = *type});
  }
  if (times[0] == 1 && times[1] == n_texts - 1) return parts;
  return list.wrong(n_texts == 1 ? "one Sequence" : "one Sequence A and one Sequence B");
}

Result<TextTemplates> read_template(const JsonPlace& place, const Vocab& vocab) {
  TextTemplates templates;
  Result<std::vector<TemplatePart>> single = read_parts(place.at("single"), 1, vocab);
  if (!single.ok()) return single.error();
  templates.single = std::move(*single);
  templates.pair = {{.text = 0}, {.text = 1, .type = 1}};
  if (place.at("pair").absent() || place.at("pair").json().empty()) return templates;
  Result<std::vector<TemplatePart>> pair = read_parts(place.at("pair"), 2, vocab);
  if (!pair.ok()) return pair.error();
  templates.pair = std::move(*pair);
  return templates;
}

// {"cls": [text, id], "sep": [text, id]}
Result<TextTemplates> read_classifier(const JsonPlace& place, const Vocab& vocab) {
  std::vector<TemplatePart> parts;
  for (const char* name : {"cls", "sep"})
    if (const Status done = append_token(place.at(name).at(0), 0, vocab, &parts); !done.ok())
      return done.error();
  const Token before[] = {parts[0].token}, after[] = {parts[1].token};
  if (place.type_name() == "BertProcessing") return templates_around(before, after, {}, 1);
  return templates_around(before, after, after);
}

}  // namespace

Result<PostProcessor> read_post_processor(const JsonPlace& place, const Vocab& vocab) {
  PostProcessor around;
  const auto list = steps_of(place, "processors");
  if (!list.ok()) return list.error();
  for (const JsonPlace& step : *list) {
    const std::string_view type = step.type_name();
    if (type == "ByteLevel") continue;  // about offsets only
    if (!around.templates.single.empty()) return step.not_offered("one step that adds tokens");
    const bool is_classifier = type == "BertProcessing" || type == "RobertaProcessing";
    if (!is_classifier && type != "TemplateProcessing") {
      return step.not_offered("TemplateProcessing, ByteLevel, BertProcessing, RobertaProcessing");
    }
    Result<TextTemplates> read =
        is_classifier ? read_classifier(step, vocab) : read_template(step, vocab);
    if (!read.ok()) return read.error();
    around.templates = std::move(*read);
  }
  TextTemplates& templates = around.templates;
  if (templates.single.empty())
    templates = {.single = {{.text = 0}}, .pair = {{.text = 0}, {.text = 1, .type = 1}}};
  bool text_is_past = false;
  for (const TemplatePart& part : templates.single) {
    if (part.text < 0) (text_is_past ? around.after : around.before).push_back(part.token);
    text_is_past |= part.text >= 0;
  }
  return around;
}

}  // namespace pando
