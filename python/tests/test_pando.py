"""The package over the demo model."""

import ctypes
import dataclasses
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import pando
from pando import _c, _completion

CONTEXT = "The dog named Brako has fur that is green. Velina works as a tailor. The Mofti lamp costs $12.40."
QUESTIONS = ["What is the profession of Velina?", "What does the Mofti lamp cost?"]
SMALL = {"threads": 1, "kv_memory": 64 << 20}
ENDLESS = {"max_tokens": 400, "n": 256, "ignore_eos": True, "temperature": 1.0}


@pytest.fixture(scope="module")
def model():
    with pando.Model(pando.demo_model()) as model:
        yield model


@pytest.fixture(scope="module")
def engine(model):
    with pando.Engine(model, **SMALL) as engine:
        yield engine


def test_answer(engine):
    answers = engine.answer(CONTEXT, QUESTIONS)
    assert [answer.text for answer in answers] == [" tailor", " $12.40"]
    assert str(answers[0]) == " tailor"
    first = answers[0]
    assert first.finish_reason == "stop" and first.prompt_tokens > 10
    assert first.tokens.dtype == np.int32 and first.tokens.ndim == 1
    assert first.logprobs is None and first.prompt_logprobs is None and first.logits_hash == 0


def test_answers_share_and_stay_the_same(model, engine):
    together = engine.answer(CONTEXT, QUESTIONS, logits_hash=True, max_tokens=4)
    with pando.Engine(model, sharing="packed", **SMALL) as alone:
        for question, answer in zip(QUESTIONS, together):
            again = alone.answer(CONTEXT, [question], logits_hash=True, max_tokens=4)[0]
            assert again.logits_hash == answer.logits_hash != 0
            assert np.array_equal(again.tokens, answer.tokens)


def test_min_tokens(engine):
    answer = engine.answer(CONTEXT, QUESTIONS[:1], min_tokens=8, max_tokens=12)[0]
    assert answer.text.startswith(" tailor") and len(answer.tokens) >= 8
    assert 0 not in answer.tokens[:8]  # the end token
    with pytest.raises(pando.Error, match="min_tokens is 13, expected at most max_tokens, which is 12"):
        engine.complete("a", min_tokens=13, max_tokens=12)


def test_choices(engine):
    answer = engine.answer(CONTEXT, QUESTIONS[:1], choices=["baker", "tailor"])[0]
    assert answer.text == "tailor"
    assert answer.choice_logprobs.dtype == np.float64 and answer.choice_logprobs.argmax() == 1


def test_questions_with_choices_of_their_own(engine):
    asked = [QUESTIONS[1], {"text": QUESTIONS[0], "choices": ["baker", "tailor"], "answers": ["tailor"], "id": "q"}]
    by_text, by_choice = engine.answer(CONTEXT, asked)
    assert (by_text.text, by_choice.text) == (" $12.40", "tailor")
    assert by_text.choice_logprobs is None and by_choice.choice_logprobs.argmax() == 1
    with pytest.raises(pando.Error, match=r"field 'questions\[0\]\.txt' is unknown"):
        engine.answer(CONTEXT, [{"txt": QUESTIONS[0]}])


def test_lists_of_contexts_and_prompts_are_refused_in_words(engine):
    with pytest.raises(pando.Error, match="the context is a list, expected a string .* a separate call"):
        engine.answer([CONTEXT, CONTEXT], QUESTIONS)
    with pytest.raises(pando.Error, match="the prompt is a list of strings, expected one prompt"):
        engine.complete(["one", "two"])


def test_a_template_is_literal(engine):
    by_default = engine.answer(CONTEXT, QUESTIONS, instruction="Be brief.", logits_hash=True)
    template = "{instruction}\n\n{context}\n\nQuestion: {question}\nAnswer:"
    by_own = engine.answer(CONTEXT, QUESTIONS, instruction="Be brief.", template=template, logits_hash=True)
    assert [answer.logits_hash for answer in by_default] == [answer.logits_hash for answer in by_own]


def test_stream(engine):
    texts = ["", ""]
    finished = {}
    with engine.stream(CONTEXT, QUESTIONS, logprobs=True, top_logprobs=3) as stream:
        for event in stream:
            texts[event.question] += event.text
            if event.completion:
                finished[event.question] = event.completion
    assert texts == [" tailor", " $12.40"] == [finished[i].text for i in range(2)]
    answer = finished[0]
    n = len(answer.tokens)
    assert answer.logprobs.shape == (n,) and answer.logprobs.dtype == np.float32
    assert answer.top_tokens.shape == answer.top_logprobs.shape == (n, 3)
    assert np.array_equal(answer.top_tokens[:, 0], answer.tokens)  # greedy
    assert np.array_equal(answer.top_logprobs[:, 0], answer.logprobs)


