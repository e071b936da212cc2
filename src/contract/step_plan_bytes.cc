#include "contract/step_plan_bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <type_traits>

#include "base/errors.h"

namespace pando {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kMagic = 0x4e414c50;  // "PLAN"
constexpr uint32_t kVersion = 1;
constexpr size_t kWord = sizeof(uint32_t);

// Calls use(id, list) for every list of a plan. Ids are never given to another list.
template <class Plan, class Use>
void for_each_list(Plan& plan, const Use& use) {
  use(1u, plan.tokens);
  use(2u, plan.positions);
  use(3u, plan.slot_begin);
  use(4u, plan.slots);
  use(5u, plan.copies);
  use(6u, plan.tasks);
  use(7u, plan.task_pages);
  use(8u, plan.outputs);
  use(9u, plan.state_tasks);
  use(10u, plan.state_writes);
  use(11u, plan.windows.slot_begin);
  use(12u, plan.windows.slots);
  use(13u, plan.windows.copies);
  use(14u, plan.windows.task_pages);
  use(15u, plan.hidden_only);
  use(16u, plan.texts);
  use(17u, plan.token_types);
}

template <class List>
constexpr size_t words_each() {
  using Element = typename List::value_type;
  static_assert(std::is_trivially_copyable_v<Element> && sizeof(Element) % kWord == 0 &&
                alignof(Element) == kWord);
  return sizeof(Element) / kWord;
}

class WordReader {
 public:
  explicit WordReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t n_left() const { return bytes_.size() / kWord; }
  uint32_t next() {
    uint32_t word = 0;
    copy(&word, 1);
    return word;
  }
  // There are n words left.
  void copy(void* to, size_t n) {
    std::memcpy(to, bytes_.data(), n * kWord);
    bytes_ = bytes_.subspan(n * kWord);
  }

 private:
  std::span<const std::byte> bytes_;
};

// Reads the section's n words, all of them there, to the plan's list. False if there is none, or
// n is no whole number of its elements.
bool read_section(StepPlan& plan, uint32_t id, uint32_t n, WordReader& words) {
  bool known = false;
  for_each_list(plan, [&](uint32_t of_list, auto& list) {
    using List = std::remove_reference_t<decltype(list)>;
    if (of_list != id || !list.empty() || n == 0 || n % words_each<List>() != 0) return;
    list.resize(n / words_each<List>());
    words.copy(list.data(), n);
    known = true;
  });
  return known;
}

bool are_sound(const std::vector<TextPasses>& texts, const StepPlan& plan) {
  uint32_t row = 0;
  for (const TextPasses& text : texts) {
    if (text.row_begin != row || text.row_end <= row || text.row_end > plan.tokens.size())
      return false;
    row = text.row_end;
    if (std::pair(text.first_pass, text.first_row) >= std::pair(text.end_pass, text.end_row) ||
        text.first_row >= text.n_rows() || text.end_row > text.n_rows())
      return false;
  }
  for (uint32_t i = 0; i < row; ++i)
    if (plan.slot_begin[i] != i) return false;
  return texts.empty() || (row == plan.tokens.size() && plan.slots.size() == row);
}

Status check_sound(const StepPlan& plan) {
  const size_t n_rows = plan.tokens.size();
  const auto fail = [](const char* what) {
    return invalid_argument("step plan: {}, expected a plan written by to_bytes", what);
  };
  if (plan.positions.size() != n_rows) return fail("the numbers of positions and tokens differ");
  const auto divides = [&](const std::vector<uint32_t>& begin, size_t n_slots) {
    return begin.size() == n_rows + 1 && begin[0] == 0 && begin.back() == n_slots &&
           std::ranges::is_sorted(begin);
  };
  if (!divides(plan.slot_begin, plan.slots.size()))
    return fail("slot_begin does not divide the slots among the rows");
  const WindowLists& windows = plan.windows;
  if (windows != WindowLists{} && (!divides(windows.slot_begin, windows.slots.size()) ||
                                   windows.task_pages.size() != plan.task_pages.size()))
    return fail("the lists of window pages do not fit the rows and tasks");
  for (const AttentionTask& task : plan.tasks)
    if (task.row_begin >= task.row_end || task.row_end > n_rows || task.n_pages == 0 ||
        uint64_t{task.first_page} + task.n_pages > plan.task_pages.size())
      return fail("a task names rows or pages that the plan does not have");
  if (!are_sound(plan.texts, plan)) return fail("the texts do not divide the rows");
  if (!plan.token_types.empty() && plan.token_types.size() != n_rows)
    return fail("the numbers of token types and tokens differ");
  uint32_t row = 0;
  for (const StateTask& task : plan.state_tasks) {
    if (task.row_begin != row || task.row_end <= row || task.row_end > n_rows)
      return fail("the state tasks do not divide the rows");
    row = task.row_end;
  }
  if (!plan.state_tasks.empty() && row != n_rows)
    return fail("the state tasks do not divide the rows");
  if (!std::ranges::is_sorted(plan.state_writes, std::less_equal<>(), &StateWrite::row) ||
      (!plan.state_writes.empty() &&
       (plan.state_tasks.empty() || plan.state_writes.back().row >= n_rows)))
    return fail(
        "the state writes are not in ascending order, or name rows that the plan does not have");
  for (const StateWrite& write : plan.state_writes)
    if (write.to == kNoStateSlot) return fail("a state is written to no slot");
  if (!std::ranges::is_sorted(plan.outputs, std::less_equal<>()) ||
      (!plan.outputs.empty() && plan.outputs.back() >= n_rows))
    return fail("the outputs are not in ascending order, or name rows that the plan does not have");
  if (!std::ranges::is_sorted(plan.hidden_only, std::less_equal<>()) ||
      !std::ranges::includes(plan.outputs, plan.hidden_only))
    return fail("the outputs without logits are not in ascending order, or are no outputs");
  return {};
}

}  // namespace

