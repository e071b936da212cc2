#!/usr/bin/env python3
"""Makes the fixtures of tests/model/data: tiny random models and what the transformers library
computes from them. Needs tools/requirements-golden.txt; the result does not depend on the machine
beyond the last bits of the logits.

    python3 tools/golden_transformers.py tests/model/data [NAME ...]
"""
import argparse
import json
import pathlib

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from golden_dense_models import DENSE
from golden_expert_models import MIXTURES
from golden_hybrid_models import HYBRIDS
from golden_sizes import GEMMA4_VISION, GLM4_VISION, PIXTRAL, QWEN2_5_VISION, QWEN3_VISION, SIGLIP, VISION
from golden_wrapped_models import PARTS, WRAPPED

MODELS = {**DENSE, **HYBRIDS, **MIXTURES, **WRAPPED}
# Fixtures whose config.json has the form that files had before rope_parameters.
OLD_FORM = {"llama-linear", "llama-yarn", "qwen2-window", "phi3-longrope", "olmo3-types", "hunyuan-tied",
            "hunyuan_v1_moe-tied"}
# Saved without the head and its prefix, as the Qwen3 embedding models are.
BARE = {"qwen3-embedding"}
# Saved as part of a model that reads images too.
WITH_VISION = {"qwen3_5-vision": VISION, "qwen3_5_moe-vision": VISION, "ministral3-vision": PIXTRAL, "mistral3-vision": PIXTRAL,
               "gemma3-vision": SIGLIP, "gemma4-vision": GEMMA4_VISION,
               "qwen2_5_vl-tied": QWEN2_5_VISION, "qwen2_5_vl-untied": QWEN2_5_VISION,
               "qwen3_vl-tied": QWEN3_VISION, "qwen3_vl-untied": QWEN3_VISION,
               "qwen3_vl_moe-tied": QWEN3_VISION, "qwen3_vl_moe-untied": QWEN3_VISION,
               "glm4v-tied": GLM4_VISION, "glm4v-untied": GLM4_VISION,
               "glm4v_moe-tied": GLM4_VISION, "glm4v_moe-untied": GLM4_VISION}
# Experts in the form that the published models of gpt-oss have.
MXFP4 = {"gpt_oss-mxfp4"}
# Fixtures whose config.json has the form that files had before per_layer_config.
GLOBAL_HEADS = {"gemma4-inputs", "gemma4-vision"}
# Fixtures whose config.json has the form that files had before layers_block_type.
PATTERNS = {"nemotron_h-pattern", "nemotron_h-moe"}
# Convolutions divided into those of queries, keys and values, and norms of layers with attention under their own
# names, as the published model has them. The library writes thirds of convolutions, and one name for both kinds.
CONVOLUTIONS = {"olmo_hybrid-published"}
# Matrices of experts transposed, as the published models have them.
TRANSPOSED = {"qwen3_vl_moe-untied"}
# Fixtures of Gemma 1 whose config.json calls the activation as older files do.
OLD_GELU = {"gemma-gelu"}
POSITIONS = (0, 1, 7, 16, 31, 36)


def randomise(model, generator):
    """Norms near 1, biases near 0, states that fade over some ten tokens, and matrices large enough
    that attention is far from uniform."""
    zero_centred = {id(module.weight) for module in model.modules()
                    if type(module).__name__ in ("Qwen3_5RMSNorm", "Qwen3_5MoeRMSNorm", "Qwen3NextRMSNorm",
                                                 "GemmaRMSNorm", "NemotronLayerNorm1P", "Gemma2RMSNorm", "Gemma3RMSNorm")}  # w of 1 + w
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if name.endswith((".bias", "dt_bias")):
            parameter.data = 0.5 * noise
        elif name.endswith("e_score_correction_bias"):
            parameter.data = 0.1 * noise
        elif name.endswith("A_log"):
            parameter.data = -2.0 + 0.7 * noise
        elif parameter.dim() == 1 or name.endswith((".q_norm.weight", ".k_norm.weight")):
            parameter.data = (0.0 if id(parameter) in zero_centred else 1.0) + 0.3 * noise
        else:
            parameter.data = 1.5 * noise / parameter.shape[-1] ** 0.5
    if type(model).__name__.startswith("Gemma4"):  # products of queries and keys are not divided by a root
        for name, parameter in model.named_parameters():
            if name.endswith("q_norm.weight"):
                parameter.data /= parameter.shape[0] ** 0.5
            if name.endswith("router.proj.weight"):  # which reads rows that are divided by a root
                parameter.data *= parameter.shape[1] ** 0.5
    for name, buffer in model.named_buffers():
        if name.endswith(("e_score_correction_bias", "expert_bias")):
            buffer.copy_(0.1 * torch.randn(buffer.shape, generator=generator))
        if name.endswith("layer_scalar"):
            buffer.data = 1.0 + 0.3 * torch.randn(buffer.shape, generator=generator)


def to_global_heads(path):
    config = json.loads(path.read_text())
    text = config.get("text_config", config)
    del text["per_layer_config"]
    fields = MODELS[path.parent.name][2]
    for name in ("head_dim", "global_head_dim", "num_key_value_heads", "num_global_key_value_heads"):
        if name in fields:
            text[name] = fields[name]
    path.write_text(json.dumps(config, indent=2) + "\n")


def to_old_form(path):
    config = json.loads(path.read_text())
    scaling = config.pop("rope_parameters")
    by_type = "full_attention" in scaling  # the layers with a window have the library's rotation
    scaling = scaling["full_attention"] if by_type else scaling
    config["rope_theta"] = scaling.pop("rope_theta")
    if "partial_rotary_factor" in scaling:
        config["partial_rotary_factor"] = scaling.pop("partial_rotary_factor")
    if not by_type:  # there the library knows the newer name only
        scaling["type"] = scaling.pop("rope_type")
    if "original_max_position_embeddings" in config:
        scaling.pop("original_max_position_embeddings", None)
    config["rope_scaling"] = scaling
    if not by_type:
        config.pop("layer_types", None)
    path.write_text(json.dumps(config, indent=2) + "\n")


