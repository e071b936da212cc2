"""A published model answers a published data set, as frames. Runs with PANDO_SLOW_TESTS, where both are at hand."""

import gzip
import json
import os
import pathlib
import subprocess

import pytest

import pando

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "build/published/qwen2.5-coder-0.5b.gguf"
DATA = ROOT.parent / "shared/data/squad-v2.0-dev-part1.json.gz"
N_ROWS = 24

pytestmark = pytest.mark.skipif(
    not (os.environ.get("PANDO_SLOW_TESTS") and MODEL.exists() and DATA.exists()), reason="slow, or without its files")


def rows():
    articles = json.loads(gzip.open(DATA).read())["data"]
    asked = [{"id": qa["id"], "context": paragraph["context"], "question": qa["question"]}
             for paragraph in articles[0]["paragraphs"] for qa in paragraph["qas"]]
    return asked[:N_ROWS]


def test_squad_as_frames(program, tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    asked = rows()
    options = {"max_tokens": 24, "instruction": "Answer with words of the text."}
    with pando.Engine(MODEL, kv_memory=1 << 30) as engine:
        frame = pandas.DataFrame(asked).set_index("id")
        frame.loc[asked[3]["id"], "question"] = None
        by_pandas = engine.answer_frame(frame, extra=["prompt_tokens"], **options)
        n_computed = engine.stats()["arrived_shared"]
        by_polars = engine.answer_frame(polars.DataFrame(asked), **options)
    assert list(by_pandas.index) == [row["id"] for row in asked]
    texts = [None if pandas.isna(text) else text for text in by_pandas["answer"]]
    (tmp_path / "input.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    subprocess.run(
        [program, "run", "--model", str(MODEL), "--kv-memory", "1GiB", "--quiet", "--ordered", "--max-tokens", "24",
         "--instruction", options["instruction"], "--input", str(tmp_path / "input.jsonl"),
         "--output", str(tmp_path / "output.jsonl")], check=True, timeout=600)
    expected = [json.loads(line)["text"] for line in (tmp_path / "output.jsonl").read_text().splitlines()]
    assert by_polars["answer"].to_list() == expected
    assert texts == [*expected[:3], None, *expected[4:]]
    assert n_computed > sum(by_pandas["answer_prompt_tokens"].dropna()) / 2  # most of each prompt is shared
