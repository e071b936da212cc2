#include "text/grammar/form_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/errors.h"
#include "text/grammar/grammar.h"

namespace pando::grammar {
namespace {

constexpr size_t kMostKept = 64;

Result<GrammarPtr> compile(const TextForm& form) {
  switch (form.kind) {
    case TextForm::Kind::kJsonSchema:
      return from_json_schema(form.text);
    case TextForm::Kind::kJsonObject:
      return from_any_json(/*only_objects=*/true);
    case TextForm::Kind::kRegex:
      return from_regex(form.text);
    case TextForm::Kind::kChoices:
      return from_choices(form.choices);
    case TextForm::Kind::kGbnf:
      return from_gbnf(form.text);
    case TextForm::Kind::kLark:
      return from_lark(form.text);
  }
  return invalid_argument("unknown kind of form");
}

}  // namespace

VocabularyPtr FormCache::vocabulary() {
  std::call_once(made_vocabulary_,
                 [&] { vocabulary_ = std::make_shared<const Vocabulary>(tokenizer_); });
  return vocabulary_;
}

std::shared_ptr<MaskTable> FormCache::find(const TextForm& form) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(entries_, form, &Entry::form);
  if (found == entries_.end()) return nullptr;
  std::shared_ptr<MaskTable> masks = found->masks.lock();
  if (masks != nullptr) keep(masks);
  return masks;
}

// With the lock.
void FormCache::keep(const std::shared_ptr<MaskTable>& masks) {
  kept_.remove(masks);
  kept_.push_front(masks);
  if (kept_.size() > kMostKept) kept_.pop_back();
}

Result<std::shared_ptr<MaskTable>> FormCache::get(const TextForm& form) {
  if (std::shared_ptr<MaskTable> masks = find(form)) return masks;
  // Without the lock: what others ask for does not wait for it.
  Result<GrammarPtr> grammar = compile(form);
  if (!grammar) return grammar.error();
  auto masks = std::make_shared<MaskTable>(std::move(*grammar), vocabulary());
  std::list<Entry> added;
  added.push_back({form, masks});
  const std::scoped_lock lock(mutex_);
  entries_.remove_if(
      [&](const Entry& entry) { return entry.masks.expired() || entry.form == form; });
  entries_.splice(entries_.begin(), added);
  keep(masks);
  return masks;
}

}  // namespace pando::grammar
