#!/usr/bin/env python3
"""Writes the inputs that the fuzz targets begin with: tests/fuzz/corpus/TARGET/*.

Needs Python's own library only. Files found by fuzzing (regression-*) are left as they are.
"""

import base64
import json
import math
import random
import struct
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
MARK = "\u2581"
GPT2_WORDS = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


# Each with other parts of the language (tests/fuzz/chat_fuzz.cc).
CHAT_TEMPLATES = {
    "turns": "{{ bos_token }}{%- for m in messages if m.role != 'x' %}\n{{ loop.index ~ m['role']|upper }}: {{ m.content | trim }}"
             "{% if not loop.last %},{% else %}.{% endif %}{% endfor %}\n{% if add_generation_prompt is defined %}a{% endif %}",
    "macros": "{% macro f(x, y=2, z) %}{% endmacro %}",
    "macro": "{% macro f(x, y=2) -%} {{ x }}{{ y }}{{ varargs }}{{ kwargs }}{{ caller() if caller }} {%- endmacro %}{{ f(1, y='a') }}"
             "{% call f(2) %}b{% endcall %}",
    "namespace": "{% set ns = namespace(n=0, l=[]) %}{% for t in tools %}{% set ns.n = ns.n + 1 %}{% set ns.l = ns.l + [t.name] %}"
                 "{% if ns.n > 3 %}{% break %}{% endif %}{% endfor %}{{ ns.l | join('|') }}{{ ns }}",
    "json": "{{ tools | tojson(indent=2) }}{{ messages[0].content | tojson(ensure_ascii=true) }}{{ {'a': [1.5, none, true]} }}",
    "lists": "{{ [3, 1, 2] | sort | reverse | list }}{{ messages | map(attribute='role') | list }}{{ 'a,b'.split(',')[::-1] }}"
             "{{ tools | selectattr('x', 'defined') | first }}{{ {'b': 1, 'a': 2} | dictsort }}{{ range(5)[1:4] }}",
    "format": "{{ '%5.2f|%-4s|%r' % (1.5, 'a', 'b') }}{{ '{:>6}{!r}{x[0]:,}'.format('a', 2, x=[1234]) }}{{ 7 // -2 }}{{ 2 ** 0.5 }}",
    "blocks": "{% set x | upper %}a{{ 'b' }}{% endset %}{{ x }}{% filter indent(2) %}a\nb{% endfilter %}{% with a = 1 %}{{ a }}"
              "{% endwith %}{% generation %}g{% endgeneration %}{% raw %}{{ x }}{% endraw %}{# c #}",
    "texts": "{% set c = messages[0].content %}{{ c.split('</think>')[-1].lstrip('\\n') }}{{ c | title }}{{ c.upper() }}{{ c[::2] }}"
             "{{ c | safe + '<' }}{{ c.find('H') }}{{ c.center(40, '*') }}{{ c | e }}{{ c is string and 'H' in c }}",
    "tree": "{% for x in [[1, [2]], 3] recursive %}{% if x is iterable %}[{{ loop(x) }}]{% else %}{{ x }}{{ loop.depth }}{% endif %}{% endfor %}",
    "broken": "{% if x %}{{ 'a",
    "unknown": "a\n{{ x | frobnicate }}",
}


