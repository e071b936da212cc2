#!/usr/bin/env python3
"""Writes a checkpoint with recurrent layers as a GGUF file, by the names that published files have, for other engines:

    pip install -r tools/requirements-gguf.txt
    tools/hybrid_gguf.py DIRECTORY model.gguf [f32|q8_0]

DIRECTORY holds config.json and model.safetensors, with weights in f32 or bf16, as `pando make-model` writes them, of
qwen3_5_text, qwen3_5_moe_text, lfm2, lfm2_moe, granitemoehybrid or nemotron_h. The type is that of matrices; vectors and
convolutions stay f32. There is no tokenizer.
"""
import json
import pathlib
import sys

import gguf
import numpy as np

from expert_tensors import add_expert_keys, split_experts

Type = gguf.GGMLQuantizationType
ATTENTION = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
             "self_attn.o_proj": "attn_output", "self_attn.out_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
             "self_attn.k_norm": "attn_k_norm", "self_attn.q_layernorm": "attn_q_norm",
             "self_attn.k_layernorm": "attn_k_norm"}
NAMES = {
    "qwen3_5_text": {"input_layernorm": "attn_norm", "post_attention_layernorm": "post_attention_norm",
                     "linear_attn.in_proj_qkv": "attn_qkv", "linear_attn.in_proj_z": "attn_gate",
                     "linear_attn.in_proj_b": "ssm_beta", "linear_attn.in_proj_a": "ssm_alpha",
                     "linear_attn.conv1d": "ssm_conv1d", "linear_attn.norm": "ssm_norm", "linear_attn.out_proj": "ssm_out",
                     "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"},
    "lfm2": {"operator_norm": "attn_norm", "ffn_norm": "ffn_norm", "conv.conv": "shortconv.conv",
             "conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj", "feed_forward.w1": "ffn_gate",
             "feed_forward.w3": "ffn_up", "feed_forward.w2": "ffn_down"},
    "granitemoehybrid": {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "mamba.in_proj": "ssm_in",
                         "mamba.conv1d": "ssm_conv1d", "mamba.norm": "ssm_norm", "mamba.out_proj": "ssm_out",
                         "shared_mlp.output_linear": "ffn_down"},
    "nemotron_h": {"norm": "attn_norm", "mixer.in_proj": "ssm_in", "mixer.conv1d": "ssm_conv1d", "mixer.norm": "ssm_norm",
                   "mixer.out_proj": "ssm_out", "mixer.q_proj": "attn_q", "mixer.k_proj": "attn_k",
                   "mixer.v_proj": "attn_v", "mixer.o_proj": "attn_output", "mixer.up_proj": "ffn_up",
                   "mixer.down_proj": "ffn_down"},
}
VECTORS = {"linear_attn.A_log": "ssm_a", "linear_attn.dt_bias": "ssm_dt.bias", "mamba.A_log": "ssm_a", "mamba.D": "ssm_d",
           "mamba.dt_bias": "ssm_dt.bias", "mixer.A_log": "ssm_a", "mixer.D": "ssm_d", "mixer.dt_bias": "ssm_dt.bias"}
ENDS = {"model.embed_tokens.weight": "token_embd.weight", "lm_head.weight": "output.weight",
        "model.norm.weight": "output_norm.weight", "model.embedding_norm.weight": "token_embd_norm.weight",
        "model.embeddings.weight": "token_embd.weight", "model.norm_f.weight": "output_norm.weight"}
# Taps of the convolution, sizes of states, groups, heads, and channels of a head.
SSM = {"qwen3_5": ("linear_conv_kernel_dim", "linear_key_head_dim", "linear_num_key_heads", "linear_num_value_heads",
                   "linear_value_head_dim"),
       "granitemoehybrid": ("mamba_d_conv", "mamba_d_state", "mamba_n_groups", "mamba_n_heads", "mamba_d_head"),
       "nemotron_h": ("conv_kernel", "ssm_state_size", "n_groups", "mamba_num_heads", "mamba_head_dim")}
NAMES["qwen3_5_moe_text"] = NAMES["qwen3_5_text"]
NAMES["lfm2_moe"] = NAMES["lfm2"]
ARCHITECTURES = {"qwen3_5_text": "qwen35", "qwen3_5_moe_text": "qwen35moe", "lfm2": "lfm2", "lfm2_moe": "lfm2moe",
                 "granitemoehybrid": "granitehybrid", "nemotron_h": "nemotron_h"}


