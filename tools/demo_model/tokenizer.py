"""The demo model's tokenizer: byte-level BPE of 512 tokens with the pre-tokenizer of Qwen2.

Merges are learned from generated training documents. No merge crosses a line's end, so that a
document's tokens do not depend on what follows it.
"""
import json
import random

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

import data

EOS = "<|endoftext|>"
VOCAB = 512
_QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")


def _lines(seed, n_documents):
    mix = data.Mix(templates=2)
    for i in range(n_documents):
        document = data.Document(random.Random(f"tokenizer/{seed}/{i}"), mix, test=False).fill(1500, len)
        yield document.text()
        for question in document.questions(4):
            yield f"Question: {question.text}"
            yield f" {question.answer}"
            yield "Answer:"
            yield "\n\n"


def train(seed=1, n_documents=3000):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(_QWEN2), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=VOCAB, special_tokens=[EOS], show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(_lines(seed, n_documents), trainer)
    return tokenizer


def save(tokenizer, folder):
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": EOS, "pad_token": EOS,
              "add_prefix_space": False, "clean_up_tokenization_spaces": False, "model_max_length": 2048}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