def test_tokens_in_and_out(model, engine):
    tokens = model.encode(CONTEXT)
    assert tokens.dtype == np.int32 and model.decode(tokens) == CONTEXT
    by_text = engine.complete(CONTEXT, max_tokens=5, n=3, temperature=1.0, seed=7)
    by_tokens = engine.complete(tokens.astype(np.int64), max_tokens=5, n=3, temperature=1.0, seed=7)
    assert [c.text for c in by_text] == [c.text for c in by_tokens] and len(by_text) == 3
    assert model.encode("").size <= 1
    long = CONTEXT * 100
    assert model.decode(model.encode(long, add_bos=False)) == long


def test_prompt_logprobs(model, engine):
    tokens, logprobs = engine.prompt_logprobs(CONTEXT)
    assert np.array_equal(tokens, model.encode(CONTEXT)[1:])
    assert logprobs.shape == tokens.shape and logprobs.dtype == np.float32 and (logprobs <= 0).all()


def test_score(engine):
    prefix = f"{CONTEXT}\n\nQuestion: {QUESTIONS[0]}\nAnswer:"
    right, wrong = engine.score(prefix, [" tailor", " baker"])
    assert right.logprob > wrong.logprob and not wrong.likeliest and right.likeliest
    assert right.logprob == pytest.approx(float(right.logprobs.sum(dtype=np.float64)))
    assert len(right.tokens) == len(right.logprobs) > 0


def test_an_empty_continuation_is_named(engine):
    with pytest.raises(pando.Error, match="continuation 1 is empty"):
        engine.score("A", [" b", ""])


@pytest.mark.parametrize(
    "code, call",
    [
        ("invalid_argument", lambda e: e.complete("a", top_p=2)),
        ("invalid_argument", lambda e: e.complete("a", max_token=3)),
        ("invalid_argument", lambda e: e.complete("")),
        ("invalid_argument", lambda e: e.answer("a", [])),
        ("invalid_argument", lambda e: e.complete([10**6])),
        ("too_long", lambda e: e.complete("Velina " * 5000)),
        ("not_found", lambda e: pando.Model("no/such/model")),
        ("invalid_argument", lambda e: pando.Engine(e.model, kv_type="f8")),
        ("invalid_argument", lambda e: pando.Model(pando.demo_model(), weights="q3")),
    ],
)
def test_errors_have_codes(engine, code, call):
    with pytest.raises(pando.Error) as error:
        call(engine)
    assert error.value.code == code and len(str(error.value)) > 10


def test_messages_name_keywords(engine, tmp_path):
    with pytest.raises(pando.Error, match="kv_memory is 1000 bytes, expected at least"):
        pando.Engine(engine.model, kv_memory=1000)
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        shutil.copy(pathlib.Path(pando.demo_model()) / name, tmp_path)
    with pando.Engine(tmp_path, **SMALL) as mute, pytest.raises(pando.Error) as error:
        mute.complete([{"role": "user", "content": "a"}])
    assert error.value.code == "unsupported"
    assert "has no chat template, expected one there or the option 'chat_template'" in str(error.value)


def test_sampling_defaults_are_given_and_never_applied(tmp_path, model):
    assert model.sampling_defaults() == {"temperature": 0}
    for file in pathlib.Path(pando.demo_model()).iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "generation_config.json").write_text(
        '{"do_sample": true, "temperature": 5, "top_k": 40, "stop_strings": ["!"]}'
    )
    with pando.Model(tmp_path) as own, pando.Engine(own, **SMALL) as engine:
        defaults = own.sampling_defaults()
        assert defaults == {"temperature": 5, "top_k": 40, "stop": ["!"]}
        greedy = engine.complete("Some text", max_tokens=12, ignore_eos=True)[0]
        assert np.array_equal(engine.complete("Some text", max_tokens=12, ignore_eos=True, temperature=0)[0].tokens, greedy.tokens)
        drawn = engine.complete("Some text", seed=5, max_tokens=12, ignore_eos=True, **defaults)[0]
        assert not np.array_equal(drawn.tokens, greedy.tokens)


