"""Tensors of mixtures of experts as GGUF files hold them: one for all experts of a layer, with gate and up apart."""
import re

import numpy as np

ONE = re.compile(r"(.*)\.experts\.(\d+)\.(\w+)\.weight")
PARTS = {"w1": "gate", "w3": "up", "w2": "down", "gate_proj": "gate", "up_proj": "up", "down_proj": "down"}
FUSED = (".experts.gate_up_proj", ".block_sparse_moe.input_linear.weight")
FUSED_DOWN = (".experts.down_proj", ".block_sparse_moe.output_linear.weight")
# Other tensors of a layer with experts.
NAMES = {"mlp.gate.weight": "ffn_gate_inp.weight", "block_sparse_moe.gate.weight": "ffn_gate_inp.weight",
         "block_sparse_moe.router.layer.weight": "ffn_gate_inp.weight",
         "mlp.shared_expert_gate.weight": "ffn_gate_inp_shexp.weight",
         "mlp.shared_expert.gate_proj.weight": "ffn_gate_shexp.weight",
         "mlp.shared_expert.up_proj.weight": "ffn_up_shexp.weight",
         "mlp.shared_expert.down_proj.weight": "ffn_down_shexp.weight",
         "shared_mlp.output_linear.weight": "ffn_down_shexp.weight"}


def is_mixture(config):
    return bool(config.get("num_experts") or config.get("num_local_experts"))


def split_experts(config, tensors):
    """Yields (name in a GGUF file, array) of what belongs to experts, and (None, (name, array)) of all else."""
    single = {}
    for name, array in tensors:
        if not is_mixture(config) or not name.startswith("model.layers."):
            yield None, (name, array)
            continue
        _, _, layer, part = name.split(".", 3)
        root = f"blk.{layer}."
        found = ONE.match(name)
        if found:
            of = single.setdefault((layer, PARTS[found[3]]), {})
            of[int(found[2])] = array
        elif name.endswith(FUSED):
            yield root + "ffn_gate_exps.weight", array[:, :array.shape[1] // 2]
            yield root + "ffn_up_exps.weight", array[:, array.shape[1] // 2:]
        elif name.endswith(FUSED_DOWN):
            yield root + "ffn_down_exps.weight", array
        elif part == "shared_mlp.input_linear.weight":
            yield root + "ffn_gate_shexp.weight", array[:len(array) // 2]
            yield root + "ffn_up_shexp.weight", array[len(array) // 2:]
        elif part in NAMES:
            yield root + NAMES[part], array[0] if part == "mlp.shared_expert_gate.weight" else array
        else:
            yield None, (name, array)
    for (layer, part), arrays in single.items():
        yield f"blk.{layer}.ffn_{part}_exps.weight", np.stack([arrays[i] for i in range(len(arrays))])


def add_expert_keys(writer, config):
    if not is_mixture(config):
        return
    writer.add_expert_count(config.get("num_experts") or config["num_local_experts"])
    writer.add_expert_used_count(config["num_experts_per_tok"])
    if "moe_intermediate_size" in config:
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    for field in ("shared_expert_intermediate_size", "shared_intermediate_size"):
        if config.get(field):
            writer.add_expert_shared_feed_forward_length(config[field])
