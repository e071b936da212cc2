#include "lab/techniques/techniques.h"

namespace pando::lab {

void register_techniques() {
  static constexpr NamedTechnique kTechniques[] = {
      {"radix", radix_technique},
      {"prepacked", prepacked_technique},
      {"padded", padded_technique},
      {"length_ordered", length_ordered_technique},
      {"hydragen", hydragen_technique},
      {"stacked", stacked_technique},
      {"no_attention", no_attention_technique},
  };
  pando::register_techniques(kTechniques);
}

}  // namespace pando::lab
