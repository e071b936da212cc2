#!/usr/bin/env python3
"""Writes a checkpoint whose tokens see both ways as a GGUF file, by the names and keys of llama.cpp's converter:

    pip install -r tools/requirements-gguf.txt
    tools/encoder_gguf.py DIRECTORY model.gguf [mean|cls|last]

DIRECTORY holds config.json and model.safetensors of bert, roberta, xlm-roberta, distilbert, nomic_bert, modernbert or
gemma3_text. Weights become f32. A vocabulary is written if there is vocab.txt (WordPiece), or tokenizer.model of Gemma
(needs sentencepiece). Heads are left out, and Dense modules too. The default pooling is the mean.
"""
import json
import pathlib
import sys

import gguf
import numpy as np

from hybrid_gguf import finish, read_tensors

Arch = gguf.MODEL_ARCH
ARCHITECTURES = {"bert": Arch.BERT, "roberta": Arch.BERT, "xlm-roberta": Arch.BERT, "distilbert": Arch.BERT,
                 "nomic_bert": Arch.NOMIC_BERT, "modernbert": Arch.MODERN_BERT, "gemma3_text": Arch.GEMMA_EMBEDDING}
PREFIXES = ("bert.", "roberta.", "distilbert.", "model.")
HEADS = ("pooler.", "classifier.", "pre_classifier.", "head.", "cls.", "lm_head.", "decoder.")
OTHER_NAMES = {"dim": "hidden_size", "hidden_dim": "intermediate_size", "n_layers": "num_hidden_layers",
               "n_heads": "num_attention_heads"}
POOLING = {"mean": gguf.PoolingType.MEAN, "cls": gguf.PoolingType.CLS, "last": gguf.PoolingType.LAST}


def tensors(config, path):
    """(name, f32 array) as a GGUF file has them."""
    family = config["model_type"]
    names = gguf.get_tensor_name_map(ARCHITECTURES[family], config["num_hidden_layers"])
    for full, array in read_tensors(path):
        name = next((full.removeprefix(prefix) for prefix in PREFIXES if full.startswith(prefix)), full)
        if name.startswith(HEADS):
            continue
        if name == "embeddings.position_embeddings.weight" and family in ("roberta", "xlm-roberta"):
            array = array[config["pad_token_id"] + 1:]  # the rows before the first position
        if family == "gemma3_text" and name.endswith("norm.weight"):
            array = array + np.float32(1)
        found = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if found is None:
            raise SystemExit(f"{path}: '{full}' has no name in GGUF files of {family}")
        yield found, np.ascontiguousarray(array, dtype=np.float32)
    if family == "distilbert":
        yield "token_types.weight", np.zeros((1, config["hidden_size"]), np.float32)


def add_keys(writer, config):
    family = config["model_type"]
    positions = config["max_position_embeddings"]
    if family in ("roberta", "xlm-roberta"):
        positions -= config["pad_token_id"] + 1
    writer.add_context_length(positions)
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_vocab_size(config["vocab_size"])
    if family == "gemma3_text":
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
        writer.add_head_count_kv(config["num_key_value_heads"])
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
        writer.add_sliding_window(config["sliding_window"])
        writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])
    else:
        writer.add_layer_norm_eps(config.get("layer_norm_eps", config.get("norm_eps", 1e-12)))
        writer.add_causal_attention(False)
    if family == "modernbert":
        writer.add_sliding_window(config["local_attention"])
        writer.add_sliding_window_pattern(config.get("global_attn_every_n_layers", 3))
        writer.add_rope_scaling_type(gguf.RopeScalingType.NONE)
    if ARCHITECTURES[family] != Arch.BERT:
        add_rope(writer, config)


def add_rope(writer, config):
    rope = config.get("rope_parameters") or {}
    full, sliding = rope.get("full_attention", rope), rope.get("sliding_attention", {})
    writer.add_rope_freq_base(float(full.get("rope_theta") or config["rope_theta"]))
    base = sliding.get("rope_theta") or config.get("rope_local_base_freq")
    if base:
        writer.add_rope_freq_base_swa(float(base))


def add_wordpiece(writer, path, n_types):
    """Tokens that begin a word get a mark, and the others lose theirs, as in llama.cpp's converter."""
    tokens = path.read_text().split("\n")
    tokens.pop()
    special = {"[PAD]": "padding", "[UNK]": "unknown", "[CLS]": "cls", "[SEP]": "seperator", "[MASK]": "mask"}
    kinds = [gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in tokens]
    marked = [token if token.startswith("[") and token.endswith("]") else
              token[2:] if token.startswith("##") else "\u2581" + token for token in tokens]
    writer.add_tokenizer_model("bert")
    writer.add_token_list(marked)
    writer.add_token_types(kinds)
    writer.add_token_type_count(n_types)
    for token, name in special.items():
        writer.add_uint32(f"tokenizer.ggml.{name}_token_id", tokens.index(token))
    writer.add_uint32("tokenizer.ggml.bos_token_id", tokens.index("[CLS]"))
    writer.add_uint32("tokenizer.ggml.eos_token_id", tokens.index("[SEP]"))


def add_gemma(writer, path):
    import sentencepiece
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))
    ids = range(pieces.get_piece_size())
    kind_of = [(pieces.is_byte, gguf.TokenType.BYTE), (pieces.is_control, gguf.TokenType.CONTROL),
               (pieces.is_unknown, gguf.TokenType.UNKNOWN), (pieces.is_unused, gguf.TokenType.UNUSED)]
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([pieces.id_to_piece(i) for i in ids])
    writer.add_token_scores([pieces.get_score(i) for i in ids])
    writer.add_token_types([next((kind for test, kind in kind_of if test(i)), gguf.TokenType.NORMAL) for i in ids])
    writer.add_bos_token_id(pieces.bos_id())
    writer.add_eos_token_id(pieces.eos_id())
    writer.add_unk_token_id(pieces.unk_id())
    writer.add_pad_token_id(pieces.pad_id())
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    writer.add_add_space_prefix(False)


def add_vocabulary(writer, directory, config):
    if (directory / "vocab.txt").exists():
        add_wordpiece(writer, directory / "vocab.txt", config.get("type_vocab_size", 1))
    elif config["model_type"] == "gemma3_text" and (directory / "tokenizer.model").exists():
        add_gemma(writer, directory / "tokenizer.model")
    else:
        writer.add_tokenizer_model("no_vocab")
        writer.add_token_type_count(config.get("type_vocab_size", 1))


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] and sys.argv[3] not in POOLING:
        raise SystemExit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    config = json.loads((directory / "config.json").read_text())
    config |= {name: config[other] for other, name in OTHER_NAMES.items() if other in config}
    if config["model_type"] not in ARCHITECTURES:
        raise SystemExit(f"{directory}: model_type is {config['model_type']}, expected one of {', '.join(ARCHITECTURES)}")
    writer = gguf.GGUFWriter(sys.argv[2], gguf.MODEL_ARCH_NAMES[ARCHITECTURES[config["model_type"]]])
    add_keys(writer, config)
    writer.add_pooling_type(POOLING[sys.argv[3] if sys.argv[3:] else "mean"])
    add_vocabulary(writer, directory, config)
    for name, array in tensors(config, directory / "model.safetensors"):
        writer.add_tensor(name, array)
    finish(writer)


if __name__ == "__main__":
    main()
