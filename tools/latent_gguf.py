#!/usr/bin/env python3
"""Writes a checkpoint with latent attention as a GGUF file, by the names and keys that published files have, for other
engines:

    pip install -r tools/requirements-gguf.txt
    tools/latent_gguf.py DIRECTORY model.gguf [--old]

DIRECTORY holds config.json and model.safetensors, with weights in f32 or bf16, of deepseek_v2, deepseek_v3 or
glm4_moe_lite. Weights become f32. With --old, keys and values of heads are one tensor. There is no tokenizer.
"""
import json
import pathlib
import sys

import gguf
import numpy as np

from hybrid_gguf import finish, read_tensors

NAMES = {"self_attn.q_proj": "attn_q", "self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm",
         "self_attn.q_b_proj": "attn_q_b", "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
         "self_attn.kv_a_layernorm": "attn_kv_a_norm", "self_attn.kv_b_proj": "attn_kv_b",
         "self_attn.o_proj": "attn_output", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
         "mlp.gate": "ffn_gate_inp", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
         "mlp.shared_experts.gate_proj": "ffn_gate_shexp", "mlp.shared_experts.up_proj": "ffn_up_shexp",
         "mlp.shared_experts.down_proj": "ffn_down_shexp"}
ENDS = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
        "lm_head.weight": "output.weight"}
SOFTMAX, SIGMOID = gguf.ExpertGatingFuncType.SOFTMAX, gguf.ExpertGatingFuncType.SIGMOID


def tensors(config, path, old):
    """(name, f32 array) as a GGUF file has them."""
    heads, still, values = (config[name] for name in ("num_attention_heads", "qk_nope_head_dim", "v_head_dim"))
    experts = {}
    for name, array in read_tensors(path):
        if name in ENDS:
            yield ENDS[name], array
            continue
        _, _, layer, rest = name.split(".", 3)
        block = f"blk.{layer}."
        module, _, kind = rest.rpartition(".")
        if rest == "mlp.gate.e_score_correction_bias":
            yield block + "exp_probs_b.bias", array
        elif rest.startswith("mlp.experts."):
            _, _, expert, part, _ = rest.split(".")
            experts.setdefault((block, part.removesuffix("_proj")), {})[int(expert)] = array
        elif module == "self_attn.kv_b_proj" and not old:
            both = array.reshape(heads, still + values, -1)
            yield block + "attn_k_b.weight", np.ascontiguousarray(both[:, :still].transpose(0, 2, 1))
            yield block + "attn_v_b.weight", np.ascontiguousarray(both[:, still:])
        else:
            yield f"{block}{NAMES[module]}.{kind}", array
    for (block, part), one in experts.items():
        yield f"{block}ffn_{part}_exps.weight", np.stack([one[i] for i in range(len(one))])


def n_dense(config):
    if config["model_type"] == "glm4_moe_lite":
        return config.get("mlp_layer_types", ["dense"]).count("dense")
    return config.get("first_k_dense_replace", {"deepseek_v2": 0, "deepseek_v3": 3}[config["model_type"]])


def add_keys(writer, config, old):
    heads, rank, turning = (config[name] for name in ("num_attention_heads", "kv_lora_rank", "qk_rope_head_dim"))
    query, value = config["qk_nope_head_dim"] + turning, config["v_head_dim"]
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads if old else 1)
    writer.add_key_length(query if old else rank + turning)
    writer.add_value_length(value if old else rank)
    if not old:
        writer.add_key_length_mla(query)
        writer.add_value_length_mla(value)
    writer.add_kv_lora_rank(rank)
    if config.get("q_lora_rank"):
        writer.add_q_lora_rank(config["q_lora_rank"])
    writer.add_layer_norm_rms_eps(config.get("rms_norm_eps", 1e-6))
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    if config["model_type"] == "glm4_moe_lite":
        writer.add_tokenizer_pre("glm4")
    rope = config["rope_parameters"]
    writer.add_rope_freq_base(float(rope["rope_theta"]))
    writer.add_rope_dimension_count(turning)
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        writer.add_rope_scaling_yarn_log_mul(0.1 * rope["mscale_all_dim"])
    dense, layers = n_dense(config), config["num_hidden_layers"]
    writer.add_leading_dense_block_count(dense)
    writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    if dense == layers:
        writer.add_expert_shared_count(0)
        return
    writer.add_expert_count(config.get("n_routed_experts", 64))
    writer.add_expert_used_count(config["num_experts_per_tok"])
    writer.add_expert_shared_count(config.get("n_shared_experts", 1))
    writer.add_expert_weights_scale(config.get("routed_scaling_factor", 1.0))
    softmax = config["model_type"] == "deepseek_v2"
    writer.add_expert_gating_func(SOFTMAX if softmax else SIGMOID)
    if not softmax:
        writer.add_expert_weights_norm(config.get("norm_topk_prob", True))
    if not softmax or config.get("topk_method") == "group_limited_greedy":
        writer.add_expert_group_count(config.get("n_group", 1))
        writer.add_expert_group_used_count(config.get("topk_group", 1))


def main():
    old = "--old" in sys.argv[1:]
    places = [argument for argument in sys.argv[1:] if argument != "--old"]
    if len(places) != 2:
        raise SystemExit(__doc__)
    directory = pathlib.Path(places[0])
    config = json.loads((directory / "config.json").read_text())
    writer = gguf.GGUFWriter(places[1], gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.DEEPSEEK2])
    add_keys(writer, config, old)
    for name, array in tensors(config, directory / "model.safetensors", old):
        writer.add_tensor(name, np.ascontiguousarray(array))
    finish(writer)


if __name__ == "__main__":
    main()