def write(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


def json_texts():
    write("json", "values", '{"a":[1,-2,3.5e-7,true,false,null,{}],"b":{"c":{"d":"\\u00e9\\ud83d\\ude00"}},"":[[]]}')
    write("json", "mark", b"\xef\xbb\xbf [18446744073709551615, -9223372036854775808, 1e308]\r\n")
    write("json", "twice", '[{"a":{"b":1,"\\u0062":2}}]')
    write("json", "deep", "[" * 65 + "]" * 65)
    write("json", "utf8", b'["\xc3\xa9\xe2\x82\xac\xf0\x9f\xa6\x99", "\xed\xa0\x80", "\xff"]')


def input_lines():
    lines = [
        {"id": "d1", "context": "C", "questions": ["Q", {"id": 2, "text": "R", "answers": ["a", "b"]}]},
        {"id": 7, "instruction": "I", "context": "C", "template": "{instruction} {context} {question}",
         "questions": [{"text": "Q", "choices": ["yes", "no"]}], "max_tokens": 0},
        {"prompt": "P", "temperature": 0.5, "top_k": 3, "top_p": 0.9, "min_p": 0.1, "n": 2, "seed": 2**64 - 1,
         "stop": ["x", "yz"], "stop_token_ids": [1, 2], "logit_bias": {"3": -1.5}, "repetition_penalty": 1.1,
         "presence_penalty": 1, "frequency_penalty": -1, "ignore_eos": True, "logprobs": True, "top_logprobs": 4},
        {"tokens": [1, 2, 3], "answers": "a", "prompt_logprobs": True},
        {"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}], "thinking": False},
        {"prompt": "P", "choices": ["yes", "no"]},
        {"context": "C", "questions": ["Q"], "thinking": True},
        {"context": "C", "question": "Q", "metadata": {"a": [1, {"b": None}]}},
        {"custom_id": "a", "method": "POST", "url": "/v1/completions",
         "body": {"prompt": ["P", [1, 2]], "echo": True, "logprobs": 2, "max_tokens": 0, "stream": False}},
        {"custom_id": "b", "url": "/v1/chat/completions",
         "body": {"messages": [{"role": "user", "content": [{"type": "text", "text": "U"}]}], "top_logprobs": 1,
                  "response_format": {"type": "text"}, "chat_template_kwargs": {"enable_thinking": True}}},
    ]
    for i, line in enumerate(lines):
        write("input_line", f"line{i}", json.dumps(line))
    write("input_line", "returns", '\ufeff{"prompt": "P"}\r')


def task_lines():
    lines = [
        {"id": "t", "text": "T", "instruction": "I", "metadata": {"a": 1}},
        {"tokens": [1, 2]},
        {"id": 3, "query": "Q", "documents": ["D", {"id": "d", "text": "E"}], "instruction": "I"},
        {"prompt": "P", "continuations": [" a", " b"], "target": 1},
        {"doc_id": 5, "doc": {"x": [1]}, "arguments": [["P", " a"], ["R", " b"]], "target": "0"},
        {"doc_id": 6, "arguments": {"gen_args_0": {"arg_0": "P", "arg_1": " a"}, "gen_args_1": {"arg_0": "P", "arg_1": " b"}},
         "target": " b"},
    ]
    for i, line in enumerate(lines):
        write("task_line", f"line{i}", json.dumps(line))


def tables():
    write("table", "quoted", 'id,context,question,answers,choices,n\r\n1,"C, ""c""\nd",Q,a|b,,2\r\n,,"",,yes|no,x\n')
    write("table", "prompts", "prompt,other\nP,\n\"open\n")


def journals():
    end = ',"hash":"00ff00ff00ff00ff"}\n'
    header = '{"pando_journal":2,"created":5,"settings":{"model":"m","n":"1"}' + end
    record = '{"line":%d,"question":0,"answers":1,"end":%d,"input":"00ff00ff00ff00ff"' + end
    write("journal", "two", header + record % (1, 10) + record % (3, 25))
    write("journal", "finished", header + '{"finished":true' + end)
    write("journal", "backwards", header + record % (1, 10) + record % (2, 5))


def safetensors_file(header, data):
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def safetensors():
    write("safetensors", "two", safetensors_file(
        {"__metadata__": {"format": "pt"},
         "b": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [4, 16]},
         "a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}}, bytes(16)))
    write("safetensors", "none", safetensors_file({"n": {"dtype": "I64", "shape": [0, 7], "data_offsets": [0, 0]}}, b""))
    write("safetensors", "shared", safetensors_file(
        {"a": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]},
         "b": {"dtype": "F16", "shape": [4], "data_offsets": [7, 15]}}, bytes(16)))
    write("safetensors", "huge", safetensors_file(
        {"a": {"dtype": "F4", "shape": [2**62, 2**62], "data_offsets": [0, 2**63 - 1]}}, bytes(16)))


TYPES = {"u8": (0, "<B"), "i32": (5, "<i"), "u32": (4, "<I"), "f32": (6, "<f"), "bool": (7, "<B"), "u64": (10, "<Q")}


def gguf(values, tensors, version=3):
    def text(value):
        data = value.encode()
        return struct.pack("<Q", len(data)) + data

    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values))
    for key, (kind, value) in values.items():
        out += text(key)
        if kind == "str":
            out += struct.pack("<I", 8) + text(value)
        elif kind == "strs":
            out += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
        elif kind.endswith("[]"):
            code, form = TYPES[kind[:-2]]
            out += struct.pack("<IIQ", 9, code, len(value)) + b"".join(struct.pack(form, x) for x in value)
        else:
            code, form = TYPES[kind]
            out += struct.pack("<I", code) + struct.pack(form, value)
    offset, data = 0, b""
    for name, shape, kind, content in tensors:
        out += text(name) + struct.pack("<I", len(shape))
        out += b"".join(struct.pack("<Q", n) for n in reversed(shape)) + struct.pack("<IQ", kind, offset)
        content += bytes(-len(content) % 32)
        data, offset = data + content, offset + len(content)
    return out + bytes(-len(out) % 32) + data


