#!/usr/bin/env python3
"""Prints the tables of docs/gpu.md: bytes and operations of an 8B model, against published limits of three cards."""

# GB/s of memory; 10^12 f32 instructions a second (half of the published Tflop/s); 10^12 s8 operations a second, dense.
CARDS = {"RTX 4090": (1008, 41.3, 660.6), "A100 80 GB SXM": (2039, 9.75, 624), "H200 SXM": (4800, 33.5, 1979)}

LAYERS, D, D_FF, VOCAB, HEADS, KV_HEADS, HEAD_DIM = 32, 4096, 14336, 128256, 32, 8, 128
OF_LAYERS = LAYERS * (D * (HEADS + 2 * KV_HEADS) * HEAD_DIM + HEADS * HEAD_DIM * D + 3 * D * D_FF)
HEAD = VOCAB * D
GROUP = 32
# A group's sum becomes a float, is multiplied by both scales, and is added.
F32_OF_GROUP = 3


def row(name, n_bytes, f32, s8):
    """Milliseconds by the slowest of memory, f32 instructions and s8 operations."""
    times = []
    for bandwidth, f32_rate, s8_rate in CARDS.values():
        by = {"memory": n_bytes / bandwidth / 1e6, "f32": f32 / f32_rate / 1e9, "s8": s8 / s8_rate / 1e9}
        slowest = max(by, key=by.get)
        times.append(f"{by[slowest]:.3g} ({slowest})")
    return f"| {name} | {n_bytes / 1e9:.3g} | {f32 / 1e9:.4g} | {s8 / 1e9:.4g} | {' | '.join(times)} |"


def step(rows, is_q8):
    outputs = 1 if rows == 512 else rows  # a prompt has one row of logits
    products = OF_LAYERS * rows + HEAD * outputs
    if is_q8:
        return (OF_LAYERS + HEAD) * (1 + 2 / GROUP), products / GROUP * F32_OF_GROUP, 2 * products
    return (OF_LAYERS + HEAD) * 2, products, 0


def attention(rows, keys, shared):
    n_bytes = LAYERS * keys * KV_HEADS * HEAD_DIM * 2 * 2 * (1 if shared else rows)
    return n_bytes, LAYERS * rows * HEADS * keys * HEAD_DIM * 2, 0


print("| a step's products, or attention | GB read | 10^9 f32 | 10^9 s8 | " + ", ms | ".join(CARDS) + ", ms |\n|---" +
      "|---" * 6 + "|")
for is_q8, weights in ((True, "q8_0"), (False, "f16")):
    for rows in (1, 16, 512):
        print(row(f"{weights}, {rows} row{'s' if rows > 1 else ''}", *step(rows, is_q8)))
for shared in (True, False):
    print(row("attention, 64 rows, 8,192 keys" + ("" if shared else " each read by every row"),
              *attention(64, 8192, shared)))