def test_a_chat_template(tmp_path):
    template = tmp_path / "echo.jinja"
    template.write_text("{{ messages[0].content }}")
    with pando.Model(pando.demo_model(), chat_template=template) as model, pando.Engine(model, **SMALL) as engine:
        chat = engine.complete([{"role": "user", "content": "Velina"}], max_tokens=4)[0]
        assert chat.text == engine.complete("Velina", max_tokens=4)[0].text


def test_tools_reach_the_template(tmp_path):
    template = tmp_path / "tools.jinja"
    template.write_text("{{ messages[0].content }}{% for t in tools or [] %} {{ t.function.name }}{% endfor %}")
    tools = [{"type": "function", "function": {"name": "weather"}}]
    chat = [{"role": "user", "content": "Velina"}]
    with pando.Model(pando.demo_model(), chat_template=template) as model, pando.Engine(model, **SMALL) as engine:
        with_tools = engine.complete(chat, tools=tools, max_tokens=4)[0]
        assert with_tools.text == engine.complete("Velina weather", max_tokens=4)[0].text
        assert with_tools.calls == ()
        without = engine.complete(chat, tools=tools, tool_choice="none", max_tokens=4)[0]
        assert without.text == engine.complete("Velina", max_tokens=4)[0].text
        with pytest.raises(pando.Error, match="'tools' offers no function"):
            engine.complete(chat, tool_choice="required")
    with pytest.raises(pando.Error, match="tool format 'xml' is unknown"):
        pando.Model(pando.demo_model(), tool_format="xml")


def test_calls_of_a_completion():
    text = [ctypes.create_string_buffer(part) for part in (b"x1", b"weather", b'{"city": "Z\xc3\xbcrich"}')]
    pointers = [ctypes.cast(one, ctypes.POINTER(ctypes.c_char)) for one in text]
    calls = (_c.ToolCallStruct * 1)(_c.ToolCallStruct(*pointers, len(text[2]) - 1))
    completion = _c.CompletionStruct(calls=calls, n_calls=1)
    assert _completion.calls_of(completion) == (pando.ToolCall("x1", "weather", '{"city": "Zürich"}'),)
    assert _completion.calls_of(_c.CompletionStruct()) == ()


