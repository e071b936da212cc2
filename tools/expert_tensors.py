"""Tensors of mixtures of experts as GGUF files hold them: one for all experts of a layer, with gate and up apart."""
import re

import gguf
import numpy as np

ONE = re.compile(r"(.*)\.experts\.(\d+)\.(\w+)\.weight")
PARTS = {"w1": "gate", "w3": "up", "w2": "down", "gate_proj": "gate", "up_proj": "up", "down_proj": "down"}
FUSED = (".experts.gate_up_proj", ".block_sparse_moe.input_linear.weight")
FUSED_DOWN = (".experts.down_proj", ".block_sparse_moe.output_linear.weight")
# Other tensors of a layer with experts.
NAMES = {"mlp.gate.weight": "ffn_gate_inp.weight", "block_sparse_moe.gate.weight": "ffn_gate_inp.weight",
         "block_sparse_moe.router.layer.weight": "ffn_gate_inp.weight",
         "mlp.gate.e_score_correction_bias": "exp_probs_b.bias",
         "mlp.moe_statics.e_score_correction_bias": "exp_probs_b.bias", "feed_forward.gate.weight": "ffn_gate_inp.weight",
         "feed_forward.expert_bias": "exp_probs_b.bias",
         "block_sparse_moe.e_score_correction_bias": "exp_probs_b.bias",
         "mlp.shared_expert_gate.weight": "ffn_gate_inp_shexp.weight",
         "mlp.shared_expert.gate_proj.weight": "ffn_gate_shexp.weight",
         "mlp.shared_expert.up_proj.weight": "ffn_up_shexp.weight",
         "mlp.shared_expert.down_proj.weight": "ffn_down_shexp.weight",
         "shared_mlp.output_linear.weight": "ffn_down_shexp.weight", "mixer.gate.weight": "ffn_gate_inp.weight",
         "mixer.gate.e_score_correction_bias": "exp_probs_b.bias",
         "mixer.shared_experts.up_proj.weight": "ffn_up_shexp.weight",
         "mixer.shared_experts.down_proj.weight": "ffn_down_shexp.weight",
         "router.proj.weight": "ffn_gate_inp.weight", "router.scale": "ffn_gate_inp.scale",
         "router.per_expert_scale": "ffn_down_exps.scale"}
ONE_ROW = ("mlp.shared_expert_gate.weight", "mlp.moe_statics.e_score_correction_bias")  # vectors in GGUF files
COUNTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


def n_experts(config):
    return next((config[name] for name in COUNTS if config.get(name)), 0)


def n_used(config):
    """A number, or in HunYuan's files a list that has it for each layer."""
    used = next(config[name] for name in ("num_experts_per_tok", "moe_k", "moe_topk", "top_k_experts") if name in config)
    return used[0] if isinstance(used, list) else used


def untransposed(array, d_model, axis):
    """[experts, rows, columns] of matrices whose given axis is d_model long; some checkpoints have them transposed."""
    return array if array.shape[axis] == d_model else array.transpose(0, 2, 1)


def split_experts(config, tensors):
    """Yields (name in a GGUF file, array) of what belongs to experts, and (None, (name, array)) of all else."""
    single = {}
    for name, array in tensors:
        if not n_experts(config) or not name.startswith("model.layers."):
            yield None, (name, array)
            continue
        _, _, layer, part = name.split(".", 3)
        root = f"blk.{layer}."
        found = ONE.match(name)
        if found:
            of = single.setdefault((layer, PARTS[found[3]]), {})
            of[int(found[2])] = array
        elif name.endswith(FUSED):
            array = untransposed(array, config["hidden_size"], axis=2)
            yield root + "ffn_gate_exps.weight", array[:, :array.shape[1] // 2]
            yield root + "ffn_up_exps.weight", array[:, array.shape[1] // 2:]
        elif name.endswith(FUSED_DOWN):
            array = untransposed(array, config["hidden_size"], axis=1)
            yield root + "ffn_down_exps.weight", array
        elif part == "shared_mlp.input_linear.weight":
            yield root + "ffn_gate_shexp.weight", array[:len(array) // 2]
            yield root + "ffn_up_shexp.weight", array[len(array) // 2:]
        elif part in NAMES:
            yield root + NAMES[part], array[0] if part in ONE_ROW else array
        else:
            yield None, (name, array)
    for (layer, part), arrays in single.items():
        yield f"blk.{layer}.ffn_{part}_exps.weight", np.stack([arrays[i] for i in range(len(arrays))])


def add_expert_keys(writer, config):
    if not n_experts(config):
        return
    writer.add_expert_count(n_experts(config))
    writer.add_expert_used_count(n_used(config))
    if "moe_intermediate_size" in config:
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    if config["model_type"] == "minimax_m2":
        writer.add_expert_feed_forward_length(config["intermediate_size"])
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if "moe_topk" in config:
        writer.add_expert_feed_forward_length(config["intermediate_size"])
        writer.add_expert_shared_feed_forward_length(config["intermediate_size"])
    for field in ("shared_expert_intermediate_size", "shared_intermediate_size"):
        if config.get(field):
            writer.add_expert_shared_feed_forward_length(config[field])
    if "moe_layer_interval" in config:
        writer.add_leading_dense_block_count(config["moe_layer_start_index"])
        writer.add_interleave_moe_layer_step(config["moe_layer_interval"])
        shared = config["moe_num_shared_experts"] * config["moe_intermediate_size"]
        if shared:
            writer.add_expert_shared_feed_forward_length(shared)
    if "n_routed_experts" in config:
        writer.add_leading_dense_block_count(config.get("first_k_dense_replace", 0))
        writer.add_expert_shared_count(config["n_shared_experts"])
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
        writer.add_expert_weights_scale(config["routed_scaling_factor"])
        writer.add_expert_weights_norm(config["norm_topk_prob"])
        writer.add_expert_group_count(config["n_group"])
        writer.add_expert_group_used_count(config["topk_group"])
