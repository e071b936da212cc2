// Compiled forms of answers, for one tokenizer.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "pando/request.h"
#include "text/grammar/mask_table.h"

namespace pando::grammar {

// Keeps the forms that were asked for last, and all that somebody holds. Any thread.
class FormCache {
 public:
  // The tokenizer outlives it.
  explicit FormCache(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // Compiles a form that is not there. Errors name what is malformed (kInvalidArgument) or not
  // supported (kUnsupported).
  Result<std::shared_ptr<MaskTable>> get(const TextForm& form);

 private:
  struct Entry {
    TextForm form;
    std::weak_ptr<MaskTable> masks;
  };
  std::shared_ptr<MaskTable> find(const TextForm& form);
  void keep(const std::shared_ptr<MaskTable>& masks);
  VocabularyPtr vocabulary();

  const Tokenizer& tokenizer_;
  std::once_flag made_vocabulary_;
  VocabularyPtr vocabulary_;
  std::mutex mutex_;
  std::list<Entry> entries_;
  std::list<std::shared_ptr<MaskTable>> kept_;  // the last used first
};

}  // namespace pando::grammar
