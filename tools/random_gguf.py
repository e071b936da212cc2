#!/usr/bin/env python3
"""Writes a GGUF file of a Qwen3 shape with random bits, to measure memory and speed, Pando's and other
engines':

    pip install -r tools/requirements-gguf.txt
    tools/random_gguf.py qwen3-0.6b model.gguf [q4_K_M|TYPE] [--names]

TYPE is that of all matrices: q8_0, q5_K, iq4_nl, bf16 or any other of GGUF's in blocks.

--names gives every token a name, as servers want that answer with text; without it there is no tokenizer.

q4_K_M, the default: values of attention and the down projection are Q6_K in the first and last eighth of the layers and
in every third between them, and so is the table of embeddings or the head; all others are Q4_K.
"""
import sys

import gguf
import numpy as np

Type = gguf.GGMLQuantizationType
# d_model, d_ff, layers, heads, heads of keys and values, tied embeddings
SHAPES = {"qwen3-0.6b": (1024, 3072, 28, 16, 8, True), "qwen3-8b": (4096, 12288, 36, 32, 8, False)}
HEAD_DIM, VOCAB = 128, 151936
# Where the numbers in f16 of a block lie, of types where that is not its beginning.
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
    has_names = "--names" in sys.argv
    if has_names:
        sys.argv.remove("--names")
    d_model, d_ff, n_layers, n_heads, n_kv_heads, tied = SHAPES[sys.argv[1]]
    mixture = sys.argv[3] if len(sys.argv) > 3 else "q4_K_M"
    few = Type.Q4_K if mixture == "q4_K_M" else Type[mixture.upper()]
    many = Type.Q6_K if mixture == "q4_K_M" else few
    rng = np.random.default_rng(1)
    writer = gguf.GGUFWriter(sys.argv[2], "qwen3", use_temp_file=True)
    writer.add_context_length(40960)
    writer.add_embedding_length(d_model)
    writer.add_block_count(n_layers)
    writer.add_feed_forward_length(d_ff)
    writer.add_head_count(n_heads)
    writer.add_head_count_kv(n_kv_heads)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(VOCAB)
    if has_names:
        add_names(writer)
    else:
        writer.add_tokenizer_model("no_vocab")

    def matrix(name, n_rows, n_columns, type_=few):
        writer.add_tensor(name + ".weight", blocks(rng, n_rows, n_columns, type_), raw_dtype=type_)

    def norm(name, n):
        writer.add_tensor(name + ".weight", np.ones(n, dtype=np.float32))

    matrix("token_embd", VOCAB, d_model, many if tied else few)
    norm("output_norm", d_model)
    if not tied:
        matrix("output", VOCAB, d_model, many)
    q_dim, kv_dim = n_heads * HEAD_DIM, n_kv_heads * HEAD_DIM
    for layer in range(n_layers):
        of = f"blk.{layer}."
        some = many if more_bits(layer, n_layers) else few
        norm(of + "attn_norm", d_model)
        norm(of + "ffn_norm", d_model)
        norm(of + "attn_q_norm", HEAD_DIM)
        norm(of + "attn_k_norm", HEAD_DIM)
        matrix(of + "attn_q", q_dim, d_model)
        matrix(of + "attn_k", kv_dim, d_model)
        matrix(of + "attn_v", kv_dim, d_model, some)
        matrix(of + "attn_output", d_model, q_dim)
        matrix(of + "ffn_gate", d_ff, d_model)
        matrix(of + "ffn_up", d_ff, d_model)
        matrix(of + "ffn_down", d_model, d_ff, some)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
