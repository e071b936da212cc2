// Options of an engine that fills its steps by predicted time (docs/scheduling.md).
#pragma once

namespace pando {

// Deadlines in seconds for requests that give none themselves.
struct DeadlineClass {
  double ttft_slo = 1;       // from arrival to the first token, at least
  double ttft_per_work = 4;  // times the predicted seconds of the prompt, where that is more
  double tpot_slo = 0.2;     // from one token to the next
};

struct PackingOptions {
  bool whole_prompts = false;  // no chunks: at least one prompt, and more as far as they fit
  // Share of the budget that a long prefill yields at most, under a policy that shares steps.
  double rho_max = 0.4;
  double long_factor = 1;  // a prefill is long while its rest takes more than this many budgets
  // Share of the budget for prefill even if decodes leave less; also the share of an aged prefill.
  double least_share = 0.1;
  // Under a policy that shares steps: a prefill is aged once it has waited for this multiple of the
  // time that was left to its deadline when it came. The oldest goes first, with its share alone.
  double aging = 4;
};

}  // namespace pando
