// Long texts and their tokens, found again by how a text begins.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace pando {

// Any thread. The texts used last are kept.
class TextMemo {
 public:
  // A place where encoding can begin again: see SafeCuts.
  struct Cut {
    size_t at;        // byte of the text
    size_t n_tokens;  // before it
  };
  struct Text {
    std::string bytes;
    std::vector<Cut> cuts;      // ascending, at least one
    std::vector<Token> tokens;  // up to the last cut
  };
  // The beginning that a text has in common with a remembered one, up to a cut.
  struct Beginning {
    std::shared_ptr<const Text> of;  // null: none
    size_t n_cuts = 0;

    Cut end() const { return of == nullptr ? Cut{0, 0} : of->cuts[n_cuts - 1]; }
  };

  void set_limits(const TextMemoLimits& limits) { limits_ = limits; }
  const TextMemoLimits& limits() const { return limits_; }

  Beginning find(std::string_view text);
  // `cuts` follow those of `beginning`; `tokens` are all of the text. Keeps the text in place of
  // one that it continues, or beside the others if most of it is new.
  void add(std::string_view text, const Beginning& beginning, std::span<const Cut> cuts,
           std::span<const Token> tokens);

 private:
  TextMemoLimits limits_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Text>> texts_;  // the one used last first; guarded by mutex_
  size_t n_bytes_ = 0;                              // of texts_
};

}  // namespace pando
