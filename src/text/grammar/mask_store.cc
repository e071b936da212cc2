#include "text/grammar/mask_store.h"

#include <utility>

namespace pando::grammar {

namespace {

constexpr size_t kEntryBytes = 192;  // of the entry around a mask

size_t bytes_of(const StateMask& mask) {
  return kEntryBytes + mask.bits.size() * sizeof(uint64_t) + mask.rests.n_bytes();
}

}  // namespace

uint64_t MaskStore::new_grammar() {
  const std::lock_guard lock(mutex_);
  return ++n_grammars_;
}

std::shared_ptr<const StateMask> MaskStore::find(Key key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = young_.masks.find(key); found != young_.masks.end()) return found->second;
  const auto found = old_.masks.find(key);
  if (found == old_.masks.end()) return nullptr;
  auto mask = std::move(found->second);
  old_.masks.erase(found);
  old_.n_bytes -= bytes_of(*mask);
  add_locked(key, mask);
  return mask;
}

void MaskStore::add(Key key, std::shared_ptr<const StateMask> mask) {
  const std::lock_guard lock(mutex_);
  add_locked(key, std::move(mask));
}

void MaskStore::add_locked(Key key, std::shared_ptr<const StateMask> mask) {
  const size_t n_bytes = bytes_of(*mask);
  if (n_bytes > most_bytes_ / 2) return;
  if (young_.n_bytes + n_bytes > most_bytes_ / 2) old_ = std::exchange(young_, {});
  if (young_.masks.emplace(key, std::move(mask)).second) young_.n_bytes += n_bytes;
}

size_t MaskStore::n_bytes() {
  const std::lock_guard lock(mutex_);
  return young_.n_bytes + old_.n_bytes;
}

}  // namespace pando::grammar
