// Objects of a schema: properties in its order, then names that are none of them.
#include <algorithm>

#include "text/grammar/json_rules.h"
#include "text/grammar/limits.h"
#include "text/grammar/schema_compiler.h"

namespace pando::grammar {

namespace {

constexpr size_t kMostPlaces = 40'000;  // properties times counts
// Keys that are read as one automaton; more of them are several at a time.
constexpr size_t kKeysTogether = 16;

}  // namespace

// The automaton of one object. A place is the number of properties that are passed, and the number
// that were written, up to `cap_`.
class ObjectRule {
 public:
  ObjectRule(SchemaCompiler* compiler, std::vector<SchemaCompiler::Property> properties,
             std::vector<SchemaCompiler::FreeNames> free)
      : compiler_(*compiler),
        builder_(compiler->builder_),
        properties_(std::move(properties)),
        free_(std::move(free)) {}

  // False if they take too many places.
  bool add(size_t least, size_t most, Builder::State from, Builder::State to) {
    const size_t n = properties_.size();
    least_ = least;
    counts_most_ = most != SIZE_MAX && (!free_.empty() || most < n);
    most_ = most;
    cap_ = std::max(counts_most_ ? most : 0, least);
    if ((n + 1) > kMostPlaces / (cap_ + 1)) return false;
    to_ = to;
    last_required_ = n;
    while (last_required_ > 0 && !properties_[last_required_ - 1].is_required) --last_required_;
    keys_.assign((n + 1) * (cap_ + 1), kNoState);
    afters_ = keys_;
    const Builder::State open = builder_.text(from, "{");
    if (can_close(0, 0)) builder_.bytes(open, '}', '}', to);
    builder_.empty(open, key(0, 0));
    while (!todo_.empty() && !builder_.is_too_large()) {
      const auto [i, count] = todo_.back();
      todo_.pop_back();
      fill_key(i, count);
    }
    return true;
  }

 private:
  static constexpr Builder::State kNoState = UINT32_MAX;

  bool can_close(size_t i, size_t count) const { return i >= last_required_ && count >= least_; }

  // State at the beginning of the name of property i, or of a later one.
  Builder::State key(size_t i, size_t count) {
    Builder::State& at = keys_[i * (cap_ + 1) + count];
    if (at == kNoState) {
      at = builder_.state();
      todo_.emplace_back(i, count);
    }
    return at;
  }
  // State behind a value.
  Builder::State after(size_t i, size_t count) {
    count = std::min(count, cap_);
    Builder::State& at = afters_[i * (cap_ + 1) + count];
    if (at == kNoState) {
      at = builder_.state();
      if (can_close(i, count)) builder_.bytes(at, '}', '}', to_);
      builder_.separator(at, ',', key(i, count));
    }
    return at;
  }
  Builder::State colon(Builder::State from) {
    const Builder::State behind = builder_.state();
    builder_.separator(from, ':', behind);
    return behind;
  }
  void fill_key(size_t i, size_t count) {
    if (counts_most_ && count >= most_) return;
    const Builder::State at = keys_[i * (cap_ + 1) + count];
    if (i == properties_.size()) {
      for (const auto& names : free_) {
        const Builder::State name = builder_.state();
        builder_.call(at, names.key, name);
        builder_.call(colon(name), compiler_.rule_of(names.schemas), after(i, count + 1));
      }
      return;
    }
    const auto& property = properties_[i];
    const Builder::State value = colon(builder_.text(at, compact_text(Json(property.name))));
    builder_.call(value, compiler_.rule_of(property.schemas), after(i + 1, count + 1));
    if (property.is_required) return;
    const Builder::State next = key(i + 1, count);
    if ((i + 1) % kKeysTogether == 0 || i + 1 == properties_.size())
      builder_.jump(at, next);
    else
      builder_.empty(at, next);
  }