std::vector<std::byte> to_bytes(const StepPlan& plan) {
  std::vector<uint32_t> head = {kMagic, kVersion, 0};
  size_t n_words = head.size();
  for_each_list(plan, [&](uint32_t, const auto& list) {
    using List = std::remove_cvref_t<decltype(list)>;
    if (list.empty()) return;
    ++head[2];
    n_words += 2 + list.size() * words_each<List>();
  });
  std::vector<std::byte> bytes(n_words * kWord);
  std::byte* to = bytes.data();
  const auto write = [&to](const void* from, size_t n) {
    std::memcpy(to, from, n * kWord);
    to += n * kWord;
  };
  write(head.data(), head.size());
  for_each_list(plan, [&](uint32_t id, const auto& list) {
    using List = std::remove_cvref_t<decltype(list)>;
    if (list.empty()) return;
    const size_t n = list.size() * words_each<List>();
    const uint32_t section[] = {id, static_cast<uint32_t>(n)};
    write(section, 2);
    write(list.data(), n);
  });
  return bytes;
}

Result<StepPlan> step_plan_from_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() % kWord != 0 || bytes.size() < 3 * kWord)
    return invalid_argument(
        "step plan: {} bytes, expected a multiple of the word size, at least 3 words",
        bytes.size());
  WordReader words(bytes);
  const uint32_t magic = words.next(), version = words.next();
  if (magic != kMagic || version != kVersion)
    return invalid_argument("step plan: begins with {:#x} and version {}, expected {:#x} and {}",
                            magic, version, kMagic, kVersion);
  const uint32_t n_sections = words.next();
  StepPlan plan;
  for (uint32_t i = 0; i < n_sections; ++i) {
    if (words.n_left() < 2)
      return invalid_argument("step plan: the data ends inside section {} of {}", i + 1,
                              n_sections);
    const uint32_t id = words.next(), n = words.next();
    if (n > words.n_left())
      return invalid_argument("step plan: section {} has {} words, {} are left", id, n,
                              words.n_left());
    if (!read_section(plan, id, n, words))
      return invalid_argument(
          "step plan: section {} with {} words, expected a known section, at most once, with "
          "complete elements",
          id, n);
  }
  if (words.n_left() > 0)
    return invalid_argument("step plan: {} words after the last section, expected none",
                            words.n_left());
  if (Status status = check_sound(plan); !status) return status.error();
  return plan;
}

}  // namespace pando
