// Compiled forms of answers, for one tokenizer.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pando/values/request.h"
#include "text/grammar/mask_table.h"

namespace pando::grammar {

class FormCache;

// Checks that answers of a model can have the form. forms: null if the model has no tokenizer.
// Errors: those of FormCache::get, and kUnsupported without a tokenizer.
Status check_form(FormCache* forms, const TextForm& form);

// Cache of compiled forms: keeps the latest within kMostFormBytes, and finds all that are in use.
// Any thread.
class FormCache {
 public:
  // The tokenizer must outlive it. `most_tokens`: the model has only ids below this.
  explicit FormCache(const Tokenizer& tokenizer, size_t most_bytes = kMostFormBytes,
                     size_t most_tokens = SIZE_MAX)
      : tokenizer_(tokenizer), most_bytes_(most_bytes), most_tokens_(most_tokens) {}

  // Returns a form; compiles it if it is not cached. Errors name the part that is malformed
  // (kInvalidArgument) or not supported (kUnsupported). The last refusal is kept.
  Result<std::shared_ptr<const MaskTable>> get(const TextForm& form);

  // Warnings about a form; none if the form is refused. Compiles the form if it is not kept.
  std::vector<std::string> warnings_of(const TextForm& form);

  // The masks of another grammar. kUnsupported if the tokenizer's decoder changes its texts.
  Result<std::shared_ptr<const MaskTable>> masks_of(GrammarPtr grammar);
  const Vocabulary& vocabulary() { return store()->vocabulary(); }

  size_t n_kept();  // forms
  // Forms compiled so far, refused ones too. For tests.
  size_t n_compiled() const { return n_compiled_.load(); }

 private:
  struct Entry {
    TextForm form;
    size_t n_bytes;
    std::vector<std::string> warnings;
    std::weak_ptr<const MaskTable> masks;
    std::shared_ptr<const MaskTable> kept;  // null: only answers may still hold it
  };
  struct Refusal {
    TextForm form;
    Error error;
  };
  std::optional<Error> find_refusal(const TextForm& form);
  std::shared_ptr<const MaskTable> find(const TextForm& form);
  void use(std::list<Entry>::iterator entry, std::shared_ptr<const MaskTable> masks);
  const MaskStorePtr& store();

  const Tokenizer& tokenizer_;
  const size_t most_bytes_;
  const size_t most_tokens_;
  std::once_flag made_store_;
  MaskStorePtr store_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
  std::optional<Refusal> refusal_;
  std::atomic<size_t> n_compiled_ = 0;  // for tests
};

}  // namespace pando::grammar