  SchemaCompiler& compiler_;
  Builder& builder_;
  std::vector<SchemaCompiler::Property> properties_;
  std::vector<SchemaCompiler::FreeNames> free_;
  size_t least_ = 0, most_ = SIZE_MAX, cap_ = 0;
  bool counts_most_ = false;
  size_t last_required_ = 0;  // behind the last one
  Builder::State to_ = 0;
  std::vector<Builder::State> keys_, afters_;  // of a place
  std::vector<std::pair<size_t, size_t>> todo_;
};

std::vector<std::string> SchemaCompiler::names_of(const SchemaFacts& facts) const {
  std::vector<std::string> names;
  std::unordered_set<std::string> known;
  for (const Node part : facts.parts)
    if (const Node properties = SchemaDocument::find(part, "properties"))
      for (const auto& [name, inside] : properties->items())
        if (known.insert(name).second) names.push_back(name);
  for (const std::string& name : facts.required)
    if (known.insert(name).second) names.push_back(name);
  return names;
}

std::optional<SchemaCompiler::AllowedNames> SchemaCompiler::allowed_names(
    const SchemaFacts& facts) {
  Parts schemas;
  for (const Node part : facts.parts)
    if (const Node names = SchemaDocument::find(part, "propertyNames")) schemas.push_back(names);
  if (schemas.empty()) return std::nullopt;
  const std::vector<Parts> cases = cases_.of(schemas);
  if (cases.size() > 1) {
    document_.refuse(facts.parts[0], "a 'propertyNames' with anyOf, oneOf or a similar keyword");
    return std::nullopt;
  }
  if (cases.empty()) return AllowedNames();
  const SchemaFacts of_names(cases[0], &document_);
  if ((of_names.types & kString) == 0) return AllowedNames();
  if (!of_names.values && !of_names.has_string_facts() && of_names.not_values.empty())
    return std::nullopt;
  const CharDfa* allowed = strings_of(of_names, &document_);
  if (allowed == nullptr) return std::nullopt;
  const AllowedNames names{*allowed, of_names.lengths()};
  if (!of_names.values) return names;
  std::vector<Regex> texts;
  for (const Json* value : *of_names.values)
    if (value->is_string()) {
      const auto& text = value->get_ref<const std::string&>();
      if (names.have(text)) texts.push_back(of_text(text));
    }
  auto of_texts = document_.automaton_of(one_of(std::move(texts)));
  if (!of_texts) {
    document_.exceed(facts.parts[0], "the conditions on property names are together {}",
                     of_texts.error().message());
    return std::nullopt;
  }
  return AllowedNames{std::move(*of_texts), {}};
}

std::vector<SchemaCompiler::FreeNames> SchemaCompiler::free_names(
    const SchemaFacts& facts, const std::vector<std::string>& names,
    const std::optional<AllowedNames>& allowed) {
  struct Pattern {
    const CharDfa* matches;
    std::string text;
  };
  std::vector<FreeNames> free;
  std::vector<Pattern> patterns;
  for (const Node part : facts.parts)
    if (const Node all = SchemaDocument::find(part, "patternProperties"))
      for (const auto& [text, inside] : all->items()) {
        if (std::ranges::find(patterns, text, &Pattern::text) != patterns.end()) continue;
        const CharDfa* matches = document_.matches_of(text, part);
        if (matches == nullptr) return {};
        patterns.push_back({matches, text});
        document_.work(patterns.size() / 16);
        if (patterns.size() > kMostNamePatterns)
          return document_.exceed(part, "more than {} 'patternProperties'", kMostNamePatterns),
                 free;
      }
  const auto schemas_where = [&](const std::vector<bool>& is_matched) {
    Parts schemas;
    for (const Node part : facts.parts) {
      bool is_known = false;
      if (const Node all = SchemaDocument::find(part, "patternProperties"))
        for (size_t i = 0; i < patterns.size(); ++i)
          if (const Node inside =
                  is_matched[i] ? SchemaDocument::find(all, patterns[i].text) : nullptr) {
            schemas.push_back(inside);
            is_known = true;
          }
      if (const Node more = SchemaDocument::find(part, "additionalProperties");
          more != nullptr && !is_known)
        schemas.push_back(more);
    }
    return schemas;
  };
  const auto keep = [&](const std::optional<CharDfa>& keys, const std::vector<bool>& is_matched) {
    document_.work(patterns.size() * patterns.size() / 256);
    Parts schemas = schemas_where(is_matched);
    if (is_never(schemas) || document_.has_failed()) return;
    Rule key = 0;
    if (!keys) {
      key = string_rule(&builder_);
    } else {
      key = builder_.add_rule();
      fill_strings(key, *keys, allowed ? allowed->lengths : Lengths(), facts.parts[0]);
    }
    free.push_back({key, std::move(schemas)});
  };
  // Names are parted by the patterns that they match.
  const auto refuse = [&](const Error& error) {
    document_.exceed(facts.parts[0], "the conditions on property names are together {}",
                     error.message());
  };
  std::vector<bool> is_matched(patterns.size(), false);
  const auto part_names = [&](const auto& self, const std::optional<CharDfa>& keys,
                              size_t i) -> void {
    document_.work(8);
    if (document_.has_failed() || (keys && keys->is_empty())) return;
    if (i == patterns.size()) return keep(keys, is_matched);
    for (const bool is_in : {true, false}) {
      const CharDfa of_pattern = is_in ? *patterns[i].matches : patterns[i].matches->complement();
      const auto both = keys ? document_.both(*keys, of_pattern) : Result<CharDfa>(of_pattern);
      if (!both) return refuse(both.error());
      is_matched[i] = is_in;
      self(self, *both, i + 1);
    }
  };
  if (patterns.empty() && is_never(schemas_where({}))) return {};
  std::optional<CharDfa> keys;
  if (allowed) keys = allowed->texts;
  if (!names.empty()) {
    std::vector<Regex> texts;
    for (const std::string& name : names) texts.push_back(of_text(name));
    const auto named = document_.automaton_of(one_of(std::move(texts)));
    if (!named) return refuse(named.error()), free;
    auto others =
        keys ? document_.both(*keys, named->complement()) : Result<CharDfa>(named->complement());
    if (!others) return refuse(others.error()), free;
    keys = std::move(*others);
  }
  part_names(part_names, keys, 0);
  return free;
}

std::optional<std::vector<SchemaCompiler::Property>> SchemaCompiler::properties_of(
    const SchemaFacts& facts, const std::vector<std::string>& names,
    const std::optional<AllowedNames>& allowed) {
  std::vector<Property> properties;
  for (const std::string& name : names) {
    document_.work();
    Parts schemas = property_of(facts.parts, name, &document_);
    const bool is_required = facts.is_required.contains(name);
    if (document_.has_failed()) return std::nullopt;
    if ((allowed && !allowed->have(name)) || is_never(schemas)) {
      if (is_required) return std::nullopt;
      continue;
    }
    properties.push_back({name, std::move(schemas), is_required});
  }
  return properties;
}

std::optional<std::vector<SchemaCompiler::Property>> SchemaCompiler::members_of(
    const Parts& schemas) {
  const std::vector<Parts> cases = cases_.of(schemas);
  if (cases.size() != 1) return std::nullopt;
  const SchemaFacts facts(cases[0], &document_);
  if (document_.has_failed() || (facts.types & kObject) == 0 || facts.values ||
      !facts.not_values.empty() || facts.max_properties != SIZE_MAX ||
      facts.min_properties > facts.required.size())
    return std::nullopt;
  return properties_of(facts, names_of(facts), allowed_names(facts));
}

void SchemaCompiler::add_objects(const SchemaFacts& facts, State from, State to) {
  const std::vector<std::string> names = names_of(facts);
  const auto allowed = allowed_names(facts);
  auto properties = properties_of(facts, names, allowed);
  if (!properties) return;
  const auto n_required =
      static_cast<size_t>(std::ranges::count_if(*properties, &Property::is_required));
  auto free = free_names(facts, names, allowed);
  if (document_.has_failed()) return;
  const size_t least = facts.min_properties > n_required ? facts.min_properties : 0;
  if (least > n_required + 1 && !free.empty())
    // A name that is written twice counts once.
    return document_.refuse(
        facts.parts[0],
        "a 'minProperties' of {} where property names are allowed that the schema does not list",
        least);
  const size_t n = properties->size();
  if (free.empty() && least > n) return;  // no object is valid
  ObjectRule rule(this, *std::move(properties), std::move(free));
  if (rule.add(least, facts.max_properties, from, to)) return;
  if (n >= kMostPlaces)
    document_.refuse(facts.parts[0], "more than {} properties", kMostPlaces - 1);
  else
    document_.refuse(facts.parts[0],
                     "a 'minProperties' or 'maxProperties' above {} beside {} listed properties",
                     kMostPlaces / (n + 1) - 1, n);
}

}  // namespace pando::grammar
