#!/usr/bin/env python3
"""Writes tests/published/data: results of the libraries transformers and tokenizers for the published models of
scripts/published, computed in f32 from the dequantised tensors.

    pip install -r tools/requirements-golden.txt -r tools/requirements-tokenizers.txt -r tools/requirements-gguf.txt
    pip install accelerate jinja2
    tools/published_golden.py NAME...

Log-probabilities are for the beginning of WikiText-2's test text. The greedy answer is to the first chat, or to a plain
prompt if the file has no chat template. llama.cpp's perplexity, which tools/llama_cpp_scores.py writes, is kept. EmbeddingGemma gets the similarities of its model card.
"""
import json
import pathlib
import sys

import torch
import transformers
from gguf import GGUFReader
from safetensors.torch import load_file

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "published"))
import texts
from library import tokenizer_of

BOS = {"gemma3-270m": [2]}
N_LOGPROBS = 1500
N_PERPLEXITY = 16384
LEAST_MARGIN = 1e-3  # between the two likeliest tokens, below which rounding may decide
TOOLS = [{"type": "function", "function": {
    "name": "play", "description": "Looks a play up.",
    "parameters": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}}}]


class Rotation(torch.nn.Module):
    """The library's rotation, but with angles in double precision. In f32 the angles at position 1,500 are off by 1e-4,
    which moves log-probabilities by up to 6e-4."""
    def __init__(self, config):
        super().__init__()
        self.types, self.head_dim = config.rope_parameters, getattr(config, "head_dim", None)
        self.head_dim = self.head_dim or config.hidden_size // config.num_attention_heads

    def forward(self, x, position_ids, layer_type=None):
        rope = self.types[layer_type] if layer_type else self.types
        assert rope["rope_type"] == "default"
        angles = position_ids[..., None].double() * rope["rope_theta"] ** (-torch.arange(0, self.head_dim, 2).double() / self.head_dim)
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def load(name):
    model = load_library(name)
    model.model.rotary_emb = Rotation(model.config)
    return model


def load_library(name):
    file = texts.file_of(name)
    return transformers.AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()


def beginning_of(text, n_tokens, encode):
    """(number of characters, tokens) of the longest beginning with n_tokens tokens"""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(encode(text[:middle])) <= n_tokens else (low, middle - 1)
    tokens = encode(text[:low])
    assert len(tokens) == n_tokens, (len(tokens), n_tokens)
    return low, tokens


def logprobs_of(model, tokens):
    """[len(tokens) - 1] log-probabilities of all tokens but the first"""
    with torch.inference_mode():
        rows = torch.log_softmax(model(torch.tensor([tokens])).logits[0, :-1].double(), dim=-1)
    return rows[torch.arange(len(tokens) - 1), torch.tensor(tokens[1:])].tolist()


def greedy(model, tokens):
    """The answer to a prompt. [N_GREEDY]"""
    model.generation_config.eos_token_id = None
    prompt = torch.tensor([tokens])
    out = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=texts.N_GREEDY, do_sample=False, output_logits=True,
                         return_dict_in_generate=True)
    best = torch.cat(out.logits).topk(2).values
    margin = (best[:, 0] - best[:, 1]).min().item()
    assert margin > LEAST_MARGIN, f"the two likeliest tokens differ by {margin}"
    return out.sequences[0, len(tokens):].tolist()


def chats(name, tokenizer):
    file = texts.file_of(name)
    field = GGUFReader(file).fields.get("tokenizer.chat_template") if file.suffix == ".gguf" else None
    if field is None:
        return []
    renderer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=field.contents())
    cases = texts.CHAT + ([texts.CHAT[1] | {"tools": TOOLS}] if "tools" in field.contents() else [])
    return [case | {"text": renderer.apply_chat_template(case["messages"], tools=case.get("tools"), tokenize=False,
                                                         add_generation_prompt=True)} for case in cases]


def rounded(values):
    return [round(value, 6) for value in values]


def similarities(name, tokenizer):
    """Similarities of the query with each document of the model card. The modules are those of sentence-transformers:
    the mean, two matrices, length 1."""
    directory = texts.file_of(name)
    model = transformers.AutoModel.from_pretrained(directory, dtype=torch.float32).eval()
    prompts = json.loads((directory / "config_sentence_transformers.json").read_text())["prompts"]
    matrices = [load_file(directory / folder / "model.safetensors")["linear.weight"] for folder in ("2_Dense", "3_Dense")]

    def vector(text):
        tokens = torch.tensor([tokenizer.encode(text).ids])
        with torch.inference_mode():
            pooled = model(tokens).last_hidden_state[0].mean(0)
        for matrix in matrices:
            pooled = matrix.float() @ pooled
        return pooled / pooled.norm()

    query = vector(prompts["query"] + texts.QUERY)
    return [float(query @ vector(prompts["document"] + text)) for text in texts.DOCUMENTS]


def hashes_of_ids(tokenizer):
    encoded = tokenizer.encode_batch(texts.texts(), add_special_tokens=False)
    return "".join(texts.hash_of(ids.ids) for ids in encoded)


def fixture(name):
    tokenizer = tokenizer_of(name)
    if texts.file_of(name).suffix != ".gguf":
        return {"ids": hashes_of_ids(tokenizer), "chats": [], "similarities": rounded(similarities(name, tokenizer))}

    def encode(text):
        return tokenizer.encode(text, add_special_tokens=False).ids

    bos, text = BOS.get(name, []), texts.wikitext()
    n_characters, tokens = beginning_of(text, 1 + N_LOGPROBS - len(bos), encode)
    model, of_chats = load(name), chats(name, tokenizer)
    prompt = of_chats[0]["text"] if of_chats else texts.PROMPT
    of_text = beginning_of(text[:1 << 18], N_PERPLEXITY + 1 - len(bos), encode)
    return {
        "beginning": bos,
        "ids": hashes_of_ids(tokenizer),
        "chats": of_chats,
        "logprobs": {"characters": n_characters, "values": rounded(logprobs_of(model, bos + tokens))},
        "greedy": greedy(model, bos + encode(prompt)),
        "perplexity": {"characters": of_text[0], "tokens": N_PERPLEXITY},
    }


def write(name, found):
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in found.items()]
    (texts.FIXTURES / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main():
    for name in sys.argv[1:]:
        path = texts.FIXTURES / f"{name}.json"
        found = fixture(name)
        if path.exists() and "perplexity" in found:
            found["perplexity"] = json.loads(path.read_text())["perplexity"] | found["perplexity"]
        write(name, found)


if __name__ == "__main__":
    main()
