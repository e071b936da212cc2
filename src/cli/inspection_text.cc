#include "cli/inspection_text.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "base/counted.h"
#include "base/machine.h"
#include "cli/report.h"

namespace pando::cli {

double part_of(uint64_t n, uint64_t all) {
  return all > 0 ? static_cast<double>(n) / static_cast<double>(all) : 0;
}

namespace {

// Tells of prompts that do not fit.
std::string need_text(const Inspection& i) {
  return fmt::format(
      "{} would be refused, and the longest needs up to {}{}. All other figures include {}",
      counted(i.no_room, "prompts"), counted(i.longest_path, "tokens"),
      i.kv_memory_needed > 0
          ? fmt::format(", for which a --kv-memory of {} is enough", bytes_text(i.kv_memory_needed))
          : ", for which no --kv-memory is enough",
      i.no_room == 1 ? "it" : "them");
}

}  // namespace

std::string inspection_text(const Inspection& i) {
  std::string text;
  const auto say = [&]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  };
  say("{} from {}, {} in all; the longest prompt has {}; all answers together have at most {}\n",
      counted(i.prompts, "prompts"), counted(i.lines, "lines"), counted(i.prompt_tokens, "tokens"),
      i.longest_prompt, counted(i.answer_tokens, "tokens"));
  if (i.bad_lines + i.too_long + i.refused > 0)
    say("cannot be run: {}, {} too long{}, {} refused for other reasons\n",
        counted(i.bad_lines, "bad lines"), counted(i.too_long, "prompts"),
        i.kv_memory_needed > 0 ? fmt::format(" ({} of them only because of --kv-memory)", i.no_room)
                               : "",
        i.refused);
  if (i.room > 0)
    say("--kv-memory has room for prompts of up to {}, answer included; {}\n",
        counted(i.room, "tokens"), i.no_room == 0 ? "all prompts fit" : need_text(i));
  if (i.repeated_ids > 0)
    say("{} the same 'custom_id' as an earlier line\n",
        i.repeated_ids == 1 ? "1 line has" : fmt::format("{} lines have", i.repeated_ids));
  if (i.equal_ids > 0)
    say("{} the same id as an earlier line, such as {}\n",
        i.equal_ids == 1 ? "1 line has" : fmt::format("{} lines have", i.equal_ids),
        quoted(i.equal_id));
  const auto teraflops = [&](uint64_t n_tokens, double n_keys) {
    return 1e-12 * (static_cast<double>(n_tokens) * i.flops_per_token + n_keys * i.flops_per_key);
  };
  if (i.prompt_tokens == 0) return text;
  say("shared: {} {} computed instead of {}, {:.1f}% reused\n",
      counted(i.distinct_tokens, "tokens"), i.distinct_tokens == 1 ? "is" : "are", i.prompt_tokens,
      100 * (1 - part_of(i.distinct_tokens, i.prompt_tokens)));
  const double work = teraflops(i.distinct_tokens, i.distinct_keys);
  say("work: about {:.3g} instead of {:.3g} TFLOP for prompts ({:.0f}% of it attention), {:.3g} "
      "for answers of full length\n",
      work, teraflops(i.prompt_tokens, i.prompt_keys), 100 * teraflops(0, i.distinct_keys) / work,
      teraflops(i.answer_tokens, i.answer_keys));
  say("keys and values: {} for the longest prompt with its answer, {} for all prompts\n",
      size_text(i.longest_path * i.kv_bytes), size_text(i.distinct_tokens * i.kv_bytes));
  if (!i.stops.empty())
    say("where sharing ends (the end of the shared text, then how most prompts continue):\n");
  for (const Inspection::Stop& stop : i.stops) {
    say("  {} prompts share {} tokens, then split {} ways with {} different tokens: ...{}\n",
        stop.prompts, stop.shared_tokens, stop.ways, stop.tokens_behind, quoted(stop.before));
    for (const std::string& after : stop.after) say("      {}...\n", quoted(after));
  }
  const uint64_t saved = i.distinct_tokens - i.reordered_tokens;
  if (i.repeated_passages > 0 && part_of(saved, i.distinct_tokens) >= 0.01)
    say("{} passages appear in several contexts after different text, so they are not shared. With "
        "the passages in one order, the most frequent first, about {} tokens would be computed "
        "instead of {} ({:.1f}% fewer). The answers may change, because the prompts do\n",
        i.repeated_passages, i.reordered_tokens, i.distinct_tokens,
        100 * part_of(saved, i.distinct_tokens));
  return text;
}

}  // namespace pando::cli
