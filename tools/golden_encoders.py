#!/usr/bin/env python3
"""Makes the fixtures of tests/model/encoders: tiny random models whose rows see both ways, and the hidden states that
the transformers library computes from them. Needs tools/requirements-golden.txt.

    python3 tools/golden_encoders.py tests/model/encoders [NAME ...]
"""
import torch
import transformers

from golden_transformers import make_all, randomise, write_golden

SIZES = dict(hidden_size=32, intermediate_size=72, num_hidden_layers=3, num_attention_heads=4, vocab_size=61,
             max_position_embeddings=96, pad_token_id=0, bos_token_id=1, eos_token_id=2)
LLAMA = dict(SIZES, num_key_value_heads=2)
DISTIL = dict(dim=32, hidden_dim=72, n_layers=2, n_heads=4, vocab_size=61, max_position_embeddings=96)
GEMMA = dict(LLAMA, num_hidden_layers=4, head_dim=16, query_pre_attn_scalar=16, sliding_window=12,
             use_bidirectional_attention=True,
             layer_types=["sliding_attention", "full_attention", "sliding_attention", "full_attention"])
# name: seed, class, configuration, type of the stored weights
ENCODERS = {
    "bert": (301, "BertModel", dict(SIZES), "float32"),
    "bert-tanh": (302, "BertForSequenceClassification", dict(SIZES, hidden_act="gelu_new", type_vocab_size=3, num_labels=5),
                  "float16"),
    "roberta": (303, "RobertaForTokenClassification", dict(SIZES, pad_token_id=1, type_vocab_size=1), "float32"),
    "xlm-roberta": (304, "XLMRobertaForSequenceClassification", dict(SIZES, pad_token_id=1, type_vocab_size=1, num_labels=1),
                    "bfloat16"),
    "distilbert": (305, "DistilBertForSequenceClassification", DISTIL, "float32"),
    "modernbert": (306, "ModernBertModel", dict(SIZES, num_hidden_layers=5, local_attention=16), "float32"),
    "modernbert-classes": (307, "ModernBertForSequenceClassification",
                           dict(SIZES, num_hidden_layers=4, local_attention=10, num_labels=3), "bfloat16"),
    "nomic_bert": (308, "NomicBertModel", dict(SIZES), "float32"),
    "eurobert": (309, "EuroBertModel", dict(LLAMA), "float32"),
    "gemma3": (310, "Gemma3TextModel", GEMMA, "float32"),
    "qwen3": (311, "Qwen3Model", dict(LLAMA, head_dim=16, is_causal=False), "bfloat16"),
    "llama": (312, "LlamaForSequenceClassification", dict(LLAMA, is_causal=False, num_labels=2), "float32"),
    "mistral": (313, "MistralModel", dict(LLAMA, is_causal=False, sliding_window=9), "float32"),
}
# Their positions do not count the padding token, which one text holds.
PADDED, PADDED_LENGTH = {"roberta", "xlm-roberta"}, 40
LENGTHS = (1, 7, 40, 90)
POSITIONS = (0, 3, 6, 17, 39, 64, 89)


def make(name, folder):
    seed, class_name, fields, dtype = ENCODERS[name]
    model_class = getattr(transformers, class_name)
    generator = torch.Generator().manual_seed(seed)
    config = model_class.config_class(**fields)
    model = model_class(config)
    randomise(model, generator)
    model.to(getattr(torch, dtype)).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    model = model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").base_model.eval()
    sequences = []
    n_types = getattr(config, "type_vocab_size", 1)
    has_types = n_types > 1
    for n_tokens in LENGTHS:
        tokens = torch.randint(3, config.vocab_size, (1, n_tokens), generator=generator)
        if name in PADDED and n_tokens == PADDED_LENGTH:
            tokens[0, 2::5] = config.pad_token_id
        types = torch.sort(torch.randint(0, n_types, (1, n_tokens), generator=generator)).values
        with torch.no_grad():
            states = model(tokens, **(dict(token_type_ids=types) if has_types else {})).last_hidden_state[0]
        rows = [{"position": p, "hidden": [float(f"{x:.8g}") for x in states[p].tolist()]}
                for p in POSITIONS if p < n_tokens]
        sequence = {"tokens": tokens[0].tolist(), "rows": rows}
        if has_types:
            sequence["types"] = types[0].tolist()
        sequences.append(sequence)
    write_golden(name, folder, sequences)


if __name__ == "__main__":
    make_all(__doc__, ENCODERS, make)
