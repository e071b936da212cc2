"""The texts for tests of published models, from which tools/published_golden.py computes the expected values."""
import gzip
import hashlib
import json
import pathlib
import random

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SHARED = SOURCE.parent / "shared" / "data"
WIKITEXT = SHARED / "wikitext-2-test.txt"
SQUAD = SHARED / "squad-v2.0-dev-part1.json.gz"
TOOL_TALKS = SHARED / "glaive-toolcall-en-demo.jsonl"
MODELS = SOURCE / "build" / "published"
FIXTURES = pathlib.Path(__file__).resolve().parent / "data"
N_LINES, N_RANDOM = 1000, 1000
WINDOW, STRIDE = 1024, 960  # for perplexities, in tokens
N_GREEDY = 48
# Ranges of characters that are the same in all versions of Unicode in use. Repeated ASCII ranges are drawn more often.
CHARACTERS = 4 * [(0x61, 0x7A), (0x20, 0x20), (0x30, 0x39), (0x41, 0x5A)] + 2 * [(0x21, 0x2F), (0x0A, 0x0A)] + [
    (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E), (0x09, 0x0D), (0xA0, 0xFF), (0x100, 0x17F), (0x300, 0x304),
    (0x3B1, 0x3C9), (0x410, 0x44F), (0x5D0, 0x5EA), (0x621, 0x64A), (0x905, 0x939), (0xE01, 0xE2E), (0x2010, 0x2027),
    (0x3041, 0x3093), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0x1F600, 0x1F64F)]
# The example of EmbeddingGemma's model card.
QUERY = "Which planet is known as the Red Planet?"
DOCUMENTS = ["Venus is often called Earth's twin because of its similar size and proximity.",
             "Mars, known for its reddish appearance, is often referred to as the Red Planet.",
             "Jupiter, the largest planet in our solar system, has a prominent red spot.",
             "Saturn, famous for its rings, is sometimes mistaken for the Red Planet."]
PROMPT = "The planets, in the order of their distance from the sun, with one fact about each:\n\n"
QUESTION = [{"role": "user", "content": "Name the planets in the order of their distance from the sun, with a fact about each."}]
CHAT = [
    {"messages": QUESTION},
    {"messages": [{"role": "system", "content": "Answer in short sentences."}, *QUESTION]},
    {"messages": [*QUESTION, {"role": "assistant", "content": "1. Mercury has\nno moon."},
                  {"role": "user", "content": "  And the next?\n"}]},
]


def file_of(name):
    """A model's GGUF file, or its directory."""
    file = MODELS / f"{name}.gguf"
    return file if name != "embeddinggemma-300m" else file.with_suffix("")


def random_text(seed):
    draw = random.Random(seed)
    return "".join("".join(chr(draw.randint(first, last)) for _ in range(draw.randint(1, 6)))
                   for first, last in (draw.choice(CHARACTERS) for _ in range(draw.randint(1, 30))))


def wikitext():
    return WIKITEXT.read_text(encoding="utf-8")


def texts(n_lines=N_LINES, n_random=N_RANDOM):
    """Lines of WikiText-2 that are not blank, and random texts."""
    lines = [line for line in wikitext().split("\n") if line.strip()]
    return lines[:n_lines] + [random_text(seed) for seed in range(n_random)]


def hash_of(ids):
    return hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:8]


def paragraphs(n):
    """The n shortest paragraphs of a part of SQuAD, in its order: [{"id", "context", "questions": [{"id", "text"}]}]"""
    with gzip.open(SQUAD, "rt", encoding="utf-8") as file:
        found = [paragraph for article in json.load(file)["data"] for paragraph in article["paragraphs"]
                 if len(paragraph["qas"]) >= 2]
    longest = sorted(len(paragraph["context"]) for paragraph in found)[n - 1]
    return [{"id": str(i), "context": paragraph["context"],
             "questions": [{"id": qa["id"], "text": qa["question"]} for qa in paragraph["qas"][:2]]}
            for i, paragraph in enumerate(found) if len(paragraph["context"]) <= longest][:n]


def calls_of_tools(n):
    """4n lines that require calls: of one tool, of one of three, of several, and of tools that do not fit."""
    talks = [json.loads(line) for line in TOOL_TALKS.read_text(encoding="utf-8").splitlines()]
    talks = [(talk["conversations"][0]["value"], json.loads(talk["tools"])) for talk in talks if json.loads(talk["tools"] or "[]")]
    asked = [question for question, _ in talks]
    tools = {tool["name"]: {"type": "function", "function": tool} for _, list_of in talks for tool in list_of}
    names = sorted(tools)

    def line(kind, i, question, offered, several=False):
        return {"id": f"{kind} {i}", "messages": [{"role": "user", "content": question}],
                "tools": [tools[name] for name in offered], "tool_choice": "required", "parallel_tool_calls": several}

    for i in range(n):
        question, own = talks[i % len(talks)]
        own = [tool["name"] for tool in own]
        others = [names[(7 * i + 3 * k) % len(names)] for k in range(1, 3)]
        yield line("simple", i, question, own[:1])
        yield line("multiple", i, question, list(dict.fromkeys(own + others)))
        yield line("parallel", i, f"{question}\n{asked[(i + 1) % len(asked)]}",
                   list(dict.fromkeys(own + [tool["name"] for tool in talks[(i + 1) % len(talks)][1]])), several=True)
        yield line("irrelevant", i, question, [name for name in others if name not in own][:1] or names[:1])
