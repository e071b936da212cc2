#!/usr/bin/env python3
"""Writes a checkpoint without recurrent layers as a GGUF file, by the names and keys that published files have, for other
engines:

    pip install -r tools/requirements-gguf.txt
    tools/dense_gguf.py DIRECTORY model.gguf

DIRECTORY holds config.json and model.safetensors, with weights in f32 or bf16, of smollm3, ministral3, olmo3, granite,
cohere2, glm4, seed_oss, gemma2, gemma3_text, gemma4_text, exaone4, ernie4_5, hunyuan_v1_dense, qwen3_moe, mixtral,
olmoe, granitemoe, granitemoeshared, glm4_moe, ernie4_5_moe, qwen2_moe, hunyuan_v1_moe, qwen2_5_vl_text, qwen3_vl_text,
qwen3_vl_moe_text, gemma, cohere, glm, stablelm, dots1, arcee, nemotron, gpt_neox, starcoder2, phi, minimax_m2,
glm4v_text or glm4v_moe_text. Weights become f32. There is no tokenizer, and nothing that reads images.
"""
import json
import pathlib
import sys

import gguf
import numpy as np

from expert_tensors import add_expert_keys, split_experts
from hybrid_gguf import finish, paired, read_tensors

Arch = gguf.MODEL_ARCH
ARCHITECTURES = {"smollm3": Arch.SMOLLM3, "ministral3": Arch.MISTRAL3, "olmo3": Arch.OLMO2, "granite": Arch.GRANITE,
                 "cohere2": Arch.COHERE2, "glm4": Arch.GLM4, "seed_oss": Arch.SEED_OSS, "gemma2": Arch.GEMMA2,
                 "gemma3_text": Arch.GEMMA3, "gemma4_text": Arch.GEMMA4, "exaone4": Arch.EXAONE4, "ernie4_5": Arch.ERNIE4_5,
                 "hunyuan_v1_dense": Arch.HUNYUAN_DENSE, "qwen3_moe": Arch.QWEN3MOE, "mixtral": Arch.LLAMA,
                 "olmoe": Arch.OLMOE, "granitemoe": Arch.GRANITE_MOE, "granitemoeshared": Arch.GRANITE_MOE,
                 "glm4_moe": Arch.GLM4_MOE, "ernie4_5_moe": Arch.ERNIE4_5_MOE,
                 "qwen2_moe": Arch.QWEN2MOE, "hunyuan_v1_moe": Arch.HUNYUAN_MOE,
                 "qwen2_5_vl_text": Arch.QWEN2VL, "qwen3_vl_text": Arch.QWEN3VL,
                 "qwen3_vl_moe_text": Arch.QWEN3VLMOE, "gemma": Arch.GEMMA, "cohere": Arch.COMMAND_R, "glm": Arch.CHATGLM,
                 "stablelm": Arch.STABLELM, "dots1": Arch.DOTS1, "arcee": Arch.ARCEE,
                 "nemotron": Arch.NEMOTRON, "gpt_neox": Arch.GPTNEOX, "starcoder2": Arch.STARCODER2, "phi": Arch.PHI2,
                 "minimax_m2": Arch.MINIMAXM2, "glm4v_text": Arch.GLM4, "glm4v_moe_text": Arch.GLM4_MOE}
# The channels that turn together become neighbours.
PAIRED = ("smollm3", "ministral3", "granite", "mixtral", "granitemoe", "granitemoeshared", "arcee")


