#include "text/pre_tokenizer_json.h"

#include <algorithm>
#include <array>

#include "text/tokenizer_steps.h"

namespace pando {
namespace {

using Keep = pre::Split::Keep;

constexpr std::string_view kOfferedPreTokenizers =
    "Split, ByteLevel, Metaspace, Digits, Punctuation, Whitespace, WhitespaceSplit, "
    "BertPreTokenizer";

constexpr std::string_view kPunctuation = R"([\p{P}$+<=>^`|~])";
constexpr std::string_view kSpaces = R"(\s)";
// The library's words have the two joiners, Oniguruma's have not.
constexpr std::string_view kWords = R"([\w\x{200C}\x{200D}]+|[^\w\s\x{200C}\x{200D}]+)";

Result<Keep> read_behavior(const JsonPlace& place) {
  static constexpr std::array<std::pair<std::string_view, Keep>, 5> kNames = {
      {{"Isolated", Keep::kAll},
       {"Removed", Keep::kBetween},
       {"MergedWithPrevious", Keep::kWithPrevious},
       {"MergedWithNext", Keep::kWithNext},
       {"Contiguous", Keep::kRuns}}};
  const Result<std::string> name = place.text();
  if (!name.ok()) return name.error();
  for (const auto& [known, keep] : kNames) {
    if (*name == known) return keep;
  }
  return place.not_offered("Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous");
}

// Appends a Split by an expression of our own.
Status add_split(std::string_view expression, Keep keep, bool invert, std::vector<PreStep>* steps) {
  Result<SplitPattern> pattern = SplitPattern::compile(expression);
  if (!pattern.ok()) return pattern.error();
  steps->emplace_back(pre::Split{std::move(*pattern), keep, invert});
  return {};
}

Status read_split(const JsonPlace& place, std::vector<PreStep>* steps) {
  const Result<Keep> keep = read_behavior(place.at("behavior"));
  if (!keep.ok()) return keep.error();
  const Result<bool> invert = place.at("invert").boolean(false);
  if (!invert.ok()) return invert.error();
  Result<SplitPattern> pattern = read_pattern(place.at("pattern"));
  if (!pattern.ok()) return pattern.error();
  steps->emplace_back(pre::Split{std::move(*pattern), *keep, *invert});
  return {};
}

Status read_digits(const JsonPlace& place, std::vector<PreStep>* steps) {
  const Result<bool> each = place.at("individual_digits").boolean(false);
  if (!each.ok()) return each.error();
  return add_split(R"(\p{N})", *each ? Keep::kAll : Keep::kRuns, false, steps);
}

Status read_punctuation(const JsonPlace& place, std::vector<PreStep>* steps) {
  const JsonPlace behavior = place.at("behavior");
  const Result<Keep> keep = behavior.absent() ? Result<Keep>(Keep::kAll) : read_behavior(behavior);
  if (!keep.ok()) return keep.error();
  return add_split(kPunctuation, *keep, false, steps);
}

Status read_byte_level(const JsonPlace& place, std::vector<PreStep>* steps) {
  const Result<bool> space = place.at("add_prefix_space").boolean(true);
  if (!space.ok()) return space.error();
  if (*space) steps->emplace_back(pre::SpaceBefore{});
  const Result<bool> cut = place.at("use_regex").boolean(true);
  if (!cut.ok()) return cut.error();
  return *cut ? add_split(kGpt2Pattern, Keep::kAll, false, steps) : Status();
}

Status read_pre_step(const JsonPlace& place, std::vector<PreStep>* steps) {
  const std::string_view type = place.type_name();
  if (type == "Split") return read_split(place, steps);
  if (type == "ByteLevel") return read_byte_level(place, steps);
  if (type == "Digits") return read_digits(place, steps);
  if (type == "Punctuation") return read_punctuation(place, steps);
  if (type == "Whitespace") return add_split(kWords, Keep::kBetween, true, steps);
  if (type == "WhitespaceSplit") return add_split(kSpaces, Keep::kBetween, false, steps);
  if (type == "BertPreTokenizer") {
    const Status spaces = add_split(kSpaces, Keep::kBetween, false, steps);
    return spaces.ok() ? add_split(kPunctuation, Keep::kAll, false, steps) : spaces;
  }
  if (type != "Metaspace") return place.not_offered(kOfferedPreTokenizers);
  Result<pre::Metaspace> metaspace = read_metaspace(place);
  if (!metaspace.ok()) return metaspace.error();
  steps->emplace_back(std::move(*metaspace));
  return {};
}

}  // namespace

Result<PreTokenizerField> read_pre_tokenizer(const JsonPlace& place) {
  const auto list = steps_of(place, "pretokenizers");
  if (!list.ok()) return list.error();
  PreTokenizerField field;
  std::vector<PreStep> steps;
  for (const JsonPlace& step : *list) {
    // A step after ByteLevel would see its alphabet instead of the text.
    if (field.byte_level) return step.not_offered("no step after ByteLevel");
    if (Status done = read_pre_step(step, &steps); !done.ok()) return done.error();
    field.byte_level = step.type_name() == "ByteLevel";
  }
  field.steps = PreTokenizer(std::move(steps));
  return field;
}

}  // namespace pando
