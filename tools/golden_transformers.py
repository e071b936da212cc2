#!/usr/bin/env python3
"""Makes the fixtures of tests/model/data: tiny random models and what the transformers library
computes from them. Needs tools/requirements-golden.txt; the result does not depend on the machine
beyond the last bits of the logits.

    python3 tools/golden_transformers.py tests/model/data
"""
import argparse
import json
import pathlib

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

LLAMA = dict(hidden_size=32, intermediate_size=88, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=2)
QWEN3 = dict(hidden_size=32, intermediate_size=72, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, head_dim=16, max_position_embeddings=256, bos_token_id=1,
             eos_token_id=[2, 3])

# name: model class, configuration, type of the stored weights
MODELS = {
    "llama-tied": (LlamaForCausalLM, LlamaConfig(**LLAMA, vocab_size=192, tie_word_embeddings=True),
                   torch.float32),
    "llama-untied": (LlamaForCausalLM,
                     LlamaConfig(**{**LLAMA, "num_attention_heads": 6, "num_key_value_heads": 3,
                                    "hidden_size": 48}, vocab_size=131, rms_norm_eps=1e-5,
                                 rope_theta=500000.0, tie_word_embeddings=False),
                     torch.bfloat16),
    "qwen3-tied": (Qwen3ForCausalLM,
                   Qwen3Config(**QWEN3, vocab_size=192, rope_theta=1000000.0,
                               tie_word_embeddings=True), torch.float16),
    "qwen3-untied": (Qwen3ForCausalLM,
                     Qwen3Config(**QWEN3, vocab_size=97, tie_word_embeddings=False),
                     torch.float32),
}
N_TOKENS = (40, 37)
POSITIONS = (0, 1, 7, 16, 31, 36)


def randomise(model, generator):
    """Norms near 1 and matrices large enough that attention is far from uniform."""
    for parameter in model.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if parameter.dim() == 1:
            parameter.data = 1.0 + 0.3 * noise
        else:
            parameter.data = 1.5 * noise / parameter.shape[1] ** 0.5


def make(name, folder):
    model_class, config, dtype = MODELS[name]
    generator = torch.Generator().manual_seed(sorted(MODELS).index(name) + 1)
    model = model_class(config)
    randomise(model, generator)
    model.to(dtype).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    # Read back rather than converted: `to` would round the rotary tables as well.
    model = model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    sequences = []
    for n_tokens in N_TOKENS:
        tokens = torch.randint(0, config.vocab_size, (1, n_tokens), generator=generator)
        with torch.no_grad():
            logits = model(tokens).logits[0]
        rows = [{"position": p, "logits": [float(f"{x:.7g}") for x in logits[p].tolist()]}
                for p in POSITIONS]
        sequences.append({"tokens": tokens[0].tolist(), "rows": rows})
    text = json.dumps({"model": name, "sequences": sequences}, separators=(",", ":"))
    (folder / "golden.json").write_text(text.replace('{"position"', '\n{"position"') + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path, help="folder that gets one folder per model")
    out = parser.parse_args().out
    for name in MODELS:
        make(name, out / name)


if __name__ == "__main__":
    main()
