#!/usr/bin/env python3
"""What each type of weights and of keys and values costs: a table of perplexities.

Every model directory is scored on the text by `pando score --perplexity`, first with stored weights
and f32 keys and values, then with one of the two changed at a time. Standard library only.

    tools/quality_table.py TEXT MODEL [MODEL ...] [--pando build/pando] [--window 512]
"""

import argparse
import json
import pathlib
import subprocess

VARIANTS = [  # weights, keys and values
    ("stored", "f32"),
    ("q8_0", "f32"),
    ("int8", "f32"),
    ("q4_0", "f32"),
    ("bf16_dot", "f32"),
    ("stored", "f16"),
    ("stored", "bf16"),
    ("q8_0", "f16"),
    ("stored", "int8"),
    ("q8_0", "int8"),
]


def score(options, model, weights, kv):
    command = [options.pando, "score", "--model", model, "--perplexity", options.text, "--weights", weights,
               "--kv-dtype", kv]
    if options.window:
        command += ["--window", str(options.window)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--pando", default="build/pando")
    parser.add_argument("--window", type=int, default=0)
    options = parser.parse_args()
    print("| model | tokens | weights | keys, values | perplexity | against f32 | bits per byte |")
    print("|---|---|---|---|---|---|---|")
    for model in options.models:
        base = None
        for weights, kv in VARIANTS:
            result = score(options, model, weights, kv)
            base = base or result["perplexity"]
            print(f"| {pathlib.Path(model).name} | {result['tokens']} | {weights} | {kv} | {result['perplexity']:.4f} "
                  f"| {100 * (result['perplexity'] / base - 1):+.3f}% | {result['bits_per_byte']:.5f} |", flush=True)


if __name__ == "__main__":
    main()
