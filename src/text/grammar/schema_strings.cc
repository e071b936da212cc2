// Strings of a schema.
#include <algorithm>

#include "base/json.h"
#include "text/grammar/json_rules.h"
#include "text/grammar/schema_compiler.h"

namespace pando::grammar {

namespace {

// Longer strings are counted in blocks, whose rules are the same for all of them.
constexpr size_t kBlock = 256;
constexpr size_t kMostBlocks = 8'192;

bool excludes_strings(const SchemaFacts& facts) {
  return std::ranges::any_of(facts.not_values,
                             [](const Json* value) { return value->is_string(); });
}

}  // namespace

// Exactly n characters.
SchemaCompiler::State SchemaCompiler::characters(State from, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const State next = builder_.state();
    builder_.characters(from, CharSet::all(), Encoding::kJsonString, next);
    from = next;
  }
  return from;
}

SchemaCompiler::Rule SchemaCompiler::block() {
  if (!block_) {
    block_ = builder_.add_rule();
    builder_.empty(characters(builder_.start(*block_), kBlock), builder_.end(*block_));
  }
  return *block_;
}

SchemaCompiler::Rule SchemaCompiler::part_block() {
  if (!part_block_) {
    part_block_ = builder_.add_rule();
    State at = builder_.start(*part_block_);
    for (size_t i = 0; i < kBlock; ++i) {
      builder_.empty(at, builder_.end(*part_block_));
      if (i + 1 < kBlock) at = characters(at, 1);
    }
  }
  return *part_block_;
}

void SchemaCompiler::add_lengths(size_t least, size_t most, State from, State to) {
  const auto skip_blocks = [&](size_t n) {
    for (; n >= kBlock; n -= kBlock) {
      const State next = builder_.state();
      builder_.call(from, block(), next);
      from = next;
    }
    return n;
  };
  from = characters(from, skip_blocks(least));
  if (most == SIZE_MAX) {
    const State loop = builder_.state();
    builder_.empty(from, loop);
    builder_.characters(loop, CharSet::all(), Encoding::kJsonString, loop);
    builder_.empty(loop, to);
    return;
  }
  for (size_t n = most - least; n > 0;) {
    if (n < 2 * kBlock) {
      builder_.empty(from, to);
      from = characters(from, 1);
      --n;
    } else {
      builder_.call(from, part_block(), to);
      n = n - kBlock;
      const State next = builder_.state();
      builder_.call(from, block(), next);
      from = next;
    }
  }
  builder_.empty(from, to);
}

// Strings of the same lengths, patterns and formats have one rule, wherever they stand.
void SchemaCompiler::add_strings(const SchemaFacts& facts, State from, State to) {
  if (excludes_strings(facts)) return add_narrow_strings(facts, from, to);
  if (!facts.has_string_facts()) return builder_.call(from, string_rule(&builder_), to);
  const std::string key = json_text(
      Json{facts.min_length, facts.max_length, facts.patterns, facts.not_patterns, facts.formats});
  const auto [at, is_new] = string_rules_.try_emplace(key, 0);
  if (is_new) {
    at->second = builder_.add_rule();
    add_narrow_strings(facts, builder_.start(at->second), builder_.end(at->second));
  }
  builder_.call(from, at->second, to);
}

void SchemaCompiler::add_narrow_strings(const SchemaFacts& facts, State from, State to) {
  const State inside = builder_.text(from, "\""), end = builder_.state();
  builder_.bytes(end, '"', '"', to);
  if (facts.has_patterns() || excludes_strings(facts)) {
    if (const CharDfa* strings = strings_of(facts, &document_))
      builder_.automaton(inside, *strings, Encoding::kJsonString, end);
    return;
  }
  if (facts.min_length > facts.max_length) return;
  const size_t last = facts.max_length == SIZE_MAX ? facts.min_length : facts.max_length;
  if (last > kBlock * kMostBlocks)
    return document_.refuse(facts.parts[0], "a 'minLength' or 'maxLength' above {}",
                            kBlock * kMostBlocks);
  add_lengths(facts.min_length, facts.max_length, inside, end);
}

}  // namespace pando::grammar