def byte_characters():
    """The characters that stand for the bytes in byte-level vocabularies."""
    shown = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    more = iter(range(256, 512))
    return {byte: chr(byte) if byte in shown else chr(next(more)) for byte in range(256)}


def model_values(name):
    return {
        "general.architecture": ("str", name), "general.alignment": ("u32", 32),
        f"{name}.context_length": ("u32", 64), f"{name}.embedding_length": ("u32", 8),
        f"{name}.block_count": ("u32", 1), f"{name}.feed_forward_length": ("u32", 8),
        f"{name}.attention.head_count": ("u32", 2), f"{name}.attention.head_count_kv": ("u32", 1),
        f"{name}.attention.layer_norm_rms_epsilon": ("f32", 1e-5), f"{name}.rope.freq_base": ("f32", 1e4),
        f"{name}.rope.dimension_count": ("u32", 4),
    }


def ggufs():
    pieces = ["<unk>", "<s>", "</s>", MARK, "a", "b", MARK + "a", "ab"]
    scored = {
        "tokenizer.ggml.model": ("str", "llama"), "tokenizer.ggml.tokens": ("strs", pieces),
        "tokenizer.ggml.scores": ("f32[]", [-float(i) for i in range(len(pieces))]),
        "tokenizer.ggml.token_type": ("i32[]", [2, 3, 3, 1, 1, 1, 1, 1]),
        "tokenizer.ggml.bos_token_id": ("u32", 1), "tokenizer.ggml.eos_token_id": ("u32", 2),
        "tokenizer.ggml.add_bos_token": ("bool", 1), "tokenizer.chat_template": ("str", "{{ messages }}"),
    }
    embedding = ("token_embd.weight", [8, 8], 0, bytes(256))
    norm = ("output_norm.weight", [8], 0, bytes(32))
    write("gguf", "llama", gguf({**model_values("llama"), **scored}, [embedding, norm]))
    characters = list(byte_characters().values()) + ["ab", "<|endoftext|>"]
    merged = {
        "tokenizer.ggml.model": ("str", "gpt2"), "tokenizer.ggml.pre": ("str", "qwen2"),
        "tokenizer.ggml.tokens": ("strs", characters), "tokenizer.ggml.merges": ("strs", ["a b"]),
        "tokenizer.ggml.token_type": ("i32[]", [1] * 257 + [3]), "tokenizer.ggml.eos_token_id": ("u32", 257),
    }
    write("gguf", "gpt2", gguf({**model_values("qwen2"), **merged}, [embedding]))
    words = {
        "tokenizer.ggml.model": ("str", "bert"),
        "tokenizer.ggml.tokens": ("strs", ["[UNK]", "[CLS]", "[SEP]", MARK + "a", MARK + "text", "s", ","]),
        "tokenizer.ggml.token_type": ("i32[]", [2, 3, 3, 1, 1, 1, 1]), "tokenizer.ggml.unknown_token_id": ("u32", 0),
    }
    write("gguf", "bert", gguf(words, [], version=2))
    scaled = {**model_values("phi3"), "phi3.rope.scaling.type": ("str", "yarn"),
              "phi3.rope.scaling.factor": ("f32", 4.0), "phi3.rope.scaling.original_context_length": ("u32", 16),
              "phi3.attention.sliding_window": ("u32", 32)}
    write("gguf", "blocks", gguf(scaled, [("blk.0.attn_qkv.weight", [16, 32], 8, bytes(16 * 34)),
                                          ("rope_factors_short.weight", [2], 0, bytes(8))]))


