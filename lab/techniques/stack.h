// One stacked prompt of IPPD, and which of its cells see which cells.
#pragma once

#include <cstdint>
#include <vector>

namespace pando::lab {

// IPPD 4.1. A cell's index is its absolute position: header first, then answer tokens and pads as
// they come.
struct StackCells {
  static constexpr uint32_t kBeyond = UINT32_MAX;  // the virtual position of a pad (4.4)

  std::vector<uint32_t> position;  // [n] virtual: equations 2 to 5
  std::vector<uint32_t> context;   // [n] 0: of the instruction
  std::vector<uint32_t> question;  // [n] 0: of instruction or context

  uint32_t size() const { return static_cast<uint32_t>(position.size()); }
  void add(uint32_t pos, uint32_t of_context, uint32_t of_question) {
    position.push_back(pos);
    context.push_back(of_context);
    question.push_back(of_question);
  }
  void add_pad() { add(kBeyond, kBeyond, kBeyond); }

  // Equations 6 to 9.
  bool sees(uint32_t query, uint32_t key) const {
    return position[query] >= position[key] &&
           (context[key] == context[query] || context[key] == 0) &&
           (question[key] == question[query] || question[key] == 0);
  }
  // Row `query` of equation 10, as lab/kernel/masked_attention.h wants it.
  void append_mask(uint32_t query, uint32_t tile_len, std::vector<uint64_t>& masks) const {
    for (uint32_t first = 0; first < size(); first += tile_len) {
      uint64_t bits = 0;
      const uint32_t n = size() - first < tile_len ? size() - first : tile_len;
      for (uint32_t j = 0; j < n; ++j) bits |= uint64_t{sees(query, first + j)} << j;
      masks.push_back(bits);
    }
  }
};

}  // namespace pando::lab
