// Items by priority, the lowest first; among equals the first item. Sorts only items that are
// taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace pando {

class ItemQueue {
 public:
  struct Entry {
    double priority;
    uint32_t item;
    auto operator<=>(const Entry&) const = default;
  };

  explicit ItemQueue(std::vector<Entry> entries) : entries_(std::move(entries)) { order(); }

  bool empty() const { return entries_.empty(); }
  Entry take() {
    std::ranges::pop_heap(entries_, std::greater());
    const Entry first = entries_.back();
    entries_.pop_back();
    return first;
  }
  // Drops all others.
  template <class Keep>
  void keep(const Keep& keep) {
    std::erase_if(entries_, [&](const Entry& entry) { return !keep(entry); });
    order();
  }

 private:
  void order() { std::ranges::make_heap(entries_, std::greater()); }

  std::vector<Entry> entries_;  // a heap
};

}  // namespace pando
