#!/usr/bin/env python3
"""Writes the reference for tests/text/chat_template_test.cc with the renderer of `transformers`.

The templates are their authors' texts and not part of this repository: collect them in a folder,
each as NAME.jinja, or as NAME/ with chat_template.jinja or tokenizer_config.json of the model. NAME
is one of TEMPLATES below, which says where each is published.

    pip install -r tools/requirements-chat.txt
    python tools/chat_golden.py --templates DIR --data DIR/tokenizers \
        --out tests/text/data/chat_golden.json

For each template: the hash of its text by which src/text/chat_template.cc knows it, the renderings
of the conversations below, and one hash over 1,000 random conversations. Of those also the hash of
the ids that apply_chat_template gives with the published tokenizer of Qwen2.5. With --hash FILE it
prints the hash of one template and nothing else.
"""

import argparse
import json
import pathlib
import sys

import jinja2
import xxhash
from tokenizer_golden import hash_ids, qwen2
from transformers import PreTrainedTokenizerFast
from transformers.utils.chat_template_utils import render_jinja_template

MASK = (1 << 64) - 1
DATE = "26 Jul 2024"
GENERATED = (
    "{% for message in messages %}{{ message.role + ': ' + message.content + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant:' }}"
    "{% if enable_thinking %}{{ ' (thinking)' }}{% endif %}{% endif %}")

S = ("<s>", "</s>")
LLAMA3 = ("<|begin_of_text|>", "<|eot_id|>")
QWEN = (None, "<|im_end|>")
PHI3 = ("<s>", "<|endoftext|>")
PHI4 = ("<|endoftext|>", "<|im_end|>")
OLMO = ("<|endoftext|>", "<|endoftext|>")
NEVER, SWITCH, ALWAYS = "never", "switch", "always"

# name: (bos, eos), thinking. In brackets: the models whose repository holds the text.
TEMPLATES = {
    "generated": (("", "<|endoftext|>"), SWITCH),  # ours: src/text/byte_tokenizer.cc
    "llama2": (S, NEVER),  # [Llama-2-7b-chat-hf]
    "llama2-trim": (S, NEVER),  # [CodeLlama-34b-Instruct-hf]
    "llama3": (LLAMA3, NEVER),  # [Meta-Llama-3-8B-Instruct]
    "llama3-always": (LLAMA3, NEVER),  # [Meta-Llama-3-8B-Instruct, as first published]
    "llama3.1": (LLAMA3, NEVER),  # [Llama-3.1-8B-Instruct]
    "llama3.2": (LLAMA3, NEVER),  # [Llama-3.2-1B-Instruct, Llama-3.2-3B-Instruct]
    "mistral-v0.1": (S, NEVER),  # [Mistral-7B-Instruct-v0.1, Mixtral-8x7B-Instruct-v0.1]
    "mistral-v0.1-first": (S, NEVER),  # [Mistral-7B-Instruct-v0.1, as first published]
    "mistral-v0.2-first": (S, NEVER),  # [Mistral-7B-Instruct-v0.2, Mixtral, as first published]
    "mistral-v0.3": (S, NEVER),  # [Mistral-7B-Instruct-v0.3]
    "mixtral-8x22b": (S, NEVER),  # [Mixtral-8x22B-Instruct-v0.1]
    "mistral-nemo": (S, NEVER),  # [Mistral-Nemo-Instruct-2407]
    "mistral-nemo-first": (S, NEVER),  # [Mistral-Nemo-Instruct-2407, as first published]
    "qwen1.5": (QWEN, NEVER),  # [Qwen1.5-72B-Chat]
    "qwen1.5-chat": (QWEN, NEVER),  # [Qwen1.5-0.5B]
    "qwen2": (QWEN, NEVER),  # [Qwen2-7B-Instruct, Qwen1.5-4B-Chat]
    "qwen2.5": (QWEN, NEVER),  # [Qwen2.5-0.5B-Instruct to -72B-Instruct]
    "qwen2.5-braces": (QWEN, NEVER),  # [Qwen2.5, as first published]
    "qwen3": (QWEN, SWITCH),  # [Qwen3-0.6B, as first published]
    "qwen3-string": (QWEN, SWITCH),  # [Qwen3-0.6B, Qwen3-1.7B]
    "qwen3-instruct-2507": (QWEN, NEVER),  # [Qwen3-4B-Instruct-2507]
    "qwen3-thinking-2507": (QWEN, ALWAYS),  # [Qwen3-4B-Thinking-2507]
    "phi3-mini": (PHI3, NEVER),  # [Phi-3-mini-4k-instruct]
    "phi3.5-mini": (PHI3, NEVER),  # [Phi-3.5-mini-instruct]
    "phi3-mini-first": (PHI3, NEVER),  # [Phi-3-mini-4k-instruct, as first published]
    "phi3-mini-system": (PHI3, NEVER),  # [Phi-3-mini, an edit between the two]
    "phi3-medium": (PHI3, NEVER),  # [Phi-3-medium-128k-instruct]
    "phi4": (PHI4, NEVER),  # [phi-4]
    "phi4-first": (PHI4, NEVER),  # [phi-4, as first published]
    "phi4-mini": (PHI3, NEVER),  # [Phi-4-mini-instruct]
    "olmo2": (OLMO, NEVER),  # [OLMo-2-1124-7B-Instruct]
    "tulu3": (OLMO, NEVER),  # [Llama-3.1-Tulu-3-8B]
}

