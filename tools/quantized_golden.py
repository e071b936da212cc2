#!/usr/bin/env python3
"""Writes tests/model/data/quantized/: tiny checkpoints in the formats of others, and what their
weights are by the packages that define these formats.

    pip install -r tools/requirements-quantized.txt
    pip install --no-deps autoawq==0.2.9
    tools/quantized_golden.py tests/model/data/quantized

golden.json has, for each matrix, a hash of its values in f32 (with the scales widened to f32) and in
the type of the model. tests/exec/quantized_golden_test.cc reads both. GPTQ has no package here that
installs without a compiler: its formula is written out.
"""
import argparse
import importlib.util
import json
import pathlib

import torch
from compressed_tensors.compressors.base import BaseCompressor
from compressed_tensors.quantization import QuantizationScheme
from safetensors.torch import save_file
from transformers.integrations.finegrained_fp8 import Fp8Dequantize

D_MODEL, D_FF, KV, VOCAB = 64, 96, 32, 24
MATRICES = {"self_attn.q_proj": (D_MODEL, D_MODEL), "self_attn.k_proj": (KV, D_MODEL), "self_attn.v_proj": (KV, D_MODEL),
            "self_attn.o_proj": (D_MODEL, D_MODEL), "mlp.gate_proj": (D_FF, D_MODEL), "mlp.up_proj": (D_FF, D_MODEL),
            "mlp.down_proj": (D_MODEL, D_FF)}
CONFIG = dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=D_MODEL, intermediate_size=D_FF,
              num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=VOCAB,
              max_position_embeddings=64, rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=False,
              bos_token_id=1, eos_token_id=2)


