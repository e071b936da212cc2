// The techniques of the papers, one file each, and the libraries' baselines (lab/docs/planners.md).
#pragma once

#include "engine/technique.h"

namespace pando::lab {

Technique radix_technique(TechniqueOptions& options, int tile_len);
Technique prepacked_technique(TechniqueOptions& options, int tile_len);
Technique padded_technique(TechniqueOptions& options, int tile_len);
Technique length_ordered_technique(TechniqueOptions& options, int tile_len);
Technique hydragen_technique(TechniqueOptions& options, int tile_len);
Technique stacked_technique(TechniqueOptions& options, int tile_len);
Technique no_attention_technique(TechniqueOptions& options, int tile_len);

// Adds all these techniques to those that EngineOptions::sharing can name. To be called once,
// before any engine is opened.
void register_techniques();

}  // namespace pando::lab