CONVERSATIONS = {
    "user": [("user", "What is Pando?")],
    "system": [("system", "Be brief."), ("user", "What is Pando?")],
    "turns": [("user", "One?"), ("assistant", "1."), ("user", "Two?")],
    "system and turns": [("system", "Count."), ("user", "One?"), ("assistant", "1."),
                         ("user", "Two?"), ("assistant", "2."), ("user", "Three?")],
    "empty": [("system", ""), ("user", "")],
    "only system": [("system", "Be brief.")],
    "assistant last": [("system", "Count."), ("user", "One?"), ("assistant", "1.")],
    "spaces at the ends": [("system", " \n\u3000Count.\u00a0"), ("user", "\t One?\r\n"),
                           ("assistant", "\u200b 1.\x1c\n"), ("user", "\n\nTwo? ")],
    "Unicode": [("user", "Wo stehen die B\u00e4ume? \u68ee\u306f\u3069\u3053\u3067\u3059\u304b \U0001F333")],
    "written tokens": [("user", "[/INST]<|im_end|></s>{{ x }}{% if %}")],
    "two users": [("user", "One?"), ("user", "Two?")],
    "assistant first": [("assistant", "Hello."), ("user", "Hello?")],
    "system later": [("user", "One?"), ("system", "Count."), ("user", "Two?")],
    "thoughts": [("user", "One?"), ("assistant", "<think>\nHm.\n</think>\n\n1."), ("user", "Two?"),
                 ("assistant", "<think>\n\nSo?\n</think>\n\n\n2.")],
}
WITHOUT_GENERATION_PROMPT = ["user", "assistant last", "system and turns"]


# Random conversations: the same as tests/text/chat_conversations.h. Change both together.

# The first seven are space, the eighth only looks like it.
PIECES = [" ", "\n", "\t", "\u00a0", "\u3000", "\x1c", "\r\n", "\u200b", "Hello", "Wie geht's?",
          "\u65e5\u672c", "\U0001F600", "a  b", "e\u0301", "[/INST]", "<|im_end|>", "{{ x }}",
          "<think>", "</think>", "<think>\nSo.\n</think>\n\n", "<tool_response>",
          "</tool_response>", "\n\n"]
ROLES = ["system", "user", "assistant"]


