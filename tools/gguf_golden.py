#!/usr/bin/env python3
"""Writes tests/model/data/gguf/: a GGUF file made by the published Python package, and what its
tensors are by that package.

    pip install -r tools/requirements-gguf.txt
    tools/gguf_golden.py tests/model/data/gguf

tests/exec/gguf_golden_test.cc reads both. The file is a llama with one layer whose matrices are of
types that are read, Q4_K and Q6_K with random bits. blocks.json has random blocks of every type that
comes in blocks, with a hash of their values in f32.
"""
import json
import sys
from pathlib import Path

import gguf
import numpy as np

D_MODEL, N_HEADS, HEAD_DIM, D_FF, VOCAB = 256, 2, 8, 32, 24
Type = gguf.GGMLQuantizationType


def random_blocks(rng, n_rows, n_columns, type_):
    """Random bits of a block type, with finite scales of ordinary size."""
    block_len, block_bytes = gguf.GGML_QUANT_SIZES[type_]
    blocks = rng.integers(0, 256, (n_rows * n_columns // block_len, block_bytes), dtype=np.uint8)
    scales = [0, 2] if type_ == Type.Q4_K else [208]
    for at in scales:
        f16 = rng.uniform(-0.02, 0.02, (len(blocks), 1)).astype(np.float16)
        blocks[:, at:at + 2] = f16.view(np.uint8)
    return blocks.reshape(n_rows, -1)


# Offsets of the f16 numbers in a block, of types that do not begin with them.
F16_AT = {"Q4_1": [0, 2], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "Q2_K": [80, 82], "Q3_K": [108],
          "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [], "IQ1_M": []}
TYPES = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ2_XXS", "IQ2_XS", "IQ2_S",
         "IQ3_XXS", "IQ3_S", "IQ1_S", "IQ1_M", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4"]


def fnv1a(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


def write_blocks(path):
    rng = np.random.default_rng(2)
    golden = {}
    for name in TYPES:
        block_len, block_bytes = gguf.GGML_QUANT_SIZES[Type[name]]
        n_blocks = 768 // block_len
        blocks = rng.integers(0, 256, (n_blocks, block_bytes), dtype=np.uint8)
        for at in F16_AT.get(name, [0]):
            f16 = rng.uniform(-2, 2, (n_blocks, 1)).astype(np.float16)
            blocks[:, at:at + 2] = f16.view(np.uint8)
        if name == "MXFP4":  # least and largest, and between
            blocks[:, 0] = [0, 1, 2, 252, *rng.integers(100, 150, n_blocks - 4)]
        if name == "IQ1_M":  # the sign and the upper bits of the exponent are in the last of four
            blocks[:, 55] = blocks[:, 55] & 0x8f | 0x30
        values = gguf.quants.dequantize(blocks, Type[name]).astype("<f4")
        golden[name] = {"blocks": blocks.tobytes().hex(), "hash": f"{fnv1a(values.tobytes()):016x}"}
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(one)}" for name, one in golden.items())
    path.write_text("{\n" + lines + "\n}\n")


def main():
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    writer = gguf.GGUFWriter(str(out / "types.gguf"), "llama")
    writer.add_context_length(128)
    writer.add_embedding_length(D_MODEL)
    writer.add_block_count(1)
    writer.add_feed_forward_length(D_FF)
    writer.add_head_count(N_HEADS)
    writer.add_head_count_kv(N_HEADS)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_rope_freq_base(500000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    golden = {}

    def add(name, shape, type_):
        values = rng.standard_normal(shape, dtype=np.float32) * 0.1
        if type_ in (Type.Q4_K, Type.Q6_K):
            data = random_blocks(rng, *shape, type_)
        elif type_ == Type.F32:
            data = values
        else:
            data = gguf.quants.quantize(values, type_)
        writer.add_tensor(name, data, raw_dtype=type_)
        exact = gguf.quants.dequantize(data, type_).reshape(-1)
        picked = list(range(0, exact.size, max(1, exact.size // 41)))
        golden[name] = {"type": type_.name, "at": picked,
                        "values": [float(exact[i]).hex() for i in picked],
                        "sum": float(exact.astype(np.float64).sum())}

    q_dim = N_HEADS * HEAD_DIM
    add("token_embd.weight", (VOCAB, D_MODEL), Type.Q6_K)
    add("blk.0.attn_norm.weight", (D_MODEL,), Type.F32)
    add("blk.0.attn_q.weight", (q_dim, D_MODEL), Type.Q4_K)
    add("blk.0.attn_k.weight", (q_dim, D_MODEL), Type.Q4_K)
    add("blk.0.attn_v.weight", (q_dim, D_MODEL), Type.Q6_K)
    add("blk.0.attn_output.weight", (D_MODEL, q_dim), Type.F16)
    add("blk.0.ffn_norm.weight", (D_MODEL,), Type.F32)
    add("blk.0.ffn_gate.weight", (D_FF, D_MODEL), Type.Q4_0)
    add("blk.0.ffn_up.weight", (D_FF, D_MODEL), Type.Q8_0)
    add("blk.0.ffn_down.weight", (D_MODEL, D_FF), Type.BF16)
    add("output_norm.weight", (D_MODEL,), Type.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(one)}" for name, one in golden.items())
    (out / "types.json").write_text("{\n" + lines + "\n}\n")
    write_blocks(out / "blocks.json")


if __name__ == "__main__":
    main()
