// The bytes of a body's prompts, in the order in which the model sees them, read without tokenizer
// and chat template. Bodies with equal beginnings share keys and values, so a router hashes these
// bytes in pieces (schedule/pieces.h). Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "base/json.h"

namespace pando::ask {

// The work that a body asks for, as far as a router needs to know it.
struct PromptWork {
  size_t n_bytes = 0;             // of all prompts
  size_t n_answers = 1;           // answers that are generated; 0: none
  std::optional<int> max_tokens;  // of an answer; absent: what the context has room for
  double ttft_slo = 0;            // seconds until the first token is due; 0: not said
  bool stream = false;
  bool cached = true;                // false: it leaves nothing in the cache
  std::string previous_response_id;  // whose conversation stands before its prompt; empty: none
};

// Gives the bytes of the prompts to `add`, piece by piece. `path`: of an engine route. A body that
// the route refuses gives any bytes.
PromptWork read_prompt_bytes(std::string_view path, const Json& body,
                             FunctionRef<void(std::string_view)> add);

}  // namespace pando::ask