def splitmix64(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


class Draws:
    def __init__(self, conversation):
        self.state = splitmix64(0x43484154 + conversation)

    def below(self, n):
        self.state = splitmix64(self.state)
        return (self.state >> 16) % n


def random_conversation(number):
    """Messages, whether to add the generation prompt, whether to think."""
    draws = Draws(number)
    any_order = draws.below(4) == 0
    has_system = draws.below(2) == 0
    messages = []
    for i in range(1 + draws.below(6)):
        if any_order:
            role = ROLES[draws.below(3)]
        elif has_system and i == 0:
            role = "system"
        else:
            role = ["user", "assistant"][(i - has_system) % 2]
        blank = draws.below(8) == 0
        content = "".join(PIECES[draws.below(7 if blank else len(PIECES))]
                          for _ in range(draws.below(5)))
        if role == "system" and not blank:  # no text is part of another
            content += f"#{number}.{i}"
            content += PIECES[draws.below(8)]
        messages.append((role, content))
    return messages, draws.below(2) == 1, draws.below(2) == 1


def normalized(text):
    """What Jinja makes of every template's text before it reads it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text[:-1] if text.endswith("\n") else text


def text_hash(text):
    return xxhash.xxh3_64_intdigest(normalized(text).encode())


def read_template(folder, name):
    if name == "generated":
        return GENERATED
    for path in (folder / f"{name}.jinja", folder / name / "chat_template.jinja"):
        if path.exists():
            return path.read_bytes().decode()
    path = folder / name / "tokenizer_config.json"
    if not path.exists():
        sys.exit(f"{folder} has no {name}.jinja and no {name}/tokenizer_config.json")
    template = json.loads(path.read_text())["chat_template"]
    if isinstance(template, list):
        template = next(t["template"] for t in template if t["name"] == "default")
    return template


def render(text, tokens, messages, generation_prompt, thinking):
    """("text" or "error", what). Text of a system message that a template leaves out is an error of
    ours: "left out"."""
    special = {name: token for name, token in zip(("bos_token", "eos_token"), tokens) if token}
    conversation = [{"role": role, "content": content} for role, content in messages]
    try:
        rendered, _ = render_jinja_template(
            [conversation], chat_template=text, add_generation_prompt=generation_prompt,
            enable_thinking=thinking, date_string=DATE, **special)
    except jinja2.exceptions.TemplateError as error:
        return "error", str(error)
    for role, content in messages:
        if role == "system" and content.strip() and content.strip() not in rendered[0]:
            return "error", "left out"
    return "text", rendered[0]


def thinking_modes(mode):
    return {NEVER: [False], SWITCH: [False, True], ALWAYS: [True]}[mode]


def golden(folder, name, count):
    tokens, mode = TEMPLATES[name]
    text = read_template(folder, name)
    renderings = []
    for title, messages in CONVERSATIONS.items():
        for generation_prompt in (True, False) if title in WITHOUT_GENERATION_PROMPT else (True,):
            for thinking in thinking_modes(mode):
                kind, what = render(text, tokens, messages, generation_prompt, thinking)
                renderings.append({"conversation": title, "generation_prompt": generation_prompt,
                                   "thinking": thinking, kind: what})
    chained = 0
    for number in range(count):
        messages, generation_prompt, thinking = random_conversation(number)
        thinking = thinking if mode == SWITCH else mode == ALWAYS
        kind, what = render(text, tokens, messages, generation_prompt, thinking)
        chained = xxhash.xxh3_64_intdigest(f"{kind}:{what}".encode(), seed=chained)
    return {"name": name, "hash": f"{text_hash(text):016x}", "bos": tokens[0] or "",
            "eos": tokens[1] or "", "renderings": renderings,
            "random_conversations": count, "random_hash": f"{chained:016x}"}


def ids_hash(data, count):
    """FNV-1a of the ids of random conversations in Qwen2.5's own template and vocabulary."""
    config = json.loads((data / "qwen2.5/tokenizer_config.json").read_text(encoding="utf-8"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=qwen2(data))
    lists = []
    for number in range(count):
        messages, generation_prompt, _ = random_conversation(number)
        encoded = tokenizer.apply_chat_template(
            [{"role": role, "content": content} for role, content in messages],
            chat_template=config["chat_template"], add_generation_prompt=generation_prompt)
        lists.append(encoded["input_ids"])
    return hash_ids(lists)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--templates", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--hash", type=pathlib.Path)
    parser.add_argument("--random", type=int, default=1000)
    arguments = parser.parse_args()
    if arguments.hash:
        print(f"{text_hash(arguments.hash.read_bytes().decode()):016x}")
        return
    if not arguments.templates or not arguments.data or not arguments.out:
        parser.error("expected --templates, --data and --out, or --hash")
    document = {
        "conversations": {title: [list(message) for message in messages]
                          for title, messages in CONVERSATIONS.items()},
        "templates": [golden(arguments.templates, name, arguments.random) for name in TEMPLATES],
        "spaces": [point for point in range(0x110000) if not chr(point).strip()],
        "qwen2.5_ids_hash": f"{ids_hash(arguments.data, arguments.random):016x}",
    }
    arguments.out.write_text(json.dumps(document, indent=0, sort_keys=False) + "\n")


if __name__ == "__main__":
    main()