def test_calls_as_messages_have_them():
    call = pando.ToolCall("x1", "weather", '{"city": "Rome"}')
    fields = {field.name: None for field in dataclasses.fields(pando.Completion)}
    answer = pando.Completion(**{**fields, "text": "", "reasoning": "Hm.", "calls": (call,)})
    calls = [{"id": "x1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}]
    assert answer.tool_calls == calls
    assert answer.message() == {"role": "assistant", "content": "", "tool_calls": calls, "reasoning_content": "Hm."}


def test_a_budget_needs_a_conversation(engine):
    with pytest.raises(pando.Error, match="field 'thinking_budget' needs 'messages'"):
        engine.complete("Velina", thinking_budget=4)


@pytest.mark.parametrize(
    "field, call",
    [
        ("tokens", lambda e: e.complete(np.zeros((2, 2), dtype=np.int32))),
        ("tokens", lambda e: e.complete([0.5])),
        ("tokens", lambda e: e.complete([-1])),
        ("tokens", lambda e: e.complete([[1], [1, 2]])),
        ("prompt", lambda e: e.complete("a\0b")),
        ("prompt", lambda e: e.complete("\ud800")),
        ("prompt", lambda e: e.complete(None)),
        ("prompt", lambda e: e.complete({"role": "user", "content": "a"})),
        ("n", lambda e: e.answer("a", ["b"], n=2)),
        ("questions", lambda e: e.answer("a", "b")),
        ("questions", lambda e: e.answer("a", {"text": "b"})),
        ("questions[0]", lambda e: e.answer("a", [None])),
        ("questions[1]", lambda e: e.answer("a", [{"text": "b"}, 5])),
        ("context", lambda e: e.answer(None, [{"text": "b"}])),
        ("continuations", lambda e: e.score("a", "bc")),
        ("continuations[1]", lambda e: e.score("a", ["b", 5])),
        ("texts", lambda e: e.embed("a")),
        ("texts[0]", lambda e: e.embed([b"a"])),
        ("documents", lambda e: e.rerank("a", "b")),
        ("texts", lambda e: e.classify("a")),
        ("texts[1]", lambda e: e.classify(["a", ("b", "c", "d")])),
        ("text", lambda e: e.model.encode(["a"])),
        ("", lambda e: e.complete("a", stop=object())),
        ("", lambda e: e.complete("a", logit_bias={(1, 2): 3})),
        ("top_p", lambda e: e.complete("a", top_p="much")),
        ("top_p", lambda e: e.complete("a", top_p=2)),
        ("dimensions", lambda e: e.embed(["a"], dimensions=0)),
        ("documents", lambda e: e.rerank("a", [])),
    ],
)
def test_errors_have_places(engine, field, call):
    with pytest.raises(pando.Error) as error:
        call(engine)
    assert error.value.code == "invalid_argument" and error.value.place == pando.Place(field=field)


def test_errors_of_options_and_files_have_places(model, tmp_path):
    with pytest.raises(pando.Error) as error:
        pando.Engine(model, kv_memory=1000)
    assert error.value.place == pando.Place(option="kv_memory") and str(error.value.place) == "kv_memory"
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        shutil.copy(pathlib.Path(pando.demo_model()) / name, tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(pando.Error) as error:
        pando.Model(tmp_path)
    assert error.value.code == "bad_file" and error.value.place.file.endswith("config.json")


def test_errors_survive_pickling(engine):
    with pytest.raises(pando.Error) as error:
        engine.complete("a", top_p="much")
    again = pickle.loads(pickle.dumps(error.value))
    assert (again.code, str(again), again.place) == (error.value.code, str(error.value), error.value.place)


def test_cancel_from_another_thread(engine):
    stream = engine.stream_prompt("Velina", **ENDLESS)
    next(stream)
    threading.Timer(0.05, stream.cancel).start()
    start = time.monotonic()
    for _ in stream:
        pass
    assert time.monotonic() - start < 10
    assert list(stream) == []


def test_leaving_a_stream_cancels_it(engine):
    with engine.stream_prompt("Velina", **ENDLESS) as stream:
        next(stream)
    assert list(stream) == []
    assert engine.answer(CONTEXT, QUESTIONS)[0].text == " tailor"


def test_other_threads_run_while_one_waits(engine):
    def turns_meanwhile():
        counted = 0
        began, done = threading.Event(), threading.Event()

        def wait():
            began.set()
            engine.complete("Velina", max_tokens=300, n=64, ignore_eos=True, temperature=1.0)
            done.set()

        thread = threading.Thread(target=wait)
        thread.start()
        began.wait()
        while not done.is_set() and counted < 5:
            time.sleep(0.001)
            counted += 1
        thread.join()
        return counted

    assert any(turns_meanwhile() == 5 for _ in range(20))  # on a busy machine this thread may get no turn


def test_many_threads_ask_one_engine(engine):
    expected = [answer.text for answer in engine.answer(CONTEXT, QUESTIONS)]
    found = []

    def ask():
        found.append([answer.text for answer in engine.answer(CONTEXT, QUESTIONS)])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_closed(model):
    engine = pando.Engine(model, **SMALL)
    stream = engine.stream(CONTEXT, QUESTIONS)
    engine.close()
    for call in (lambda: engine.complete("a"), lambda: engine.embed(["a"]), lambda: engine.run_batch([], print), engine.stats):
        with pytest.raises(pando.Error, match="the engine is closed"):
            call()
    assert sum(event.completion is not None for event in stream) == 2
    other = pando.Model(pando.demo_model())
    other.close()
    with pytest.raises(pando.Error, match="the model is closed"):
        other.encode("a")
    engine.close()  # again
    stream.close()
    stream.cancel()
    assert list(stream) == []


def test_info_and_stats(model, engine):
    assert model.info.has_tokenizer and model.info.n_parameters > 10**5
    before = engine.stats()["requests"]
    engine.answer(CONTEXT, QUESTIONS)
    assert engine.stats()["requests"] == before + 2
    assert pando.__version__.count(".") == 2


def test_without_a_path_it_is_the_demo_model():
    with pando.Engine(**SMALL) as engine:
        assert engine.answer("Velina works as a tailor.", ["What is the profession of Velina?"])[0].text == " tailor"


INTERRUPTED = """
import os, signal, sys, threading, time
import pando
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
engine = pando.Engine(pando.demo_model(), threads=1, kv_memory=64 << 20)
start = time.monotonic()
try:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    engine.complete("Velina", max_tokens=400, n=4000, ignore_eos=True, temperature=1.0)
except KeyboardInterrupt:
    print("interrupted after", time.monotonic() - start)
print(engine.answer("Velina works as a tailor.", ["What is the profession of Velina?"])[0].text)
"""


def test_interrupt_cancels():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("interrupted after") and float(first.split()[-1]) < 20  # all of it would take a minute
    assert second == " tailor"
