"""Frames of pandas, polars and pyarrow: the same rows, with answers."""

import pickle

import pytest

import pando
from conftest import CONTEXT, QUESTIONS

ROWS = {
    "id": [3, 1, 2, 5, 4],
    "context": [CONTEXT, None, CONTEXT, CONTEXT, ""],
    "question": [QUESTIONS[1], QUESTIONS[0], QUESTIONS[0], None, QUESTIONS[0]],
}
LIBRARIES = ["pandas", "polars", "pyarrow"]


def frame_of(library, rows):
    module = pytest.importorskip(library)
    return module.table(rows) if library == "pyarrow" else module.DataFrame(rows)


def column(frame, name):
    if hasattr(frame, "to_pydict"):
        return frame.to_pydict()[name]
    if hasattr(frame, "to_dicts"):
        return frame[name].to_list()
    import pandas

    return [None if not isinstance(v, list) and pandas.isna(v) else v for v in frame[name]]


@pytest.mark.parametrize("library", LIBRARIES)
def test_answers_are_those_of_the_engine(engine, library):
    frame = frame_of(library, ROWS)
    answered = engine.answer_frame(frame, extra=["finish_reason", "completion_tokens", "logprobs"], logprobs=True)
    assert type(answered) is type(frame)
    expected = [None if c is None or q is None else engine.answer(c, [q], logprobs=True)[0]
                for c, q in zip(ROWS["context"], ROWS["question"])]
    assert column(answered, "id") == ROWS["id"]
    assert column(answered, "answer") == [e and e.text for e in expected]
    assert column(answered, "answer")[:3] == [" $12.40", None, " tailor"]
    assert column(answered, "answer_finish_reason") == [e and e.finish_reason for e in expected]
    assert column(answered, "answer_completion_tokens") == [e and len(e.tokens) for e in expected]
    assert column(answered, "answer_logprobs") == [e and e.logprobs.tolist() for e in expected]
    assert "answer" not in (frame.schema.names if library == "pyarrow" else frame.columns)  # the frame given stays


@pytest.mark.parametrize("library", LIBRARIES)
def test_lists_of_questions(engine, library):
    frame = frame_of(library, {"doc": [CONTEXT, CONTEXT, None], "asked": [QUESTIONS, [QUESTIONS[0], None], QUESTIONS]})
    answered = engine.answer_frame(frame, context="doc", question="asked", output="said", extra=["prompt_tokens"])
    assert column(answered, "said") == [[" tailor", " $12.40"], [" tailor", None], [None, None]]
    n = [answer.prompt_tokens for answer in engine.answer(CONTEXT, QUESTIONS)]
    assert column(answered, "said_prompt_tokens") == [n, [n[0], None], [None, None]]


@pytest.mark.parametrize("library", LIBRARIES)
def test_choices(engine, library):
    frame = frame_of(library, {"context": [CONTEXT], "question": [QUESTIONS[0]]})
    answered = engine.answer_frame(frame, choices=["baker", "tailor"], extra=["choice_logprobs"])
    expected = engine.answer(CONTEXT, QUESTIONS[:1], choices=["baker", "tailor"])[0]
    assert column(answered, "answer") == ["tailor"]
    assert column(answered, "answer_choice_logprobs") == [expected.choice_logprobs.tolist()]


@pytest.mark.parametrize("library", LIBRARIES)
def test_failures_are_raised_or_told(engine, library):
    frame = frame_of(library, {"context": [None, "Velina " * 5000, CONTEXT], "question": [QUESTIONS[0]] * 3})
    with pytest.raises(pando.FrameError) as error:
        engine.answer_frame(frame)
    assert error.value.code == "too_long" and error.value.place.field == "question[1]"
    assert str(error.value).startswith("row 1: ")
    assert column(error.value.frame, "answer") == [None, None, " tailor"], "the others are kept"
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    answered = engine.answer_frame(frame, errors="null")
    assert column(answered, "answer") == [None, None, " tailor"]
    told = column(answered, "answer_error")
    assert told[0] is None and told[2] is None and "tokens" in told[1]


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_empty_frame_gets_its_columns(engine, library):
    frame = frame_of(library, {"context": [CONTEXT], "question": [QUESTIONS[0]]})[:0]
    answered = engine.answer_frame(frame, extra=["finish_reason"])
    assert column(answered, "answer") == column(answered, "answer_finish_reason") == []


def test_an_index_stays():
    pandas = pytest.importorskip("pandas")
    with pando.Engine(threads=1, kv_memory=64 << 20) as engine:
        frame = pandas.DataFrame({"context": [CONTEXT] * 2, "question": QUESTIONS}, index=["x", "x"])
        answered = engine.answer_frame(frame)
        assert list(answered.index) == ["x", "x"] and list(answered["answer"]) == [" tailor", " $12.40"]


def test_chunks_and_batches(engine):
    arrow = pytest.importorskip("pyarrow")
    one = arrow.table({"context": [CONTEXT], "question": [QUESTIONS[0]]})
    both = arrow.concat_tables([one, arrow.table({"context": [CONTEXT], "question": [QUESTIONS[1]]})])
    answered = engine.answer_frame(both, extra=["prompt_tokens"])
    assert answered.schema.field("answer").type == arrow.string()
    assert answered.schema.field("answer_prompt_tokens").type == arrow.int64()
    assert answered["answer"].to_pylist() == [" tailor", " $12.40"]
    batch = engine.answer_frame(one.to_batches()[0])
    assert isinstance(batch, arrow.RecordBatch) and batch.column("answer").to_pylist() == [" tailor"]


def test_wrong_frames_and_columns(engine):
    frame = frame_of("pandas", {"context": [CONTEXT], "question": [5], "answer": ["x"]})
    for place, call in (
        ("frame", lambda: engine.answer_frame({"context": [CONTEXT]})),
        ("output", lambda: engine.answer_frame(frame)),
        ("question[0]", lambda: engine.answer_frame(frame, output="said")),
        ("text", lambda: engine.answer_frame(frame, output="said", question="text")),
        ("extra", lambda: engine.answer_frame(frame, output="said", extra=["temperature"])),
        ("n", lambda: engine.answer_frame(frame, output="said", n=2)),
        ("errors", lambda: engine.answer_frame(frame, errors="ignore")),
    ):
        with pytest.raises(pando.Error) as error:
            call()
        assert error.value.code == "invalid_argument" and error.value.place.field == place