def finish(writer):
    """Writes the file of a gguf.GGUFWriter."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_tensors(path):
    """(name, f32 array) of each tensor of a safetensors file."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    for name, about in header.items():
        if name == "__metadata__" or name.endswith("position_ids"):
            continue
        stored = {"F32": np.float32, "BF16": np.uint16}.get(about["dtype"])
        if stored is None:
            raise SystemExit(f"{path}: '{name}' is {about['dtype']}, expected F32 or BF16")
        begin, end = about["data_offsets"]
        array = np.fromfile(path, stored, (end - begin) // stored().itemsize, offset=8 + size + begin)
        if stored is np.uint16:
            array = (array.astype(np.uint32) << 16).view(np.float32)
        yield name, array.reshape(about["shape"])


def head_dim_of(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def recurrent(config):
    kinds = config["layer_types"]
    return [kind not in ("full_attention", "attention") for kind in kinds]


def interleaved(config, name, array):
    """Value heads of Qwen3.5: neighbours share a key head in a checkpoint; in a GGUF file head h has key head h % n."""
    n_keys, n_values = config["linear_num_key_heads"], config["linear_num_value_heads"]
    wide = config["linear_value_head_dim"]
    turn = lambda part: part.reshape(n_keys, n_values // n_keys, -1, *part.shape[1:]).swapaxes(0, 1).reshape(part.shape)
    if name.endswith("out_proj"):
        return turn(array.T.copy()).T.copy()
    first = 2 * n_keys * config["linear_key_head_dim"] if name.endswith(("in_proj_qkv", "conv1d")) else 0
    assert (len(array) - first) % n_values == 0 and (len(array) - first) // n_values in (1, wide), name
    return np.concatenate([array[:first], turn(array[first:])])


def paired(array, head_dim):
    """Rows of queries or keys of the Llama kind: the two that the rotation turns together become neighbours."""
    return array.reshape(-1, 2, head_dim // 2, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)


def tensors(config, directory):
    """(name, array) as a GGUF file has them."""
    family = config["model_type"]
    names = NAMES[family] | ATTENTION
    is_qwen = family.startswith("qwen3_5")
    for expert, other in split_experts(config, read_tensors(directory / "model.safetensors")):
        if expert is not None:
            yield expert, other
            continue
        full, array = other
        one_less = is_qwen and full.endswith("norm.weight") and "linear_attn" not in full
        if one_less:
            array = (array + np.float32(1)).astype(np.float32)
        if full in ENDS:
            yield ENDS[full], array
            continue
        _, _, layer, name = full.split(".", 3)
        of = f"blk.{layer}."
        if name == "shared_mlp.input_linear.weight":
            yield of + "ffn_gate.weight", array[:len(array) // 2]
            yield of + "ffn_up.weight", array[len(array) // 2:]
            continue
        stem, _, kind = name.rpartition(".")
        if name.endswith("A_log"):
            array = (-np.exp(array.astype(np.float64))).astype(np.float32)
        if is_qwen and "linear_attn." in name and "norm" not in name:
            array = interleaved(config, stem if kind == "weight" else name, array)
        if family == "granitemoehybrid" and stem in ("self_attn.q_proj", "self_attn.k_proj"):
            array = paired(array, head_dim_of(config))
        if name.startswith(("mamba.norm", "mixer.norm")):
            array = array.reshape(config["n_groups" if family == "nemotron_h" else "mamba_n_groups"], -1)
        if name in VECTORS:
            yield of + VECTORS[name], array.reshape(-1, 1) if name.endswith((".A_log", ".D")) and not is_qwen else array
        else:
            yield f"{of}{names[stem]}.{kind}", array[:, 0] if array.ndim == 3 else array


def add_keys(writer, config, arch, d_ff):
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    is_nemotron = arch.startswith("nemotron")
    if not is_nemotron:
        writer.add_feed_forward_length(d_ff)
    add_expert_keys(writer, config)
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_rms_eps(config.get("rms_norm_eps", config.get("norm_eps", config.get("layer_norm_epsilon"))))
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    head_dim = head_dim_of(config)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    rope = config.get("rope_parameters", config)
    if rope and rope.get("rope_theta"):
        writer.add_rope_freq_base(float(rope["rope_theta"]))
    n_rotated = int(head_dim * (rope or {}).get("partial_rotary_factor", 1))
    writer.add_rope_dimension_count(n_rotated)
    kv_heads = config["num_key_value_heads"]
    if is_nemotron:
        kinds = config["layers_block_type"]
        widths = {"mlp": config["intermediate_size"], "moe": config.get("moe_intermediate_size")}
        writer.add_head_count_kv([kv_heads if kind == "full_attention" else 0 for kind in kinds])
        writer.add_feed_forward_length([widths.get(kind, 0) for kind in kinds])
        writer.add_layer_norm_eps(config["layer_norm_epsilon"])
        if "moe" in kinds:
            writer.add_expert_shared_feed_forward_length(config["moe_shared_expert_intermediate_size"])
    elif arch.startswith("qwen35"):
        writer.add_head_count_kv(kv_heads)
        writer.add_array(f"{arch}.attention.recurrent_layers", recurrent(config))
        # Every third of the pairs that turn; published models have 11, 11 and 10.
        sections = [(n_rotated // 2 + 2 - first) // 3 for first in range(3)]
        writer.add_array(f"{arch}.rope.dimension_sections", [*sections, 0])
    else:
        writer.add_head_count_kv([0 if is_recurrent else kv_heads for is_recurrent in recurrent(config)])
    if arch == "lfm2moe":
        writer.add_leading_dense_block_count(config["num_dense_layers"])
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if arch.startswith("lfm2"):
        writer.add_uint32(f"{arch}.shortconv.l_cache", config["conv_L_cache"])
        return
    taps, state, groups, heads, head = SSM["qwen3_5" if arch.startswith("qwen35") else config["model_type"]]
    writer.add_ssm_conv_kernel(config[taps])
    writer.add_ssm_state_size(config[state])
    writer.add_ssm_group_count(config[groups])
    writer.add_ssm_time_step_rank(config[heads])
    writer.add_ssm_inner_size(config[heads] * config[head])
    if arch == "granitehybrid":
        writer.add_bool(f"{arch}.rope.scaling.finetuned", config["position_embedding_type"] == "rope")
        for key, field in (("embedding_scale", "embedding_multiplier"), ("residual_scale", "residual_multiplier"),
                           ("attention.scale", "attention_multiplier"), ("logit_scale", "logits_scaling")):
            writer.add_float32(f"{arch}.{key}", config[field])


def main():
    if len(sys.argv) < 3 or sys.argv[1] in ("-h", "--help"):
        raise SystemExit(__doc__)
    directory, out = pathlib.Path(sys.argv[1]), sys.argv[2]
    type_ = Type[(sys.argv[3] if len(sys.argv) > 3 else "f32").upper()]
    config = json.loads((directory / "config.json").read_text())
    arch = ARCHITECTURES.get(config["model_type"])
    if arch is None:
        raise SystemExit(f"{directory}: model_type is {config['model_type']}, expected one of {', '.join(ARCHITECTURES)}")
    if arch == "nemotron_h" and "moe" in config["layers_block_type"]:
        arch = "nemotron_h_moe"
    elif arch == "nemotron_h":
        config.pop("n_routed_experts", None)  # of layers that there are not
    writer = gguf.GGUFWriter(out, arch, use_temp_file=True)
    # The width of the experts, if there are any.
    d_ff = next(array.shape[-2] for name, array in tensors(config, directory)
                if name.endswith(("ffn_gate.weight", "ffn_gate_exps.weight", "ffn_up.weight", "ffn_up_exps.weight")))
    add_keys(writer, config, arch, d_ff)
    for name, array in tensors(config, directory):
        matrix = array.ndim >= 2 and name.endswith(".weight") and not any(
            part in name for part in ("conv", "norm", "gate_inp"))
        # Rows that are no whole number of blocks stay f32.
        kind = type_ if matrix and array.shape[-1] % gguf.GGML_QUANT_SIZES[type_][0] == 0 else Type.F32
        writer.add_tensor(name, gguf.quants.quantize(np.ascontiguousarray(array), kind), raw_dtype=kind)
    finish(writer)


if __name__ == "__main__":
    main()