def head_dim_of(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def halved(array, head_dim, n_turn):
    """Rows of queries or keys of GLM-4.1V: of the first n_turn of a head, the two that the rotation turns together are
    neighbours, and come to lie half of n_turn apart."""
    heads = array.reshape(-1, head_dim, *array.shape[1:])
    return np.concatenate([heads[:, :n_turn:2], heads[:, 1:n_turn:2], heads[:, n_turn:]], axis=1).reshape(array.shape)


def tensors(config, path):
    """(name, f32 array) as a GGUF file has them."""
    family = config["model_type"]
    names = gguf.get_tensor_name_map(ARCHITECTURES[family], config["num_hidden_layers"])
    texts = ((name.replace("language_model.", "", 1), array) for name, array in read_tensors(path))
    for expert, other in split_experts(config, texts):
        if expert is not None:
            yield expert, np.ascontiguousarray(other)
            continue
        name, array = other
        full = name
        if name.removeprefix("model.").startswith(("vision_tower.", "visual.", "multi_modal_projector.", "embed_vision.")):
            continue
        name += ".weight" if name.endswith(".layer_scalar") else ""
        if name.endswith("embed_tokens_per_layer.weight"):
            array = array[:config["vocab_size"]]
        if family in PAIRED and (".q_proj." in name or ".k_proj." in name):
            array = paired(array, head_dim_of(config))
        if family == "glm4v_text" and (".q_proj." in name or ".k_proj." in name):
            share = rope_of(config).get("partial_rotary_factor", 1)
            array = halved(array, head_dim_of(config), int(head_dim_of(config) * share))
        if family in ("gemma", "gemma2", "gemma3_text", "nemotron") and name.endswith("norm.weight"):
            array = (array + np.float32(1)).astype(np.float32)
        if ".query_key_value." in name:  # of each head, as all queries, all keys and all values
            by_head = array.reshape(config["num_attention_heads"], 3, -1, *array.shape[1:])
            array = np.moveaxis(by_head, 1, 0).reshape(array.shape)
        found = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if found is None:
            raise SystemExit(f"{path}: '{full}' has no name in GGUF files of {family}")
        yield found, np.ascontiguousarray(array)


def rope_of(config):
    """rope_parameters, or what older files have instead."""
    if "rope_parameters" in config:
        return config["rope_parameters"]
    rope = dict(config.get("rope_scaling") or {}, rope_theta=config["rope_theta"])
    return dict(rope, rope_type=rope.get("rope_type", rope.get("type", "default")))


def llama3_factors(rope, dim):
    """What the frequency of each pair of channels is divided by."""
    turns = rope["original_max_position_embeddings"] / (2 * np.pi * rope["rope_theta"] ** (np.arange(0, dim, 2) / dim))
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    smooth = np.clip((turns - low) / (high - low), 0, 1)
    return (1 / ((1 - smooth) / rope["factor"] + smooth)).astype(np.float32)


def add_rope(writer, rope, dim):
    theta = float(rope["rope_theta"])
    if rope["rope_type"] == "dynamic":
        theta *= rope["alpha"] ** (dim / (dim - 2))
    writer.add_rope_freq_base(theta)
    if rope["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_factors(rope, dim))
    if rope["rope_type"] in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if "mrope_section" in rope:
        writer.add_rope_dimension_sections([*rope["mrope_section"], 0])
    if "llama_4_scaling_beta" in rope:
        writer.add_rope_scaling_yarn_log_mul(rope["mscale_all_dim"])
        writer.add_attn_temperature_scale(rope["llama_4_scaling_beta"])


# Size of heads, and number of KV heads, of layers that see all.
def global_heads(config):
    dim, n_kv = config["head_dim"], config["num_key_value_heads"]
    if "per_layer_config" in config:
        own = next(iter(config["per_layer_config"].values()), {})
        return own.get("head_dim", dim), own.get("num_key_value_heads", n_kv)
    return config["global_head_dim"], config["num_global_key_value_heads"] if config["attention_k_eq_v"] else n_kv


def add_gemma4_keys(writer, config):
    dim, n_kv = global_heads(config)
    slides = [kind == "sliding_attention" for kind in config["layer_types"]]
    n_shared = config["num_kv_shared_layers"]
    n_own = config["num_hidden_layers"] - n_shared
    wide = 2 if config["use_double_wide_mlp"] else 1
    writer.add_feed_forward_length([config["intermediate_size"] * (1 if i < n_own else wide)
                                    for i in range(config["num_hidden_layers"])])
    writer.add_head_count_kv([config["num_key_value_heads"] if one else n_kv for one in slides])
    for length in (writer.add_key_length, writer.add_value_length, writer.add_rope_dimension_count):
        length(dim)
    for length in (writer.add_key_length_swa, writer.add_value_length_swa, writer.add_rope_dimension_count_swa):
        length(config["head_dim"])
    writer.add_shared_kv_layers(n_shared)
    writer.add_embedding_length_per_layer_input(config["hidden_size_per_layer_input"])
    share = config["rope_parameters"]["full_attention"]["partial_rotary_factor"]
    n_turn = int(dim * share / 2)
    writer.add_tensor("rope_freqs.weight", np.array([1.0] * n_turn + [1e30] * (dim // 2 - n_turn), np.float32))


def add_keys(writer, config):
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    add_expert_keys(writer, config)
    layer_norm_eps = next((config[name] for name in ("layer_norm_eps", "norm_eps", "norm_epsilon") if name in config), None)
    if layer_norm_eps is not None:
        writer.add_layer_norm_eps(layer_norm_eps)
    else:
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    rope = rope_of(config)
    if "sliding_attention" in rope:
        writer.add_rope_freq_base_swa(float(rope["sliding_attention"]["rope_theta"]))
    full = rope.get("full_attention", rope)
    add_rope(writer, full, head_dim_of(config))
    if config["model_type"] == "gemma4_text":
        add_gemma4_keys(writer, config)
    else:
        writer.add_feed_forward_length(config["intermediate_size"])
        writer.add_head_count_kv(config.get("num_key_value_heads", config["num_attention_heads"]))
        writer.add_key_length(head_dim_of(config))
        writer.add_value_length(head_dim_of(config))
        share = full.get("partial_rotary_factor", config.get("partial_rotary_factor", 1))
        writer.add_rope_dimension_count(int(head_dim_of(config) * share))
    if config.get("sliding_window") and "sliding_attention" in config.get("layer_types", ()):
        writer.add_sliding_window(config["sliding_window"])
        writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])
    if "use_parallel_residual" in config:
        writer.add_parallel_residual(config["use_parallel_residual"])
    for field, add in (("embedding_multiplier", writer.add_embedding_scale),
                       ("residual_multiplier", writer.add_residual_scale),
                       ("attention_multiplier", writer.add_attention_scale), ("logits_scaling", writer.add_logit_scale),
                       ("logit_scale", writer.add_logit_scale),
                       ("attn_logit_softcapping", writer.add_attn_logit_softcapping),
                       ("final_logit_softcapping", writer.add_final_logit_softcapping)):
        if config.get(field) is not None:
            add(config[field])


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    directory = pathlib.Path(sys.argv[1])
    config = json.loads((directory / "config.json").read_text())
    config |= config.get("text_config", {})
    if config["model_type"] not in ARCHITECTURES:
        raise SystemExit(f"{directory}: model_type is {config['model_type']}, expected one of {', '.join(ARCHITECTURES)}")
    writer = gguf.GGUFWriter(sys.argv[2], gguf.MODEL_ARCH_NAMES[ARCHITECTURES[config["model_type"]]])
    add_keys(writer, config)
    for name, array in tensors(config, directory / "model.safetensors"):
        writer.add_tensor(name, array)
    finish(writer)


if __name__ == "__main__":
    main()
