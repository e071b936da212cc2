#!/usr/bin/env python3
"""Converts a llama2.c model (v0 f32, or v2 Q8_0) to a Hugging Face directory.

    python3 tools/convert_llama2c.py stories260K.bin out/ [--tokenizer tok512.bin]

The directory gets config.json, model.safetensors (f32), tokenizer.model and tokenizer_config.json.
Without --tokenizer the tokenizer is looked for beside the model: tok<vocab>.model or tok<vocab>.bin.
Standard library only.
"""
import argparse
import array
import json
import pathlib
import struct
import sys

CONFIG_FIELDS = ("dim", "hidden", "layers", "heads", "kv_heads", "vocab", "context")
BOS, EOS = 1, 2


class Failure(Exception):
    """What is wrong with the input, for people."""


class Reader:
    """Takes values off the front of a file's bytes."""

    def __init__(self, path):
        self.path, self.bytes, self.at = path, path.read_bytes(), 0

    def take(self, n):
        if self.at + n > len(self.bytes):
            raise Failure(f"{self.path}: has {len(self.bytes)} bytes, expected at least {self.at + n}")
        self.at += n
        return self.bytes[self.at - n:self.at]

    def unpack(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))

    def values(self, code, n):
        out = array.array(code)
        out.frombytes(self.take(n * out.itemsize))
        if sys.byteorder == "big":
            out.byteswap()
        return out


def read_shape(reader):
    shape = dict(zip(CONFIG_FIELDS, reader.unpack("7i")))
    shape["tied"] = shape["vocab"] > 0
    shape["vocab"] = abs(shape["vocab"])
    if min(shape[name] for name in CONFIG_FIELDS) < 1 or shape["dim"] % (2 * shape["heads"]) != 0:
        raise Failure(f"{reader.path}: header is {shape}, expected seven sizes of a Llama model")
    return shape


def matrix_sizes(shape):
    """(name in the result, rows, columns) of one layer's matrices by llama2.c's names."""
    dim, kv_dim = shape["dim"], shape["dim"] // shape["heads"] * shape["kv_heads"]
    return {"wq": ("self_attn.q_proj", dim, dim), "wk": ("self_attn.k_proj", kv_dim, dim),
            "wv": ("self_attn.v_proj", kv_dim, dim), "wo": ("self_attn.o_proj", dim, dim),
            "w1": ("mlp.gate_proj", shape["hidden"], dim), "w2": ("mlp.down_proj", dim, shape["hidden"]),
            "w3": ("mlp.up_proj", shape["hidden"], dim)}


def read_layers(tensors, shape, name, rows, columns, read):
    for layer in range(shape["layers"]):
        size = [rows, columns] if columns else [rows]
        tensors[f"model.layers.{layer}.{name}.weight"] = (size, read(rows * (columns or 1)))


