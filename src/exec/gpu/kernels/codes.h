// Numbers that hosts and kernels share, as macros alone.
#pragma once

#define ROW_PART 1024  // columns of a row that one work group takes

// Norms of rows.
#define NORM_NONE 0
#define NORM_RMS 1
#define NORM_LAYER 2

// Modes of row_norm.
#define NORM_ONLY 0       // x = norm(y)
#define NORM_THEN_ADD 1   // x += norm(y + bias) * factor
#define NORM_AFTER_ADD 2  // x = norm(x + (y + bias) * factor)

#define ACTIVATION_SILU 0
#define ACTIVATION_GELU_TANH 1
#define ACTIVATION_GELU_ERF 2
#define ACTIVATION_CLAMPED_SILU 3
#define ACTIVATION_SQUARED_RELU 4  // this and later ones have no gate
#define ACTIVATION_UNGATED_GELU 5
#define ACTIVATION_UNGATED_GELU_TANH 6

// Steps of a head, in this order.
#define HEAD_VALUES 1         // RMSNorm of values
#define HEAD_SUBTRACT_MEAN 2  // this and later steps: queries and keys
#define HEAD_NORM 4
#define HEAD_TURN 8
#define HEAD_NORM_TURNED 16
