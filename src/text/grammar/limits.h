// Limits of compilation, so that a hostile text ends in a refusal that names one of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pando::grammar {

inline constexpr size_t kMostTextBytes = 2u << 20;    // of a schema, a grammar or a pattern
inline constexpr size_t kMostPatternStates = 50'000;  // of one pattern's automaton over characters
inline constexpr size_t kMostPatternCells =
    4'000'000;  // its states times its classes of characters
inline constexpr size_t kMostPatternNodes =
    100'000;  // of a pattern, with its repetitions written out
inline constexpr size_t kMostPatternRanges = 1'000'000;  // of characters, in all its sets
inline constexpr size_t kMostClassWork = 4'000'000;  // sets that its classes of characters are in
inline constexpr size_t kMostNfaStates =
    1'000'000;                                  // of all rules, before they are made deterministic
inline constexpr size_t kMostStates = 300'000;  // of all rules, deterministic
inline constexpr size_t kMostSubsetWork = 60'000'000;  // members of state sets handled in doing so
inline constexpr size_t kMostRules = 50'000;
inline constexpr size_t kMostCases = 2'000;  // alternatives that one place of a schema expands to
inline constexpr size_t kMostSchemaWork =
    400'000;                                 // steps of reading a schema (SchemaDocument::work)
inline constexpr size_t kMostChoices = 500;  // of "anyOf" and the like, open at once
inline constexpr size_t kMostNamePatterns = 500;      // of "patternProperties" of one object
inline constexpr size_t kMostNesting = 200;           // brackets in a pattern or a grammar
inline constexpr size_t kMostRepetitions = 8;         // of one part, one behind the other: "a*?{2}"
inline constexpr size_t kMostConfigs = 20'000;        // ways to read the text so far, kept at once
inline constexpr size_t kMostChartWork = 20'000'000;  // the same for one mask, in all
inline constexpr size_t kMostMaskBytes = 128u << 20;  // of masks that are kept, for a vocabulary
inline constexpr size_t kMostFormBytes = 64u
                                         << 20;   // of compiled forms that are kept, for the same
inline constexpr size_t kMostCount = 1'000'000;   // largest bound of lengths, items or repetitions
inline constexpr size_t kMostLength = 2'097'152;  // largest bound of a schema's strings

}  // namespace pando::grammar
