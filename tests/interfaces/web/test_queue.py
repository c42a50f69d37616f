"""Who waits for what: equal questions once, numbers before plots, nothing for those who have left."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from shuffledp.interfaces.web.api import _Answers
from shuffledp.interfaces.web.outcome import Refused
from shuffledp.interfaces.web.workers import Workers

LONG = {"mechanism": "laplace", "eps0": 8.0, "n": 100, "order": 40.0}


class Slow:
    """Stands for the workers: answers when told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.cancelled = 0
        self.go = asyncio.Event()

    async def run(self, job: str, given: Mapping[str, Any]) -> bytes:
        self.asked.append(job)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if given.get("n") == 0:
            raise Refused(422, "parameter", "no")
        return b"answer"


def test_equal_questions_are_computed_once_and_remembered() -> None:
    async def scene() -> None:
        slow = Slow()
        answers = _Answers(slow)  # type: ignore[arg-type]
        both = [asyncio.create_task(answers.get("account", {"n": 1})) for _ in range(2)]
        await asyncio.sleep(0)
        slow.go.set()
        assert await asyncio.gather(*both) == [b"answer"] * 2
        assert await answers.get("account", {"n": 1}) == b"answer"
        assert slow.asked == ["account"]
        for _ in range(2):  # a refusal is not remembered
            with pytest.raises(Refused):
                await answers.get("account", {"n": 0})
        assert len(slow.asked) == 3

    asyncio.run(scene())


def test_nothing_is_computed_for_those_who_have_left() -> None:
    async def scene() -> None:
        slow = Slow()
        answers = _Answers(slow)  # type: ignore[arg-type]
        first, second = (asyncio.create_task(answers.get("account", {"n": 1})) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        assert slow.cancelled == 0  # somebody still waits
        second.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        await asyncio.sleep(0)
        assert slow.cancelled == 1
        slow.go.set()
        assert await answers.get("account", {"n": 1}) == b"answer"
        assert len(slow.asked) == 2

    asyncio.run(scene())


def test_numbers_go_before_plots_and_the_queue_is_bounded() -> None:
    async def scene() -> None:
        crew = Workers(1, deadline=60.0, queue=3, patience=60.0)
        order: list[str] = []

        async def ask(job: str, n: int) -> None:
            given = {"eps0": 1.0, "n": n, "epsilon": 0.1, "curve": "tradeoff"}
            await crew.run(job, given if job == "curve" else {**given, "curve": None})
            order.append(f"{job} {n}")

        try:
            waiting = [asyncio.create_task(ask("account", 10))]
            await asyncio.sleep(0)
            for job, n in (("curve", 11), ("account", 12), ("curve", 13)):
                waiting.append(asyncio.create_task(ask(job, n)))
                await asyncio.sleep(0)
            with pytest.raises(Refused, match="Too many questions"):
                await crew.run("account", {})
            waiting[3].cancel()
            await asyncio.sleep(0)
            waiting[3] = asyncio.create_task(ask("account", 14))  # a place is free again
            await asyncio.gather(*waiting)
        finally:
            crew.close()
        assert order == ["account 10", "account 12", "account 14", "curve 11"]

    asyncio.run(scene())


def test_a_process_that_starts_up_is_not_busy_with_a_long_question() -> None:
    async def scene() -> None:
        crew = Workers(1, deadline=60.0, queue=3, patience=0.01)
        first = crew._all[0]
        try:
            asked = [
                asyncio.create_task(crew.run("account", {"eps0": 1.0, "n": n})) for n in (2, 3)
            ]
            while not first.ready:
                assert len(crew._all) == 1
                await asyncio.sleep(0.01)
            for task in asked:
                task.cancel()
        finally:
            crew.close()

    asyncio.run(scene())


def test_nobody_waits_for_a_long_question() -> None:
    """One worker is busy with it; another is started for those who come later."""

    async def ask() -> bool:
        crew = Workers(1, 300.0, 16)
        try:
            long = asyncio.create_task(crew.run("account", LONG))
            await asyncio.sleep(0.1)
            await crew.run("account", {"eps0": 1.0, "n": 100, "delta": 1e-3})
            waited = long.done()
            long.cancel()
            return waited
        finally:
            crew.close()

    assert not asyncio.run(ask())