def awq_packing():
    """awq/utils/packing_utils.py alone: the package itself needs a GPU's libraries."""
    root = pathlib.Path(importlib.util.find_spec("awq").submodule_search_locations[0])
    spec = importlib.util.spec_from_file_location("packing_utils", root / "utils" / "packing_utils.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pack(codes, bits, order=None):
    """[a, b] integers to [a, b * bits / 32] words along the last axis."""
    per_word = 32 // bits
    places = order or range(per_word)
    parts = codes.to(torch.int64).reshape(codes.shape[0], -1, per_word)
    words = sum(parts[:, :, i] << (bits * place) for i, place in enumerate(places))
    return torch.where(words >= 2**31, words - 2**32, words).to(torch.int32)


def fp8(shape, generator, block, scale_type):
    n, k = shape
    rows, columns = block or (n, k)
    weight = (torch.randn(shape, generator=generator) * 60).clamp(-448, 448).to(torch.float8_e4m3fn)
    scale = (torch.rand((n // rows, k // columns), generator=generator) * 0.01 + 0.001).to(scale_type)
    if not block:
        scale = scale.reshape(())
    dequantise = lambda type_: Fp8Dequantize(None)._dequantize_one(weight, scale, output_dtype=type_)
    parts = {"weight": weight, "weight_scale_inv": scale}
    if not block:
        parts["activation_scale"] = torch.tensor(0.5)
    return parts, dequantise


def compressed(shape, generator, format_, arguments, type_):
    n, k = shape
    scheme = QuantizationScheme(targets=["Linear"], weights=arguments)
    groups = k // arguments.get("group_size", k) if arguments["strategy"] == "group" else 1
    scale = (torch.rand((n, groups), generator=generator) * 0.02 + 0.002).to(type_)
    weight = torch.randn(shape, generator=generator) * 0.1
    low = -(1 << (arguments["num_bits"] - 1))
    state = {"weight": weight.to(type_), "weight_scale": scale}
    if arguments["type"] == "float":
        state["weight"] *= 8
    if not arguments["symmetric"]:
        state["weight_zero_point"] = torch.randint(low, -low, (n, groups), generator=generator, dtype=torch.int8)
    compressor = BaseCompressor.get_value_from_registry(format_)
    parts = compressor.compress(state, scheme)

    def dequantise(wanted):
        stored = dict(parts)
        stored["weight_scale"] = stored["weight_scale"].to(wanted)
        return compressor.decompress(stored, scheme)["weight"]
    return parts, dequantise


AWQ_PLACES = [0, 4, 1, 5, 2, 6, 3, 7]


def awq(shape, generator, group):
    n, k = shape
    codes = torch.randint(0, 16, (k, n), generator=generator)
    zeros = torch.randint(0, 16, (k // group, n), generator=generator)
    scales = (torch.rand((k // group, n), generator=generator) * 0.02 + 0.002).to(torch.float16)
    parts = {"qweight": pack(codes, 4, AWQ_PLACES), "qzeros": pack(zeros, 4, AWQ_PLACES), "scales": scales}
    dequantise = lambda type_: awq_packing().dequantize_gemm(parts["qweight"], parts["qzeros"], scales.to(type_), 4,
                                                             group).t().contiguous()
    return parts, dequantise


def gptq(shape, generator, bits, group, ordered, symmetric, less):
    n, k = shape
    group = k if group == -1 else group
    codes = torch.randint(0, 1 << bits, (k, n), generator=generator)
    middle = 1 << (bits - 1)
    zeros = torch.full((k // group, n), middle) if symmetric else \
        torch.randint(less, 1 << bits, (k // group, n), generator=generator)
    scales = (torch.rand((k // group, n), generator=generator) * 0.02 + 0.002).to(torch.float16)
    g_idx = (torch.arange(k) // group).to(torch.int32)
    if ordered:
        g_idx = g_idx[torch.randperm(k, generator=generator)]
    parts = {"qweight": pack(codes.t().contiguous(), bits).t().contiguous(), "qzeros": pack(zeros - less, bits),
             "scales": scales, "g_idx": g_idx}
    order = g_idx.long()
    dequantise = lambda type_: (scales.to(type_)[order] * (codes.to(type_) - zeros.to(type_)[order])).t().contiguous()
    return parts, dequantise


def arguments_of(**fields):
    return dict(num_bits=8, type="int", symmetric=True, strategy="channel", dynamic=False) | fields


def compressed_config(format_, arguments, activations=None):
    return dict(quant_method="compressed-tensors", format=format_, quantization_status="compressed", ignore=["lm_head"],
                config_groups={"group_0": dict(targets=["Linear"], weights=arguments, input_activations=activations,
                                               output_activations=None)}, kv_cache_scheme=None)


DYNAMIC = arguments_of(strategy="token", dynamic=True)
GROUPS = arguments_of(num_bits=4, strategy="group", group_size=32)
ZEROS = dict(GROUPS, symmetric=False)
FLOATS = arguments_of(type="float")
GPTQ = dict(quant_method="gptq", bits=4, group_size=32, desc_act=False, sym=True, true_sequential=True, damp_percent=0.1,
            checkpoint_format="gptq", pack_dtype="int32", meta={"quantizer": ["gptqmodel:7.7.0"]})

# name: seed, type of the model, quantization_config, the function that makes a matrix
BF16, F16 = torch.bfloat16, torch.float16
MODELS = {
    "fp8-blocks": (1, BF16, dict(quant_method="fp8", activation_scheme="dynamic", fmt="e4m3", weight_block_size=[32, 32]),
                   lambda shape, g: fp8(shape, g, (32, 32), BF16)),
    "fp8-tensor": (2, BF16, dict(quant_method="fp8", activation_scheme="static", weight_block_size=None),
                   lambda shape, g: fp8(shape, g, None, torch.float32)),
    "compressed-float": (3, BF16, compressed_config("float-quantized", FLOATS, dict(DYNAMIC, type="float")),
                         lambda shape, g: compressed(shape, g, "float-quantized", FLOATS, BF16)),
    "compressed-int8": (4, BF16, compressed_config("int-quantized", arguments_of(), DYNAMIC),
                        lambda shape, g: compressed(shape, g, "int-quantized", arguments_of(), BF16)),
    "compressed-words4": (5, BF16, compressed_config("pack-quantized", GROUPS),
                          lambda shape, g: compressed(shape, g, "pack-quantized", GROUPS, BF16)),
    "compressed-zeros4": (6, F16, compressed_config("pack-quantized", ZEROS),
                          lambda shape, g: compressed(shape, g, "pack-quantized", ZEROS, F16)),
    "compressed-words8": (7, BF16, compressed_config("pack-quantized", arguments_of()),
                          lambda shape, g: compressed(shape, g, "pack-quantized", arguments_of(), BF16)),
    "awq": (8, F16, dict(quant_method="awq", bits=4, group_size=32, zero_point=True, version="gemm",
                         modules_to_not_convert=["lm_head"]),
            lambda shape, g: awq(shape, g, 32)),
    "gptq-zeros": (9, F16, dict(GPTQ, sym=False), lambda shape, g: gptq(shape, g, 4, 32, False, False, 1)),
    "gptq-ordered": (10, F16, dict(GPTQ, desc_act=True), lambda shape, g: gptq(shape, g, 4, 32, True, True, 1)),
    "gptq-v2-8": (11, F16, dict(GPTQ, bits=8, group_size=-1, sym=False, checkpoint_format="gptq_v2"),
                  lambda shape, g: gptq(shape, g, 8, -1, False, False, 0)),
}


def hash_of(tensor):
    """FNV-1a of the bytes."""
    value = 0xcbf29ce484222325
    for byte in tensor.contiguous().view(torch.uint8).flatten().tolist():
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return f"{value:016x}"


def make(name, folder):
    seed, type_, quantization, matrix = MODELS[name]
    generator = torch.Generator().manual_seed(seed)
    normal = lambda *shape: torch.randn(shape, generator=generator)
    layer = "model.layers.0."
    tensors = {"model.embed_tokens.weight": normal(VOCAB, D_MODEL).to(type_),
               "lm_head.weight": (0.2 * normal(VOCAB, D_MODEL)).to(type_), "model.norm.weight": torch.ones(D_MODEL, dtype=type_)}
    for norm in ("input_layernorm", "post_attention_layernorm"):
        tensors[f"{layer}{norm}.weight"] = (1 + 0.1 * normal(D_MODEL)).to(type_)
    golden = {}
    for module, shape in MATRICES.items():
        parts, dequantise = matrix(shape, generator)
        tensors.update({f"{layer}{module}.{part}": tensor.contiguous() for part, tensor in parts.items()})
        golden[f"{layer}{module}.weight"] = {"f32": hash_of(dequantise(torch.float32)), "own": hash_of(dequantise(type_))}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = dict(CONFIG, dtype=str(type_).split(".")[1], quantization_config=quantization)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, help="folder that gets one folder per model")
    parser.add_argument("names", nargs="*", help="models to make; all where none is named")
    arguments = parser.parse_args()
    for name in arguments.names or MODELS:
        make(name, arguments.out / name)


if __name__ == "__main__":
    main()
