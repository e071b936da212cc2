// Memory layout of recurrent states in a state slot. No other file describes it.
//
// A state slot holds the states of all recurrent layers after one position of one path, in f32. The
// part of one layer is, in this order:
//
//   inputs    [conv_taps - 1, channels]: the last input rows of its convolution, the oldest first;
//             zeros for positions before the first; then padding to a whole cache line
//   matrices  [n_heads] [ceil(value_dim / 32)] [key_dim] [32]: a head's state in slices of 32
//             columns; columns from value_dim on are padding, and never used
#pragma once

#include <cstddef>
#include <cstdint>

#include "contract/pages.h"

namespace pando::kernel {

constexpr int kStateSlice = 32;  // columns

// Shape of the state of one layer.
struct StateShape {
  int conv_rows = 0;  // conv_taps - 1
  int channels = 0;
  int n_heads = 0;
  int key_dim = 0;
  int value_dim = 0;

  int n_slices() const { return (value_dim + kStateSlice - 1) / kStateSlice; }
  size_t slice_floats() const { return size_t{kStateSlice} * key_dim; }
  size_t conv_floats() const { return (size_t(conv_rows) * channels + 15) / 16 * 16; }
  size_t matrix_offset(int head, int slice) const {
    return conv_floats() + (size_t(head) * n_slices() + slice) * slice_floats();
  }
  size_t n_floats() const { return matrix_offset(n_heads, 0); }
};

// One layer's part of each slot.
struct StateView {
  float* base = nullptr;   // of the layer's part of slot 0
  size_t slot_floats = 0;  // from one slot to the next
  StateShape shape;

  float* slot(StateSlot id) const { return base + slot_floats * id; }
};

}  // namespace pando::kernel