def hybrid_ggufs():
    """Nemotron-H. `layers`: M a state-space layer, * attention, - a dense feed-forward, E experts."""
    def zeros(name, *shape):
        return name, list(shape), 0, bytes(4 * math.prod(shape))

    ends = [zeros("token_embd.weight", 8, 8), zeros("output.weight", 8, 8), zeros("output_norm.weight", 8)]
    parts = {
        "M": [("ssm_in.weight", 34, 8), ("ssm_conv1d.weight", 24, 4), ("ssm_conv1d.bias", 24), ("ssm_a", 2, 1),
              ("ssm_d", 2, 1), ("ssm_dt.bias", 2), ("ssm_norm.weight", 1, 8), ("ssm_out.weight", 8, 8)],
        "*": [("attn_q.weight", 8, 8), ("attn_k.weight", 4, 8), ("attn_v.weight", 4, 8), ("attn_output.weight", 8, 8)],
        "-": [("ffn_up.weight", 8, 8), ("ffn_down.weight", 8, 8)],
        "E": [("ffn_gate_inp.weight", 4, 8), ("exp_probs_b.bias", 4), ("ffn_up_exps.weight", 4, 8, 8),
              ("ffn_down_exps.weight", 4, 8, 8), ("ffn_up_shexp.weight", 8, 8), ("ffn_down_shexp.weight", 8, 8)],
    }

    def hybrid(name, layers, more=None):
        values = {**model_values(name), f"{name}.block_count": ("u32", len(layers)),
                  f"{name}.feed_forward_length": ("i32[]", [8 * (kind in "-E") for kind in layers]),
                  f"{name}.attention.head_count_kv": ("i32[]", [int(kind == "*") for kind in layers]),
                  f"{name}.attention.key_length": ("u32", 4), f"{name}.attention.value_length": ("u32", 4),
                  f"{name}.ssm.conv_kernel": ("u32", 4), f"{name}.ssm.state_size": ("u32", 8),
                  f"{name}.ssm.group_count": ("u32", 1), f"{name}.ssm.time_step_rank": ("u32", 2),
                  f"{name}.ssm.inner_size": ("u32", 8), "tokenizer.ggml.model": ("str", "no_vocab"),
                  **{f"{name}.{key}": value for key, value in (more or {}).items()}}
        tensors = [zeros(f"blk.{i}.{part}", *shape) for i, kind in enumerate(layers)
                   for part, *shape in [("attn_norm.weight", 8), *parts[kind]]]
        return gguf(values, ends + tensors)

    write("gguf", "nemotron_h", hybrid("nemotron_h", "M-*"))
    write("gguf", "nemotron_h_layers", hybrid("nemotron_h", "M-*", {"block_count": ("u32", 5000)}))
    experts = {"expert_count": ("u32", 4), "expert_used_count": ("u32", 2), "expert_feed_forward_length": ("u32", 8),
               "expert_shared_count": ("u32", 1), "expert_shared_feed_forward_length": ("u32", 8),
               "expert_gating_func": ("u32", 2), "expert_weights_norm": ("bool", 1), "expert_weights_scale": ("f32", 2.5),
               "expert_group_count": ("u32", 2), "expert_group_used_count": ("u32", 1)}
    write("gguf", "nemotron_h_moe", hybrid("nemotron_h_moe", "ME*", experts))


NEXT_FILE = b"\n=== next file ===\n"
# GGUF's number of a type, weights of a block, bytes of a block.
BLOCKS = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24),
          "Q8_0": (8, 32, 34), "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176),
          "Q6_K": (14, 256, 210), "IQ4_NL": (20, 32, 18), "BF16": (30, 1, 2), "MXFP4": (39, 32, 17)}


