#!/usr/bin/env python3
"""Writes a GGUF file of a Qwen3 shape with random bits, to measure memory and speed, Pando's and other
engines':

    pip install -r tools/requirements-gguf.txt
    tools/random_gguf.py qwen3-0.6b model.gguf [q4_K_M|TYPE] [--layers N] [--names]

The shape is qwen3-0.6b, qwen3-8b or qwen3-30b-a3b, which is a mixture of experts. --layers makes fewer layers.

TYPE is that of all matrices: q8_0, q5_K, iq4_nl, bf16 or any other of GGUF's in blocks. Routers are F32.

--names gives every token a name, as servers want that answer with text; without it there is no tokenizer.

q4_K_M, the default: values of attention and the down projection are Q6_K in the first and last eighth of the layers and
in every third between them, and so is the table of embeddings or the head; all others are Q4_K.
"""
import argparse
import typing

import gguf
import numpy as np

Type = gguf.GGMLQuantizationType


class Shape(typing.NamedTuple):
    d_model: int
    d_ff: int  # of an expert, where there are experts
    n_layers: int
    n_heads: int
    n_kv_heads: int
    tied: bool
    n_experts: int = 0
    n_used: int = 0  # experts of a row


SHAPES = {"qwen3-0.6b": Shape(1024, 3072, 28, 16, 8, True), "qwen3-8b": Shape(4096, 12288, 36, 32, 8, False),
          "qwen3-30b-a3b": Shape(2048, 768, 48, 32, 4, False, n_experts=128, n_used=8)}
HEAD_DIM, VOCAB = 128, 151936
# Offsets of the f16 numbers in a block, of types that do not begin with them.
F16_AT = {Type.Q4_1: [0, 2], Type.Q5_1: [0, 2], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208], Type.Q2_K: [80, 82],
          Type.Q3_K: [108], Type.TQ1_0: [52], Type.TQ2_0: [64]}


def blocks(rng, n_rows, n_columns, type_):
    block_len, block_bytes = gguf.GGML_QUANT_SIZES[type_]
    if type_ == Type.BF16:
        return (rng.normal(0, 0.02, (n_rows, n_columns)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
    data = rng.integers(0, 256, (n_rows * n_columns // block_len, block_bytes), dtype=np.uint8)
    if type_ == Type.MXFP4:
        data[:, 0] = rng.integers(118, 122, len(data))
        return data.reshape(n_rows, -1)
    for at in F16_AT.get(type_, [0]):
        scales = rng.uniform(-4e-4, 4e-4, (len(data), 1)).astype(np.float16)
        data[:, at:at + 2] = scales.view(np.uint8)
    return data.reshape(n_rows, -1)


def more_bits(layer, n_layers):
    eighth = n_layers // 8
    return layer < eighth or layer >= 7 * n_layers // 8 or (layer - eighth) % 3 == 2


def add_names(writer):
    """Tokens "<0>", "<1>", and so on, behind the 256 that every tokenizer of bytes has; one merge, since some is expected."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    shifted = [byte for byte in range(256) if byte not in printable]
    names = [chr(byte) for byte in printable] + [chr(256 + i) for i in range(len(shifted))]
    names += [names[0] + names[1]] + [f"<{i}>" for i in range(257, VOCAB)]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(names)
    writer.add_token_types([gguf.TokenType.NORMAL] * VOCAB)
    writer.add_token_merges([f"{names[0]} {names[1]}"])
    writer.add_eos_token_id(VOCAB - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("file")
    parser.add_argument("type", nargs="?", default="q4_K_M")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--names", action="store_true")
    args = parser.parse_args()
    shape = SHAPES[args.shape]
    n_layers = args.layers or shape.n_layers
    few = Type.Q4_K if args.type == "q4_K_M" else Type[args.type.upper()]
    many = Type.Q6_K if args.type == "q4_K_M" else few
    rng = np.random.default_rng(1)
    writer = gguf.GGUFWriter(args.file, "qwen3moe" if shape.n_experts else "qwen3", use_temp_file=True)
    writer.add_context_length(40960)
    writer.add_embedding_length(shape.d_model)
    writer.add_block_count(n_layers)
    if shape.n_experts:
        writer.add_feed_forward_length(3 * shape.d_model)  # which no layer has
        writer.add_expert_feed_forward_length(shape.d_ff)
        writer.add_expert_count(shape.n_experts)
        writer.add_expert_used_count(shape.n_used)
    else:
        writer.add_feed_forward_length(shape.d_ff)
    writer.add_head_count(shape.n_heads)
    writer.add_head_count_kv(shape.n_kv_heads)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(VOCAB)
    if args.names:
        add_names(writer)
    else:
        writer.add_tokenizer_model("no_vocab")

    def matrix(name, n_rows, n_columns, type_=few):
        writer.add_tensor(name + ".weight", blocks(rng, n_rows, n_columns, type_), raw_dtype=type_)

    def experts(name, n_rows, n_columns, type_=few):
        data = blocks(rng, shape.n_experts * n_rows, n_columns, type_)
        writer.add_tensor(name + ".weight", data.reshape(shape.n_experts, n_rows, -1), raw_dtype=type_)

    def norm(name, n):
        writer.add_tensor(name + ".weight", np.ones(n, dtype=np.float32))

    matrix("token_embd", VOCAB, shape.d_model, many if shape.tied else few)
    norm("output_norm", shape.d_model)
    if not shape.tied:
        matrix("output", VOCAB, shape.d_model, many)
    q_dim, kv_dim = shape.n_heads * HEAD_DIM, shape.n_kv_heads * HEAD_DIM
    for layer in range(n_layers):
        of = f"blk.{layer}."
        some = many if more_bits(layer, n_layers) else few
        norm(of + "attn_norm", shape.d_model)
        norm(of + "ffn_norm", shape.d_model)
        norm(of + "attn_q_norm", HEAD_DIM)
        norm(of + "attn_k_norm", HEAD_DIM)
        matrix(of + "attn_q", q_dim, shape.d_model)
        matrix(of + "attn_k", kv_dim, shape.d_model)
        matrix(of + "attn_v", kv_dim, shape.d_model, some)
        matrix(of + "attn_output", shape.d_model, q_dim)
        if shape.n_experts:
            router = rng.normal(0, 0.02, (shape.n_experts, shape.d_model)).astype(np.float32)
            writer.add_tensor(of + "ffn_gate_inp.weight", router)
            experts(of + "ffn_gate_exps", shape.d_ff, shape.d_model)
            experts(of + "ffn_up_exps", shape.d_ff, shape.d_model)
            experts(of + "ffn_down_exps", shape.d_model, shape.d_ff, some)
        else:
            matrix(of + "ffn_gate", shape.d_ff, shape.d_model)
            matrix(of + "ffn_up", shape.d_ff, shape.d_model)
            matrix(of + "ffn_down", shape.d_model, shape.d_ff, some)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
