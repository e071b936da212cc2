#!/usr/bin/env python3
"""Writes a checkpoint of train.py as a Hugging Face directory: bf16 weights, tokenizer, configuration.

    python tools/demo_model/export.py run models/demo
"""
import argparse
import json
import pathlib

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

import model
import tokenizer

CONTEXT = 2048
TEMPLATE = pathlib.Path(__file__).resolve().parents[2] / "models/demo/chat_template.jinja"


def config(shape, n_layers, eos):
    return {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "dtype": "bfloat16",
        "vocab_size": shape.vocab, "hidden_size": shape.d_model, "intermediate_size": shape.d_ff,
        "num_hidden_layers": n_layers, "num_attention_heads": shape.n_heads,
        "num_key_value_heads": shape.n_kv_heads, "head_dim": shape.head_dim, "hidden_act": "silu",
        "rms_norm_eps": shape.eps, "rope_theta": shape.rope_theta, "max_position_embeddings": CONTEXT,
        "tie_word_embeddings": True, "attention_bias": False, "attention_dropout": 0.0, "use_sliding_window": False,
        "bos_token_id": None, "eos_token_id": eos, "pad_token_id": eos,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, help="folder of train.py")
    parser.add_argument("out", type=pathlib.Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    weights = torch.load(args.run / "checkpoint.pt")["model"]
    save_file({name: weight.to(torch.bfloat16).contiguous() for name, weight in weights.items()},
              args.out / "model.safetensors", metadata={"format": "pt"})
    words = Tokenizer.from_file(str(args.run / "tokenizer.json"))
    tokenizer.save(words, args.out)
    n_layers = sum(name.endswith("input_layernorm.weight") for name in weights)
    fields = config(model.Shape(), n_layers, words.token_to_id(tokenizer.EOS))
    (args.out / "config.json").write_text(json.dumps(fields, indent=2) + "\n")
    (args.out / "chat_template.jinja").write_text(TEMPLATE.read_text())
    defaults = {name: fields[name] for name in ("eos_token_id", "pad_token_id")}
    (args.out / "generation_config.json").write_text(json.dumps({"do_sample": False, **defaults}, indent=2) + "\n")


if __name__ == "__main__":
    main()
