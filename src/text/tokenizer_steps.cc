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

Status append_token(const JsonPlace& name, const Vocab& vocab, std::vector<Token>* tokens) {
  const Result<std::string> text = name.text();
  if (!text.ok()) return text.error();
  const auto id = vocab.find(*text);
  if (!id) return name.wrong("a token of the vocabulary");
  tokens->push_back(*id);
  return {};
}

// Reads {"single": [{"SpecialToken": {"id": text}}, {"Sequence": ...}, ...]}: the tokens around a
// text.
Status read_template(const JsonPlace& place, const Vocab& vocab, PostProcessor* around) {
  const JsonPlace single = place.at("single");
  if (Status array = single.expect_array(); !array.ok()) return array;
  bool text_is_past = false;
  for (size_t i = 0; i < single.json().size(); ++i) {
    const JsonPlace element = single.at(i);
    if (!element.at("Sequence").absent()) {
      if (text_is_past) return single.wrong("one Sequence");
      text_is_past = true;
      continue;
    }
    std::vector<Token>* side = text_is_past ? &around->after : &around->before;
    const Status done = append_token(element.at("SpecialToken").at("id"), vocab, side);
    if (!done.ok()) return done;
  }
  return text_is_past ? Status() : Status(single.wrong("one Sequence"));
}

// {"cls": [text, id], "sep": [text, id]}
Status read_classifier(const JsonPlace& place, const Vocab& vocab, PostProcessor* around) {
  const Status before = append_token(place.at("cls").at(0), vocab, &around->before);
  return before.ok() ? append_token(place.at("sep").at(0), vocab, &around->after) : before;
}

}  // namespace

Result<PostProcessor> read_post_processor(const JsonPlace& place, const Vocab& vocab) {
  PostProcessor around;
  const auto list = steps_of(place, "processors");
  if (!list.ok()) return list.error();
  for (const JsonPlace& step : *list) {
    const std::string_view type = step.type_name();
    if (type == "ByteLevel") continue;  // about offsets only
    const bool again = !around.before.empty() || !around.after.empty();
    if (again) return step.not_offered("one step that adds tokens");
    const bool is_classifier = type == "BertProcessing" || type == "RobertaProcessing";
    if (!is_classifier && type != "TemplateProcessing") {
      return step.not_offered("TemplateProcessing, ByteLevel, BertProcessing, RobertaProcessing");
    }
    const Status done =
        is_classifier ? read_classifier(step, vocab, &around) : read_template(step, vocab, &around);
    if (!done.ok()) return done.error();
  }
  return around;
}

}  // namespace pando
