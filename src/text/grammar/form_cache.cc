#include "text/grammar/form_cache.h"

#include <algorithm>
#include <bitset>
#include <span>
#include <utility>

#include "base/errors.h"
#include "base/json.h"
#include "base/json_value.h"
#include "text/decoder_run.h"
#include "text/grammar/grammar.h"

namespace pando::grammar {
namespace {

size_t bytes_of(const TextForm& form, const Grammar& grammar,
                std::span<const std::string> warnings) {
  size_t n = form.text.size() + n_bytes(form.schema) + grammar.n_bytes();
  for (const std::string& warning : warnings) n += sizeof(warning) + warning.size();
  for (const std::string& choice : form.choices) n += sizeof(choice) + choice.size();
  return n;
}

// Masks enforce a form by the bytes of tokens, so the decoder must not change these bytes.
Status check_decoding(const Grammar& grammar, const Decoding* decoding) {
  if (decoding == nullptr) return {};
  std::bitset<256> bytes;
  for (uint32_t state = 0; state < grammar.n_states(); ++state)
    for (const Grammar::Step& step : grammar.steps(state))
      for (int byte = step.first; byte <= step.last; ++byte) bytes.set(static_cast<size_t>(byte));
  for (const std::string& changed : decoding->changed)
    if (std::ranges::all_of(changed, [&](char c) { return bytes[static_cast<uint8_t>(c)]; }))
      return unsupported(
          "the tokenizer's decoder may change {} in an answer, so an answer cannot have a form "
          "that may contain it",
          changed.empty() ? "any text" : "the text " + json_text(changed));
  return {};
}

Result<GrammarPtr> compile(const TextForm& form, std::vector<std::string>* warnings) {
  switch (form.kind) {
    case TextForm::Kind::kJsonSchema:
      return form.schema.is_null() ? from_json_schema(form.text, warnings)
                                   : from_json_schema(form.schema, warnings);
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

Status check_form(FormCache* forms, const TextForm& form) {
  if (forms == nullptr)
    return unsupported("the model has no tokenizer, so an answer cannot have a form");
  if (const auto masks = forms->get(form); !masks) return masks.error();
  return {};
}

const MaskStorePtr& FormCache::store() {
  std::call_once(made_store_, [&] {
    store_ =
        std::make_shared<MaskStore>(std::make_shared<const Vocabulary>(tokenizer_, most_tokens_));
  });
  return store_;
}

Result<std::shared_ptr<const MaskTable>> FormCache::masks_of(GrammarPtr grammar) {
  if (Status kept = check_decoding(*grammar, tokenizer_.decoding()); !kept) return kept.error();
  return std::make_shared<const MaskTable>(std::move(grammar), store());
}

std::shared_ptr<const MaskTable> FormCache::find(const TextForm& form) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(entries_, form, &Entry::form);
  if (found == entries_.end()) return nullptr;
  std::shared_ptr<const MaskTable> masks = found->masks.lock();
  if (masks != nullptr) use(found, masks);
  return masks;
}

std::optional<Error> FormCache::find_refusal(const TextForm& form) {
  const std::scoped_lock lock(mutex_);
  if (!refusal_ || refusal_->form != form) return std::nullopt;
  return refusal_->error;
}

// Call with the lock.
void FormCache::use(std::list<Entry>::iterator entry, std::shared_ptr<const MaskTable> masks) {
  entry->kept = std::move(masks);
  entries_.splice(entries_.begin(), entries_, entry);
  size_t n_bytes = 0;
  for (Entry& one : entries_) {
    if (one.kept == nullptr) continue;
    n_bytes += one.n_bytes;
    if (n_bytes > most_bytes_) one.kept = nullptr;
  }
  entries_.remove_if([](const Entry& one) { return one.masks.expired(); });
}

Result<std::shared_ptr<const MaskTable>> FormCache::get(const TextForm& form) {
  if (std::shared_ptr<const MaskTable> masks = find(form)) return masks;
  if (std::optional<Error> error = find_refusal(form)) return *std::move(error);
  // Compiles without the lock, so that other requests do not wait for it.
  std::vector<std::string> warnings;
  ++n_compiled_;
  Result<GrammarPtr> grammar = compile(form, &warnings);
  if (grammar)
    if (Status kept = check_decoding(**grammar, tokenizer_.decoding()); !kept)
      grammar = kept.error();
  if (!grammar) {
    const std::scoped_lock lock(mutex_);
    refusal_ = {form, grammar.error()};
    return grammar.error();
  }
  const size_t n_bytes = bytes_of(form, **grammar, warnings);
  std::shared_ptr<const MaskTable> masks =
      std::make_shared<const MaskTable>(std::move(*grammar), store());
  std::list<Entry> added;
  added.push_back({form, n_bytes, std::move(warnings), masks, nullptr});
  const std::scoped_lock lock(mutex_);
  entries_.remove_if([&](const Entry& entry) { return entry.form == form; });
  entries_.splice(entries_.begin(), added);
  use(entries_.begin(), masks);
  return masks;
}

std::vector<std::string> FormCache::warnings_of(const TextForm& form) {
  const auto masks = get(form);  // held, so that its entry stays
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(entries_, form, &Entry::form);
  return masks && found != entries_.end() ? found->warnings : std::vector<std::string>();
}

size_t FormCache::n_kept() {
  const std::scoped_lock lock(mutex_);
  return static_cast<size_t>(
      std::ranges::count_if(entries_, [](const Entry& entry) { return entry.kept != nullptr; }));
}

}  // namespace pando::grammar
