"""Calls that are awaited: the same values, and an event loop that goes on."""

import asyncio
import json
import time

import pytest

import pando
from conftest import CONTEXT, QUESTIONS, SMALL

ENDLESS = {"max_tokens": 400, "n": 64, "ignore_eos": True, "temperature": 1.0}
LINES = [{"id": i, "context": CONTEXT, "question": QUESTIONS[i % 2]} for i in range(20)]


def run(main):
    return asyncio.run(asyncio.wait_for(main, 60))


def test_values_are_those_of_the_engine(engine):
    loop = pando.AsyncEngine(engine)

    async def main():
        return await asyncio.gather(
            loop.answer(CONTEXT, QUESTIONS, logits_hash=True),
            loop.complete("Velina", max_tokens=3, logits_hash=True),
            loop.score("Velina works as a", [" tailor.", " baker."]),
            loop.embed(QUESTIONS),
            loop.rerank(QUESTIONS[0], [CONTEXT, "Hats."]),
            loop.perplexity(CONTEXT),
            loop.prompt_logprobs(CONTEXT),
        )

    answers, completions, scores, vectors, ranked, perplexity, logprobs = run(main())
    assert [a.logits_hash for a in answers] == [a.logits_hash for a in engine.answer(CONTEXT, QUESTIONS, logits_hash=True)]
    assert completions[0].logits_hash == engine.complete("Velina", max_tokens=3, logits_hash=True)[0].logits_hash != 0
    assert [s.logprob for s in scores] == [s.logprob for s in engine.score("Velina works as a", [" tailor.", " baker."])]
    assert vectors.tobytes() == engine.embed(QUESTIONS).tobytes()
    assert ranked == engine.rerank(QUESTIONS[0], [CONTEXT, "Hats."])
    assert perplexity == engine.perplexity(CONTEXT)
    assert logprobs[1].tobytes() == engine.prompt_logprobs(CONTEXT)[1].tobytes()


def test_streams(engine):
    async def main():
        texts = ["", ""]
        async with pando.AsyncEngine(engine).stream(CONTEXT, QUESTIONS) as stream:
            async for event in stream:
                texts[event.question] += event.text
        with pytest.raises(StopAsyncIteration):
            await stream.__anext__()
        return texts

    assert run(main()) == [" tailor", " $12.40"]


def test_many_streams_at_once(engine):
    async def one(i):
        return [e.completion.text async for e in engine.stream(CONTEXT, [QUESTIONS[i % 2]]) if e.completion]

    async def main():
        return await asyncio.gather(*(one(i) for i in range(100)))

    assert run(main()) == [[" tailor"], [" $12.40"]] * 50


def test_the_event_loop_goes_on(engine):
    async def main():
        done = asyncio.ensure_future(pando.AsyncEngine(engine).complete("Velina", **{**ENDLESS, "n": 4000}))  # takes a minute
        n_turns = 0
        while not done.done() and n_turns < 6:
            await asyncio.sleep(0.001)
            n_turns += 1
        done.cancel()
        with pytest.raises(asyncio.CancelledError):
            await done
        return n_turns

    assert run(main()) == 6


def test_a_cancelled_task_cancels_its_requests(engine):
    async def main():
        loop = pando.AsyncEngine(engine)
        calls = [
            loop.complete("Velina", **{**ENDLESS, "n": 300}),
            loop.answer(CONTEXT, QUESTIONS, max_tokens=400, ignore_eos=True),
            loop.perplexity("Velina works as a tailor. " * 40000),
            loop.embed(["Velina"] * 3000),
            loop.run_batch([{"prompt": "Velina", **ENDLESS}] * 50, print),
        ]
        tasks = [asyncio.ensure_future(call) for call in calls]
        await asyncio.sleep(0.2)
        for task in tasks:
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in found[:1] + found[2:3] + found[4:])
        return (await loop.answer(CONTEXT, QUESTIONS))[0].text

    start = time.monotonic()
    assert run(main()) == " tailor"
    assert time.monotonic() - start < 30  # all of it would take minutes


def test_a_wait_that_times_out_loses_no_event(engine):
    async def main():
        texts, n_timeouts = ["", ""], 0
        async with engine.stream(CONTEXT, QUESTIONS) as stream:
            while True:
                try:
                    event = await asyncio.wait_for(stream.__anext__(), 0.0005)
                except asyncio.TimeoutError:
                    n_timeouts += 1
                except StopAsyncIteration:
                    return texts
                else:
                    texts[event.question] += event.text

    assert run(main()) == [" tailor", " $12.40"]


def test_cancel_wakes_whoever_waits(engine):
    async def main():
        stream = engine.stream_prompt("Velina", **{**ENDLESS, "n": 2000})
        asyncio.get_running_loop().call_later(0.1, stream.cancel)
        return len([event async for event in stream])

    run(main())


def test_errors_are_raised_where_they_are_awaited(engine):
    async def main():
        loop = pando.AsyncEngine(engine)
        for call in (loop.complete("a", top_p=2), loop.embed(["a"], dimensions=-1), loop.rerank("", ["a"])):
            with pytest.raises(pando.Error) as error:
                await call
            assert error.value.code == "invalid_argument"
        with pytest.raises(pando.Error):
            async for _ in engine.stream_prompt("Velina " * 5000):
                pass

    run(main())


@pytest.mark.parametrize("are_async", [False, True])
def test_batches(engine, are_async):
    async def lines():
        for line in LINES:
            await asyncio.sleep(0.001)
            yield json.dumps(line)

    async def main():
        found, awaited = {}, []

        async def keep(result):
            await asyncio.sleep(0)
            awaited.append(result["id"])

        def on_result(result):
            found[result["id"]] = result["text"]
            return keep(result) if are_async else None

        summary = await pando.AsyncEngine(engine).run_batch(lines() if are_async else LINES, on_result)
        return summary, found, awaited

    summary, found, awaited = run(main())
    assert found == {i: [" tailor", " $12.40"][i % 2] for i in range(20)}
    assert summary.answers == 20 and len(awaited) == (20 if are_async else 0)


@pytest.mark.parametrize("where", ["result", "line"])
def test_an_exception_ends_the_batch_and_is_raised(engine, where):
    class Stop(Exception):
        pass

    async def lines():
        for i in range(10**6):
            if where == "line" and i == 3:
                raise Stop
            yield {"id": i, "prompt": "Velina", "max_tokens": 2}
            await asyncio.sleep(0)

    async def on_result(result):
        if where == "result":
            raise Stop

    async def main():
        with pytest.raises(Stop):
            await pando.AsyncEngine(engine).run_batch(lines(), on_result)

    run(main())


def test_leaving_closes_the_engine():
    async def main():
        async with pando.AsyncEngine(pando.Engine(**SMALL)) as loop:
            assert (await loop.answer(CONTEXT, QUESTIONS))[0].text == " tailor"
        with pytest.raises(pando.Error, match="closed"):
            await loop.answer(CONTEXT, QUESTIONS)

    run(main())