def to_pattern(path):
    config = json.loads(path.read_text())
    letters = {"linear_attention": "M", "full_attention": "*", "mlp": "-", "moe": "E"}
    config["hybrid_override_pattern"] = "".join(letters[kind] for kind in config.pop("layers_block_type"))
    config["num_hidden_layers"] = len(config["hybrid_override_pattern"])
    path.write_text(json.dumps(config, indent=2) + "\n")


def transpose_experts(path):
    tensors = load_file(path)
    for name in [name for name in tensors if ".mlp.experts." in name]:
        tensors[name] = tensors[name].transpose(1, 2).contiguous()
    save_file(tensors, path, metadata={"format": "pt"})


def divide_convolutions(path, fields):
    tensors = load_file(path)
    keys = fields["linear_num_key_heads"] * fields["linear_key_head_dim"]
    values = fields["linear_num_value_heads"] * fields["linear_value_head_dim"]
    for i, kind in enumerate(fields["layer_types"]):
        layer = f"model.layers.{i}."
        if kind == "full_attention":
            tensors[layer + "post_attention_layernorm.weight"] = tensors.pop(layer + "feedforward_layer_norm.weight")
            continue
        names = [f"{layer}linear_attn.{part}_conv1d.weight" for part in "qkv"]
        rows = torch.cat([tensors[name] for name in names])
        for name, part in zip(names, rows.split([keys, keys, values])):
            tensors[name] = part.contiguous()
    save_file(tensors, path, metadata={"format": "pt"})


def to_mxfp4(folder, generator):
    """Replaces the experts by random ones in groups of four-bit floats. Returns what they are worth, by name."""
    path = folder / "model.safetensors"
    tensors, worth = load_file(path), {}
    for name in [name for name in tensors if name.endswith((".experts.gate_up_proj", ".experts.down_proj"))]:
        experts, columns, rows = tensors.pop(name).shape
        blocks = torch.randint(0, 256, (experts, rows, columns // 32, 16), generator=generator, dtype=torch.uint8)
        scales = torch.randint(121, 125, (experts, rows, columns // 32), generator=generator, dtype=torch.uint8)
        tensors[f"{name}_blocks"], tensors[f"{name}_scales"] = blocks, scales
        worth[name] = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
    save_file(tensors, path, metadata={"format": "pt"})
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
    path.write_text(json.dumps(config, indent=2) + "\n")
    return worth


def named_class(name, family, fields):
    if name in WITH_VISION or name in PARTS:
        parts = PARTS.get(name) or dict(vision_config=WITH_VISION[name])
        config = getattr(transformers, family + "Config")(
            text_config=fields, tie_word_embeddings=fields["tie_word_embeddings"], **parts)
        return getattr(transformers, family + "ForConditionalGeneration"), config
    of_text = getattr(transformers, family + "TextConfig", None)
    config = of_text or getattr(transformers, family + "Config")
    return getattr(transformers, family + "ForCausalLM"), config(**fields)


def make(name, folder):
    seed, family, fields, dtype, lengths = MODELS[name]
    model_class, config = named_class(name, family, fields)
    generator = torch.Generator().manual_seed(seed)
    model = model_class(config)
    randomise(model, generator)
    model.to(getattr(torch, dtype))
    (model.model if name in BARE else model).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    path = folder / "config.json"
    if name in BARE:
        path.write_text(path.read_text().replace(family + "Model", family + "ForCausalLM"))
    if name in OLD_FORM:
        to_old_form(path)
    if name in GLOBAL_HEADS:
        to_global_heads(path)
    if name in PATTERNS:
        to_pattern(path)
    if name in TRANSPOSED:
        transpose_experts(folder / "model.safetensors")
    if name in CONVOLUTIONS:
        divide_convolutions(folder / "model.safetensors", fields)
    if name in OLD_GELU:
        path.write_text(path.read_text().replace('"gelu_pytorch_tanh"', '"gelu"'))
    # Read back rather than converted: `to` would round the rotary tables as well.
    model = model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    if name in MXFP4:
        parameters = dict(model.named_parameters())
        for parameter, values in to_mxfp4(folder, generator).items():
            parameters[parameter].data = values
    sequences = []
    for n_tokens in lengths:
        tokens = torch.randint(0, fields["vocab_size"], (1, n_tokens), generator=generator)
        with torch.no_grad():
            logits = model(tokens).logits[0]
        rows = [{"position": p, "logits": [float(f"{x:.7g}") for x in logits[p].tolist()]}
                for p in POSITIONS + ((60, n_tokens - 1) if n_tokens > 60 else ())]
        sequences.append({"tokens": tokens[0].tolist(), "rows": rows})
    write_golden(name, folder, sequences)


def write_golden(name, folder, sequences):
    text = json.dumps({"model": name, "sequences": sequences}, separators=(",", ":"))
    (folder / "golden.json").write_text(text.replace('{"position"', '\n{"position"') + "\n")


def make_all(description, names, make):
    """Calls make(name, folder) for each name on the command line, or for all names without one."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, help="folder that gets one folder per model")
    parser.add_argument("names", nargs="*", help="models to make; all where none is named")
    arguments = parser.parse_args()
    for name in arguments.names or names:
        make(name, arguments.out / name)


if __name__ == "__main__":
    make_all(__doc__, MODELS, make)
