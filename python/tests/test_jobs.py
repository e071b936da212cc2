"""Vectors, rankings, perplexity and batches: the values of the program and the server, bit by bit."""

import asyncio
import contextlib
import dataclasses
import json
import pathlib
import re
import subprocess
import threading
import urllib.request

import numpy as np
import pytest

import pando
from conftest import CONTEXT, QUESTIONS, SMALL

TEXTS = ["Velina works as a tailor.", "The Mofti lamp costs $12.40.", "Velina works as a tailor."]
LINES = [
    {"id": "a", "context": CONTEXT, "questions": QUESTIONS},
    {"id": 7, "prompt": "The Mofti lamp costs", "logprobs": True, "n": 2, "temperature": 1.0},
    {"id": "c", "context": CONTEXT, "question": QUESTIONS[0], "choices": ["baker", "tailor"]},
]


@pytest.fixture(scope="module")
def server(program):
    command = [program, "serve", "--model", str(pando.demo_model()), "--port", "0", "--threads", "1", "--kv-memory", "64MiB"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        address = next(found[0] for line in process.stderr if (found := re.search(r"http://\S+", line)))

        def post(path, body):
            data = json.dumps(body).encode()
            request = urllib.request.Request(address + path, data, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)

        yield post
    finally:
        process.terminate()
        process.wait(60)
        process.stderr.close()


def run(program, command, lines, folder, *options, model=None):
    """The lines of output."""
    (folder / "input.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    subprocess.run(
        [program, *command, "--model", str(model or pando.demo_model()), "--threads", "1", "--kv-memory", "64MiB", "--quiet",
         "--input", str(folder / "input.jsonl"), "--output", str(folder / "output.jsonl"), *options], check=True,
        timeout=120)
    return [json.loads(line) for line in (folder / "output.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("options", [{}, {"dimensions": 16}, {"normalize": False}])
def test_vectors_are_those_of_the_server(engine, server, options):
    vectors = engine.embed(TEXTS, **options)
    assert vectors.dtype == np.float32 and vectors.shape == (3, options.get("dimensions", engine.model.info.d_model))
    answer = server("/v1/embeddings", {"input": TEXTS, **options})
    expected = np.array([one["embedding"] for one in answer["data"]], dtype=np.float32)
    assert vectors.tobytes() == expected.tobytes()
    assert vectors[0].tobytes() == vectors[2].tobytes() == engine.embed(TEXTS[:1], **options)[0].tobytes()


def test_vectors_are_those_of_the_program(engine, program, tmp_path):
    lines = run(program, ["embed"], [{"id": i, "text": text} for i, text in enumerate(TEXTS)], tmp_path, "--ordered")
    assert engine.embed(TEXTS).tobytes() == np.array([line["embedding"] for line in lines], dtype=np.float32).tobytes()


def test_rankings_are_those_of_the_server(engine, server):
    ranked = engine.rerank("What does Velina do?", TEXTS, instruction="Find jobs")
    body = {"query": "What does Velina do?", "documents": TEXTS, "instruction": "Find jobs"}
    expected = server("/v1/rerank", body)["results"]
    assert [(r.index, r.score, r.mass) for r in ranked] == [(e["index"], e["relevance_score"], e["mass"]) for e in expected]
    assert len(engine.rerank("What does Velina do?", TEXTS, top_n=2)) == 2


CLASSIFIERS = pathlib.Path(__file__).resolve().parents[2] / "tests/task/data/classifiers"


def test_labels_are_those_of_the_program(program, tmp_path):
    lines = [{"id": 0, "text": "a page"}, {"id": 1, "text": "a", "text_pair": "page"}]
    expected = run(program, ["classify"], lines, tmp_path, "--ordered", model=CLASSIFIERS / "bert-three")
    with pando.Engine(CLASSIFIERS / "bert-three", **SMALL) as engine:
        found = engine.classify(["a page", ("a", "page")])
        assert engine.classify(["a page"], top_k=1)[0] == found[0][:1]
        assert sum(label.score for label in found[0]) == pytest.approx(1)
        logits = engine.classify(["a page"], activation="logits")[0]
        batch = []
        engine.run_batch(lines, batch.append, task="classify", ordered=True)
        awaited = asyncio.run(pando.AsyncEngine(engine).classify(["a page", ["a", "page"]]))
    assert [[(label.label, label.score) for label in labels] for labels in found] == [
        [(label["label"], label["score"]) for label in line["labels"]] for line in expected]
    assert batch == expected and awaited == found
    assert [label.label for label in logits] == [label.label for label in found[0]]


def test_entities_are_those_of_the_program(program, tmp_path):
    text = "É. Alice flew to New York in 2021."
    for way in ("none", "simple"):
        lines = run(program, ["classify"], [{"text": text}], tmp_path, "--overwrite", "--aggregation", way,
                    model=CLASSIFIERS / "bert-tokens")
        with pando.Engine(CLASSIFIERS / "bert-tokens", **SMALL) as engine:
            found = engine.classify([text], aggregation_strategy=way)[0]
        assert [dataclasses.asdict(one) for one in found] == lines[0]["entities"] and found
        assert all(text[one.start : one.end] == one.text for one in found)


def test_a_classifier_ranks_without_mass():
    with pando.Engine(CLASSIFIERS / "xlm-roberta-pairs", **SMALL) as engine:
        ranked = engine.rerank("What is a page?", ["rows", "a page"])
    assert [one.mass for one in ranked] == [None, None] and ranked[0].score >= ranked[1].score


def test_the_demo_model_is_no_classifier(engine):
    with pytest.raises(pando.Error) as error:
        engine.classify(["a"])
    assert error.value.code == "unsupported" and "is no classifier" in str(error.value)


def test_scores_are_those_of_the_server(engine, server):
    continuations = [" tailor.", " baker."]
    expected = server("/v1/score", {"prompt": "Velina works as a", "continuations": continuations})["data"]
    found = engine.score("Velina works as a", continuations)
    assert [(s.logprob, len(s.tokens), s.likeliest) for s in found] == [(e["score"], e["tokens"], e["likeliest"]) for e in expected]


def test_perplexity_is_that_of_the_program(engine, program, tmp_path):
    text = " ".join(TEXTS * 20)
    (tmp_path / "text.txt").write_text(text)
    done = subprocess.run(
        [program, "score", "--model", str(pando.demo_model()), "--threads", "1", "--kv-memory", "64MiB", "--quiet",
         "--perplexity", str(tmp_path / "text.txt"), "--window", "64", "--stride", "16"],
        capture_output=True, check=True, text=True, timeout=120)
    expected = json.loads(done.stdout)
    found = engine.perplexity(text, window=64, stride=16)
    for name in ("perplexity", "bits_per_byte", "log_likelihood", "tokens", "bytes", "windows"):
        assert getattr(found, name) == expected[name]
    assert found.windows > 10
    assert found.perplexity == pytest.approx(float(np.exp(-found.log_likelihood / found.tokens)))
    with pytest.raises(pando.Error) as error:
        engine.perplexity(text, window=1)
    assert error.value.place == pando.Place(option="window")


def test_batches_are_those_of_the_program(engine, program, tmp_path):
    found = []
    summary = engine.run_batch(LINES, found.append, ordered=True, max_tokens=8, logits_hash=True, with_=["question"])
    expected = run(program, ["run"], LINES, tmp_path, "--ordered", "--max-tokens", "8", "--logits-hash", "--with", "question")
    assert found == expected and len(found) == 5
    assert (summary.lines, summary.answers, summary.failures, summary.warnings) == (3, 5, (), ())


def test_results_come_while_lines_are_read(engine):
    found = []

    def lines():
        for i in range(3):
            yield json.dumps({"id": i, "context": CONTEXT, "question": QUESTIONS[0]})
            while len(found) <= i and i == 0:  # the first is answered meanwhile
                yield json.dumps({"id": f"again {len(found)}", "prompt": "Velina", "max_tokens": 1})

    summary = engine.run_batch(lines(), found.append)
    assert summary.answers == len(found) >= 4


def test_batches_of_other_tasks(engine):
    found = []
    engine.run_batch([{"text": text} for text in TEXTS], found.append, task="embed", dimensions=4, ordered=True)
    assert np.array([r["embedding"] for r in found], dtype=np.float32).tobytes() == engine.embed(TEXTS, dimensions=4).tobytes()
    found.clear()
    engine.run_batch([{"query": "What does Velina do?", "documents": TEXTS}], found.append, task="rerank", top=1)
    best = engine.rerank("What does Velina do?", TEXTS)[0]
    assert [(r["index"], r["score"]) for r in found[0]["results"]] == [(best.index, best.score)]
    found.clear()
    engine.run_batch([{"prompt": "Velina works as a", "continuations": [" baker.", " tailor."]}], found.append, task="score")
    assert found[0]["best"] == 1


def test_failures_are_told_by_line(engine):
    lines = [{"id": 0, "prompt": "P", "top_p": 2}, {"id": 1, "prompt": "Velina", "max_tokens": 1}, "{",
             {"id": 3, "context": "Velina " * 5000, "questions": ["One?"]}]
    found = []
    summary = engine.run_batch(lines, found.append)
    assert [result["id"] for result in found] == [1]
    failures = {failure.line: failure for failure in summary.failures}
    assert sorted(failures) == [1, 3, 4]
    assert [failures[i].error.code for i in (1, 3, 4)] == ["invalid_argument", "invalid_argument", "too_long"]
    assert failures[1].error.place.field == "top_p" and failures[4].question_id == "0"
    assert (summary.failed, summary.bad_lines) == (2, 1)


class Stop(Exception):
    pass


@pytest.mark.parametrize("where", ["result", "line"])
def test_an_exception_ends_the_batch_and_is_raised(engine, where):
    def on_result(result):
        if where == "result":
            raise Stop(result["id"])

    def lines():
        for i in range(10**6):
            if where == "line" and i == 5:
                raise Stop
            yield {"id": i, "context": CONTEXT, "question": QUESTIONS[0]}

    with pytest.raises(Stop):
        engine.run_batch(lines(), on_result)
    assert engine.answer(CONTEXT, QUESTIONS)[0].text == " tailor"


def test_wrong_lines_and_options(engine):
    for place, lines, options in (
        ("lines[1]", [{"prompt": "a"}, 5], {}),
        ("lines[0]", ["{}\n{}"], {}),
        ("lines", '{"prompt": "a"}', {}),
        ("lines", {"prompt": "a"}, {}),
        ("task", [], {"task": "sing"}),
        ("max_token", [], {"max_token": 3}),
        ("thinking_budget", [], {"thinking_budget": 3}),
    ):
        with pytest.raises(pando.Error) as error:
            engine.run_batch(lines, lambda result: None, **options)
        assert error.value.place.field == place and error.value.code == "invalid_argument"


def test_a_callback_may_ask_the_engine(engine):
    found = []
    engine.run_batch(LINES[:1], lambda result: found.append(engine.complete("Velina", max_tokens=1)[0].text))
    assert len(found) == 2 and found[0] == found[1]


def test_two_readers_are_refused(engine):
    with engine.stream_prompt("Velina", max_tokens=300, n=64, ignore_eos=True, temperature=1.0) as stream:
        refused = []

        def read():
            with contextlib.suppress(StopIteration):
                try:
                    while True:
                        next(stream)
                except pando.Error as error:
                    refused.append(error)

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        threading.Timer(0.3, stream.cancel).start()
        for thread in threads:
            thread.join(30)
        assert not any(thread.is_alive() for thread in threads)
        assert all("one reader at a time" in str(error) for error in refused)


def test_engines_may_be_closed_while_a_batch_runs():
    engine = pando.Engine(**SMALL)
    found = []

    def on_result(result):
        found.append(result)
        engine.close()

    assert engine.run_batch(LINES, on_result).answers == 5 == len(found)
