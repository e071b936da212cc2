#!/usr/bin/env python3
"""Writes a checkpoint of gpt-oss as a GGUF file, by the names and keys that published files have, for other engines:

    pip install -r tools/requirements-gguf.txt
    tools/gpt_oss_gguf.py DIRECTORY model.gguf

DIRECTORY holds config.json and model.safetensors, with weights in f32 or bf16, and experts in these types or in groups of
four-bit floats. The latter stay as they are; all other weights become f32. There is no tokenizer.
"""
import json
import pathlib
import sys

import gguf
import numpy as np

from dense_gguf import add_keys
from hybrid_gguf import finish

EXPERTS = ".mlp.experts."


def read_tensors(path):
    """(name, array) of each tensor of a safetensors file: f32, or u8 of groups."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    for name, about in header.items():
        if name == "__metadata__":
            continue
        stored = {"F32": np.float32, "BF16": np.uint16, "U8": np.uint8}[about["dtype"]]
        begin, end = about["data_offsets"]
        array = np.fromfile(path, stored, (end - begin) // stored().itemsize, offset=8 + size + begin)
        if stored is np.uint16:
            array = (array.astype(np.uint32) << 16).view(np.float32)
        yield name, array.reshape(about["shape"])


def in_groups(blocks, scales):
    """[experts, rows, groups * 17] bytes: of each group its scale, then the weights i and i + 16 in a byte."""
    codes = np.stack((blocks & 15, blocks >> 4), axis=-1).reshape(*blocks.shape[:-1], 32)
    packed = codes[..., :16] | codes[..., 16:] << 4
    return np.concatenate((scales[..., None], packed), axis=-1).reshape(*blocks.shape[:2], -1)


def of_experts(name, tensors):
    """(name in GGUF files, array, type) of a tensor of experts. Rows of gates and of ups stand by turns."""
    root, part = name.split(EXPERTS)
    root = root.replace("model.layers", "blk")
    kind, array, stored = "weight", tensors[name], None
    if part.endswith("_bias"):
        kind = "bias"
    elif part.endswith("_blocks"):
        array, stored = in_groups(array, tensors[name.replace("_blocks", "_scales")]), gguf.GGMLQuantizationType.MXFP4
    else:
        array = array.swapaxes(1, 2)
    if part.startswith("down_proj"):
        yield f"{root}.ffn_down_exps.{kind}", array, stored
    else:
        yield f"{root}.ffn_gate_exps.{kind}", array[:, ::2], stored
        yield f"{root}.ffn_up_exps.{kind}", array[:, 1::2], stored


def all_tensors(config, path):
    tensors = dict(read_tensors(path))
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.GPT_OSS, config["num_hidden_layers"])
    for name, array in tensors.items():
        if name.endswith("_scales"):
            continue
        if EXPERTS in name:
            yield from of_experts(name, tensors)
            continue
        found = names.get_name(name + ".weight" if name.endswith("sinks") else name, try_suffixes=(".weight", ".bias"))
        if found is None:
            raise SystemExit(f"{path}: '{name}' has no name in GGUF files of gpt-oss")
        yield found, array, None


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    config = json.loads((directory / "config.json").read_text())
    writer = gguf.GGUFWriter(sys.argv[2], gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.GPT_OSS])
    add_keys(writer, config)
    writer.add_expert_feed_forward_length(config["intermediate_size"])
    for name, array, stored in all_tensors(config, directory / "model.safetensors"):
        writer.add_tensor(name, np.ascontiguousarray(array), raw_dtype=stored)
    finish(writer)


if __name__ == "__main__":
    main()