def blocks(kind, n):
    """Of 17s: small numbers as f16, bf16 and f32, so factors are finite."""
    _, length, size = BLOCKS[kind]
    return bytes([17]) * (n // length * size)


def gguf_parts():
    def tensor(name, kind, *shape):
        return name, list(shape), BLOCKS[kind][0], blocks(kind, math.prod(shape))

    tensors = [
        tensor("token_embd.weight", "Q8_0", 8, 32), tensor("output_norm.weight", "F32", 32),
        tensor("blk.0.attn_norm.weight", "F32", 32), tensor("blk.0.attn_q.weight", "Q4_0", 32, 32),
        tensor("blk.0.attn_k.weight", "Q4_1", 16, 32), tensor("blk.0.attn_v.weight", "Q5_0", 16, 32),
        tensor("blk.0.attn_output.weight", "Q5_1", 32, 32), tensor("blk.0.ffn_norm.weight", "F32", 32),
        tensor("blk.0.ffn_gate.weight", "IQ4_NL", 32, 32), tensor("blk.0.ffn_up.weight", "MXFP4", 32, 32),
        tensor("blk.0.ffn_down.weight", "Q4_0", 32, 32)]
    values = {**model_values("llama"), "llama.embedding_length": ("u32", 32), "llama.feed_forward_length": ("u32", 32),
              "llama.rope.dimension_count": ("u32", 16), "tokenizer.ggml.tokens": ("strs", list("abcdefgh"))}
    write("gguf_parts", "one", gguf(values, tensors))

    def parts(n):
        for i in range(n):
            split = {"split.no": ("u32", i), "split.count": ("u32", n), "split.tensors.count": ("i32", len(tensors))}
            yield gguf({**split, **(values if i == 0 else {})}, tensors[i::n])

    write("gguf_parts", "two", NEXT_FILE.join(parts(2)))
    write("gguf_parts", "three", NEXT_FILE.join(parts(3)))
    write("gguf_parts", "second_first", NEXT_FILE.join(list(parts(2))[::-1]))
    first, _ = parts(2)
    write("gguf_parts", "twice", first + NEXT_FILE + gguf({"split.no": ("u32", 1), "split.count": ("u32", 2)}, tensors[::2]))


def checkpoints():
    layer = "model.layers.0."
    shapes = {"model.embed_tokens.weight": [8, 8], "model.norm.weight": [8], layer + "input_layernorm.weight": [8],
              layer + "post_attention_layernorm.weight": [8], layer + "self_attn.q_proj.weight": [8, 8],
              layer + "self_attn.k_proj.weight": [4, 8], layer + "self_attn.v_proj.weight": [4, 8],
              layer + "self_attn.o_proj.weight": [8, 8], layer + "mlp.gate_proj.weight": [8, 8],
              layer + "mlp.up_proj.weight": [8, 8], layer + "mlp.down_proj.weight": [8, 8]}

    def shard(names, kind):
        header, data = {}, b""
        for name in names:
            content = blocks(kind, math.prod(shapes[name]))
            header[name] = {"dtype": kind, "shape": shapes[name], "data_offsets": [len(data), len(data) + len(content)]}
            data += content
        return safetensors_file(header, data)

    names = list(shapes)
    halves = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    places = {name: file for file, of in halves.items() for name in of}

    def checkpoint(weight_map, of_a=halves["a.safetensors"], of_b=halves["b.safetensors"]):
        index = json.dumps({"metadata": {"total_size": 0}, "weight_map": weight_map}).encode()
        return NEXT_FILE.join([index, shard(of_a, "F32"), shard(of_b, "BF16")])

    write("checkpoint", "two", checkpoint(places))
    write("checkpoint", "part_listed", checkpoint({names[0]: "a.safetensors", names[1]: "b.safetensors"}))
    write("checkpoint", "in_both", checkpoint(places, of_a=names))
    write("checkpoint", "missing", checkpoint({**places, "x": "b.safetensors"}))
    write("checkpoint", "elsewhere", checkpoint({**places, names[0]: "../a.safetensors"}))
    write("checkpoint", "itself", checkpoint({**places, names[0]: "model.safetensors.index.json"}))

    # Quantised: every matrix but the embedding as these tensors, by its rows and columns.
    arguments = {"num_bits": 4, "strategy": "group", "group_size": 8, "symmetric": False}
    compressed = {"quant_method": "compressed-tensors", "format": "pack-quantized",
                  "config_groups": {"group_0": {"targets": ["Linear"], "weights": arguments}}}
    formats = {
        "fp8": ({"quant_method": "fp8", "weight_block_size": [4, 8]},
                lambda n, k: {"weight": ("F8_E4M3", [n, k]), "weight_scale_inv": ("BF16", [n // 4, k // 8])}),
        "compressed": (compressed, lambda n, k: {"weight_packed": ("I32", [n, k // 8]), "weight_scale": ("BF16", [n, k // 8]),
                                                 "weight_zero_point": ("I32", [(n + 7) // 8, k // 8]),
                                                 "weight_g_idx": ("I32", [k])}),
        "awq": ({"quant_method": "awq", "group_size": 4},
                lambda n, k: {"qweight": ("I32", [k, (n + 7) // 8]), "qzeros": ("I32", [k // 4, (n + 7) // 8]),
                              "scales": ("F16", [k // 4, n])}),
        "gptq": ({"quant_method": "gptq", "bits": 8, "group_size": -1},
                 lambda n, k: {"qweight": ("I32", [k // 4, n]), "qzeros": ("I32", [1, n // 4]), "scales": ("F32", [1, n]),
                               "g_idx": ("I32", [k])}),
    }
    size = {"F8_E4M3": 1, "F16": 2, "BF16": 2, "F32": 4, "I32": 4}
    for kind, (config, parts) in formats.items():
        tensors = {}
        for name, shape in shapes.items():
            if len(shape) == 1 or "embed" in name:
                tensors[name] = ("F32", shape)
            else:
                tensors.update({name.replace("weight", part): tensor for part, tensor in parts(*shape).items()})
        header, data = {}, b""
        for name, (dtype, shape) in tensors.items():
            n_bytes = math.prod(shape) * size[dtype]
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + n_bytes]}
            data += bytes(0 if "g_idx" in name else i % 50 + 1 for i in range(n_bytes))
        index = json.dumps({"weight_map": {name: "a.safetensors" for name in tensors}}).encode()
        write("checkpoint", f"quantized_{kind}",
              NEXT_FILE.join([index, safetensors_file(header, data), shard([], "F32"), json.dumps(config).encode()]))


def weight_blocks():
    draw = random.Random(0)
    for kind in range(25):  # of the types that files hold
        write("weight_blocks", f"type{kind:02}", bytes([kind, draw.randrange(256)]) + draw.randbytes(500))
        write("weight_blocks", f"finite{kind:02}", bytes([kind, draw.randrange(256)]) + bytes(draw.randrange(60) for _ in range(500)))


def configs():
    for config in sorted(ROOT.glob("tests/model/data/*/config.json")):
        write("config", config.parent.name, config.read_text())
    for config in sorted(ROOT.glob("tests/model/data/quantized/*/config.json")):
        write("config", f"quantized-{config.parent.name}", config.read_text())


def tokenizers():
    characters = byte_characters()
    vocab = {character: byte for byte, character in characters.items()}
    vocab.update({"ab": 256, "\u0120a": 257})

    def document(model, **steps):
        return json.dumps({**steps, "model": {"type": "BPE", **model}}, ensure_ascii=False, separators=(",", ":"))

    added = [{"id": 258, "content": "<s>", "special": True}, {"id": 259, "content": "</s>", "lstrip": True}]
    template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                                         {"Sequence": {"id": "A", "type_id": 0}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [258], "tokens": ["<s>"]}}}
    write("tokenizer_json", "byte_level", document(
        {"vocab": vocab, "merges": ["a b", ["\u0120", "a"]]}, added_tokens=added, post_processor=template,
        normalizer={"type": "NFC"}, decoder={"type": "ByteLevel"},
        pre_tokenizer={"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": GPT2_WORDS}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]}))
    pieces = ["<unk>", "<s>", "</s>", MARK, "a", "b", "t", MARK + "a", "ab", "<0x41>"]
    scores = {piece: i for i, piece in enumerate(pieces)}
    llama = {"vocab": scores, "merges": [f"{MARK} a", "a b"], "unk_token": "<unk>", "fuse_unk": True}
    replace = [{"type": "Replace", "pattern": {"String": " "}, "content": MARK},
               {"type": "Replace", "pattern": {"String": MARK}, "content": " "}]
    write("tokenizer_json", "marks", document(
        {**llama, "byte_fallback": False},
        normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": MARK}, replace[0]]},
        decoder={"type": "Sequence", "decoders": [replace[1], {"type": "ByteFallback"}, {"type": "Fuse"},
                                                  {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}))
    write("tokenizer_json", "metaspace", document(
        llama, pre_tokenizer={"type": "Metaspace", "replacement": MARK, "prepend_scheme": "first", "split": True},
        decoder={"type": "Metaspace", "replacement": MARK, "prepend_scheme": "first", "split": True}))
    write("tokenizer_json", "words", document(
        llama, pre_tokenizer={"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True}, {"type": "Punctuation"}, {"type": "WhitespaceSplit"}]}))

    unigram = {"type": "Unigram", "unk_id": 0, "byte_fallback": True,
               "vocab": [[piece, -0.3 * i] for i, piece in enumerate(pieces)]}
    metaspace = {"type": "Metaspace", "replacement": MARK, "add_prefix_space": True}
    write("tokenizer_json", "unigram", document(
        unigram, pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
        decoder=metaspace, normalizer={"type": "Sequence", "normalizers": [
            {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(character_map()).decode()},
            {"type": "Nmt"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]}))

    config = {"bos_token": "<s>", "eos_token": {"content": "<|endoftext|>"}, "add_bos_token": False,
              "additional_special_tokens": ["<x>"], "tokenizer_class": "GPT2Tokenizer",
              "model_max_length": 10**30, "chat_template": [{"name": "default", "template": "{{ x }}"}],
              "added_tokens_decoder": {"256": {"content": "<|endoftext|>", "special": True}}}
    defaults = {"do_sample": True, "temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": 0.1,
                "repetition_penalty": 1.05, "eos_token_id": [256, 1], "num_beams": 1}
    write("tokenizer_config", "both", json.dumps(config) + "\0" + json.dumps(defaults))
    write("tokenizer_config", "defaults", "\0" + json.dumps({"eos_token_id": 7}))
    write("tokenizer_config", "config", json.dumps({"eos_token": "<|endoftext|>", "add_eos_token": True}) + "\0")
    write("vocab_merges", "pair",
          json.dumps(vocab, ensure_ascii=False) + "\0#version: 0.2\na b\r\n\u0120 a\n")
    ranks = [bytes([byte]) for byte in range(256)] + [b"ab", b"abc"]
    write("tiktoken", "ranks", "".join(f"{base64.b64encode(t).decode()} {i}\n" for i, t in enumerate(ranks)))
    write("tiktoken", "returns", "IQ== 0\r\nIg== 1\r\n\r\nYWI= 2")
    tekken = {"config": {"pattern": r" ?\p{L}+|\p{N}|\s+|[^\s\p{L}\p{N}]+", "default_vocab_size": 263,
                         "default_num_special_tokens": 5, "version": "v11"},
              "special_tokens": [{"rank": 1, "token_str": "<s>"}, {"rank": 2, "token_str": "</s>"}],
              "vocab": [{"rank": rank, "token_bytes": base64.b64encode(token).decode()}
                        for rank, token in enumerate(ranks)]}
    write("tokenizer_json", "tekken", json.dumps(tekken, separators=(",", ":")))  # the content tells them apart


def protobuf(*fields):
    def varint(value):
        out = b""
        while value >= 0x80:
            out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
        return out + bytes([value])

    out = b""
    for number, value in fields:
        if isinstance(value, float):
            out += varint(number << 3 | 5) + struct.pack("<f", value)
        elif isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def character_map():
    """Makes "A" an "a": bases 1 and 0x42 of a double array, then the texts."""
    units = [0x80000000] * 256
    units[0], units[0x40], units[0x42] = 1 << 10, 2 << 10 | 1 << 8 | 0x41, 0x80000000
    return struct.pack("<257I", 1024, *units) + b"a\0"


def sentencepieces():
    def model(pieces, is_bpe, normalizer):
        parts = [(1, protobuf((1, text), (2, -float(i)), (3, kind))) for i, (text, kind) in enumerate(pieces)]
        trainer = protobuf((3, 2 if is_bpe else 1), (35, 1))
        return protobuf(*parts, (2, trainer), (3, protobuf(*normalizer)))

    pieces = [("<unk>", 2), ("<s>", 3), ("</s>", 3)] + [(f"<0x{byte:02X}>", 6) for byte in range(256)]
    pieces += [(text, 1) for text in (MARK, "a", "b", "t", MARK + "a", "ab", "te", "xt", "text")]
    fewer = pieces[:3] + pieces[-9:] + [("used", 4), ("not", 5)]
    write("spm", "map", model(fewer, True, [(1, "made"), (2, character_map()), (3, 1), (4, 1), (5, 1)]))
    write("spm", "bpe", model(pieces, True, [(1, "identity"), (3, 1), (4, 0), (5, 1)]))
    write("spm", "unigram", model(pieces, False, [(1, "identity"), (3, 1), (4, 1), (5, 1)]))
    write("spm", "few", model(fewer, True, [(1, "identity"), (3, 0), (4, 1), (5, 1)]))


def grammars():
    cases = {
        "schema_object": 's{"type":"object","properties":{"a":{"type":"integer","minimum":3},'
                         '"b":{"type":"string","maxLength":3}},"required":["a"]}',
        "schema_tree": 's{"$ref":"#/$defs/t","$defs":{"t":{"properties":{"c":{"items":{"$ref":"#/$defs/t"}}},"type":"object"}}}',
        "schema_one_of": 's{"oneOf":[{"required":["a"]},{"required":["b"]}],"type":"object",'
                         '"patternProperties":{"^a":{"enum":[1,"x",null]}}}',
        "schema_not": 's{"not":{"anyOf":[{"type":"string"},{"minimum":2}]},"if":{"type":"array"},"then":{"maxItems":1},'
                      '"else":{"const":1.5}}',
        "schema_formats": 's{"prefixItems":[{"format":"date-time"},{"pattern":"^a|b$"},{"multipleOf":0.25}],"type":"array",'
                          '"minItems":3}',
        "regex": "r(a|b)*c{2,3}[^\\d]\\u00e9?$",
        "gbnf": 'groot ::= expr\nexpr ::= term ([-+] term)*\nterm ::= [0-9]{1,3} | "(" expr ")" # x',
        "gbnf_left": 'groot ::= root root | "a" | "\\x41" | ""',
        "lark": 'lstart: expr\nexpr: expr "+" term | term\nterm: NUMBER | "(" expr ")"\n%import common.NUMBER\n%ignore / /\n',
        "lark_ranges": 'lstart: "a"~2..3 "x"i [B] -> c\nB: "q".."s" | /[/]y/i\n',
        "choices": "cyes\n=== next file ===\nno\n=== next file ===\nyesterday",
    }
    for name, grammar in cases.items():
        write("grammar", name, f"{grammar}\0azbycxdwev")


def patterns():
    text = "It's 2024, isn't it?  Yes\n\n ok \u00e9\U0001F999"
    cases = {
        "gpt2": GPT2_WORDS,
        "llama3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                  r"|\s*[\r\n]+|\s+(?!\S)|\s+",
        "classes": r"[\p{Lu}\p{Lt}]*[a-z&&[^x]]+|[^\x00-\x7f]|\w\d\s\W\D\S.|^a$|(?<=a)b|(?<!c)d",
        "backtracks": r"(a|a)*b|(?:x+x+)+y",
        "ruby": r"""(?<q>['"]).*?\k<q>|\b|\h+|[\w&&[^a-e]]+|(?~x)|\R|\X""",
        "scripts": r"[\p{Han}\p{Hiragana}]{2,}?|\u{1F999}|(?i)abc(?-i:D)|a++b*+",
    }
    for name, pattern in cases.items():
        write("pattern", name, f"{pattern}\0{text}")
    write("pattern", "long", f"{cases['backtracks']}\0" + "a" * 200)


def conversations():
    for name, template in CHAT_TEMPLATES.items():
        write("chat", name, template + "\0" "<think>\nHm.\n</think>\n\n \u00a0Hello {{ x }}?")


def texts():
    text = "ab abc  \u00e9 e\u0301 <s>a\n\u2581 \u2581\u2581x \U0001F999\u4e2d\u6587 <0x41> don't 123"
    for i, name in enumerate(("bytes", "normalised", "marks", "unigram")):
        write("tokenize", name, bytes([i]) + text.encode())
    write("tokenize", "invalid", b"\0ab\xff\xc3")


def operations():
    for target in ("prefix_tree", "kv_cache"):
        for seed in range(3):
            write(target, f"random{seed}", random.Random(seed).randbytes(1000))


def step_plans():
    def plan(*sections):
        words = [0x4E414C50, 1, len(sections)]
        for number, section in sections:
            words += [number, len(section), *section]
        return struct.pack(f"<{len(words)}I", *words)

    lists = [(1, [5, 6, 7]), (2, [0, 1, 1]), (3, [0, 2, 3, 3]), (4, [1, 0, 2, 0, 1, 1]), (5, [3, 4, 2]),
             (6, [0, 0, 3, 0, 1]), (7, [1]), (8, [1, 2])]
    write("step_plan", "whole", plan(*lists))
    write("step_plan", "one_row", plan((1, [9]), (2, [0]), (3, [0, 0]), (8, [0])))
    write("step_plan", "unknown", plan(*lists, (9, [1])))
    write("step_plan", "twice", plan(lists[0], lists[0]))


if __name__ == "__main__":
    for make in (grammars, json_texts, input_lines, task_lines, tables, journals, safetensors, ggufs, hybrid_ggufs, gguf_parts, checkpoints, weight_blocks, configs, tokenizers, sentencepieces, patterns,
                 conversations, texts, operations, step_plans):
        make()