def read_v0(reader, shape):
    read = lambda n: reader.values("f", n)
    sizes, tensors, dim = matrix_sizes(shape), {}, shape["dim"]
    tensors["model.embed_tokens.weight"] = ([shape["vocab"], dim], read(shape["vocab"] * dim))
    read_layers(tensors, shape, "input_layernorm", dim, 0, read)
    for name in ("wq", "wk", "wv", "wo"):
        read_layers(tensors, shape, *sizes[name], read)
    read_layers(tensors, shape, "post_attention_layernorm", dim, 0, read)
    for name in ("w1", "w2", "w3"):
        read_layers(tensors, shape, *sizes[name], read)
    tensors["model.norm.weight"] = ([dim], read(dim))
    reader.take(4 * shape["context"] * (dim // shape["heads"]))  # two unused tables
    if not shape["tied"]:
        tensors["lm_head.weight"] = ([shape["vocab"], dim], read(shape["vocab"] * dim))
    return tensors


def read_v2(reader):
    shape = read_shape(reader)
    shape["tied"], group = reader.unpack("?i")
    if group < 1:
        raise Failure(f"{reader.path}: group size is {group}, expected 1 or more")
    reader.at = 256

    def read_q8(n):
        """n int8 values, then one f32 scale per group; the products are exact in double."""
        q, scales = reader.values("b", n), reader.values("f", (n + group - 1) // group)
        out = array.array("f")
        for i, scale in enumerate(scales):
            out.extend([value * scale for value in q[i * group:(i + 1) * group]])
        return out

    read = lambda n: reader.values("f", n)
    tensors, dim = {}, shape["dim"]
    read_layers(tensors, shape, "input_layernorm", dim, 0, read)
    read_layers(tensors, shape, "post_attention_layernorm", dim, 0, read)
    tensors["model.norm.weight"] = ([dim], read(dim))
    tensors["model.embed_tokens.weight"] = ([shape["vocab"], dim], read_q8(shape["vocab"] * dim))
    for size in matrix_sizes(shape).values():
        read_layers(tensors, shape, *size, read_q8)
    if not shape["tied"]:
        tensors["lm_head.weight"] = ([shape["vocab"], dim], read_q8(shape["vocab"] * dim))
    return shape, tensors


def read_model(path):
    reader = Reader(path)
    if reader.bytes[:4] == struct.pack("<I", 0x616B3432):
        _, version = reader.unpack("Ii")
        if version != 2:
            raise Failure(f"{path}: version is {version}, expected 0 or 2")
        shape, tensors = read_v2(reader)
    else:
        shape = read_shape(reader)
        tensors = read_v0(reader, shape)
    if reader.at != len(reader.bytes):
        raise Failure(f"{path}: has {len(reader.bytes)} bytes, expected {reader.at}")
    return shape, tensors


def pairs_to_halves(tensor, head_dim):
    """Rows of a query or key matrix from adjacent-pair rotary embedding (x0, x1) to the half-split
    form (x0, x[D/2]): within each head the even rows come first, then the odd ones."""
    (rows, columns), values = tensor
    out = array.array("f")
    for head in range(0, rows, head_dim):
        for row in [*range(head, head + head_dim, 2), *range(head + 1, head + head_dim, 2)]:
            out.extend(values[row * columns:(row + 1) * columns])
    return [rows, columns], out


def write_safetensors(path, tensors):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (shape, values) in tensors.items():
        n_bytes = 4 * len(values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + n_bytes]}
        at += n_bytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, values in tensors.values():
            if sys.byteorder == "big":
                values.byteswap()
            file.write(values.tobytes())


def config_json(shape):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": shape["vocab"],
            "hidden_size": shape["dim"], "num_hidden_layers": shape["layers"],
            "num_attention_heads": shape["heads"], "num_key_value_heads": shape["kv_heads"],
            "head_dim": shape["dim"] // shape["heads"], "intermediate_size": shape["hidden"],
            "hidden_act": "silu", "attention_bias": False, "mlp_bias": False, "rms_norm_eps": 1e-5,
            "rope_theta": 10000.0, "rope_scaling": None, "max_position_embeddings": shape["context"],
            "tie_word_embeddings": shape["tied"], "bos_token_id": BOS, "eos_token_id": EOS,
            "torch_dtype": "float32"}


# Without it the transformers library leaves out the space that SentencePiece puts before a text.
TOKENIZER_CONFIG = {"tokenizer_class": "LlamaTokenizer", "legacy": True, "add_bos_token": True, "add_eos_token": False,
                    "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}

# --- tokenizer.model: the SentencePiece protobuf, written by hand -----------------------------------


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field_int(number, value):
    return varint(number << 3) + varint(int(value))


def field_float(number, value):
    return varint(number << 3 | 5) + struct.pack("<f", value)


def field_bytes(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # ModelProto.SentencePiece.Type


def read_tokens(path, vocab):
    """(text, score) by id."""
    reader = Reader(path)
    reader.unpack("i")
    tokens = []
    for _ in range(vocab):
        score, n = reader.unpack("fi")
        if n < 0:
            raise Failure(f"{path}: token {len(tokens)} has length {n}, expected 0 or more")
        tokens.append((reader.take(n), score))
    if reader.at < len(reader.bytes):
        raise Failure(f"{path}: has more than the {vocab} tokens of the model")
    return tokens


def piece(token_id, text, score):
    """One ModelProto.SentencePiece. Ids 3 to 258 stand for the bytes 0 to 255."""
    kind = NORMAL
    if token_id == 0:
        text, kind = b"<unk>", UNKNOWN
    elif token_id in (BOS, EOS):
        text, kind = (b"<s>" if token_id == BOS else b"</s>"), CONTROL
    elif token_id < 259:
        text, kind = f"<0x{token_id - 3:02X}>".encode(), BYTE
    else:
        text = text.replace(b" ", "\u2581".encode())
    return field_bytes(1, text) + field_float(2, score) + field_int(3, kind)


def sentencepiece_model(tokens):
    pieces = b"".join(field_bytes(1, piece(i, *token)) for i, token in enumerate(tokens))
    # TrainerSpec: model_type BPE, vocab_size, byte_fallback, unk_id, bos_id, eos_id, pad_id.
    trainer = (field_int(3, 2) + field_int(4, len(tokens)) + field_int(35, 1) + field_int(40, 0) +
               field_int(41, BOS) + field_int(42, EOS) + field_int(43, -1))
    # NormalizerSpec: add_dummy_prefix, keep white space, spaces become U+2581.
    normalizer = field_bytes(1, b"identity") + field_int(3, 1) + field_int(4, 0) + field_int(5, 1)
    return pieces + field_bytes(2, trainer) + field_bytes(3, normalizer)


def find_tokenizer(model, vocab):
    for name in (f"tok{vocab}.model", f"tok{vocab}.bin"):
        if (model.parent / name).exists():
            return model.parent / name
    raise Failure(f"{model.parent}: has neither tok{vocab}.model nor tok{vocab}.bin; name the file "
                  "with --tokenizer")


def convert(model, tokenizer, out):
    if (out / "config.json").exists():
        raise Failure(f"{out}: has a model already, expected a directory without one")
    shape, tensors = read_model(model)
    for name in list(tensors):
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            tensors[name] = pairs_to_halves(tensors[name], shape["dim"] // shape["heads"])
    tokenizer = tokenizer or find_tokenizer(model, shape["vocab"])
    is_sentencepiece = tokenizer.suffix == ".model"
    pieces = (tokenizer.read_bytes() if is_sentencepiece else
              sentencepiece_model(read_tokens(tokenizer, shape["vocab"])))
    out.mkdir(parents=True, exist_ok=True)
    write_safetensors(out / "model.safetensors", tensors)
    (out / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG, indent=2) + "\n")
    (out / "tokenizer.model").write_bytes(pieces)
    # Last and at once: an interrupted conversion has no config.json and can be repeated.
    config = out / "config.json.part"
    config.write_text(json.dumps(config_json(shape), indent=2) + "\n")
    config.replace(out / "config.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path, help="llama2.c weights")
    parser.add_argument("out", type=pathlib.Path, help="directory to write")
    parser.add_argument("--tokenizer", type=pathlib.Path,
                        help="tokenizer, llama2.c (.bin) or SentencePiece (.model)")
    arguments = parser.parse_args()
    try:
        convert(arguments.model, arguments.tokenizer, arguments.out)
    except (Failure, OSError) as failure:
        sys.exit(f"convert_llama2c: {failure}")


if __name__ == "__main__":
    main()
