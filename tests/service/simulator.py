"""A shuffler in a world that goes wrong, by a seed: lost messages, repeated ones, crashes, clocks.

Every report has contents of its own, so that any that is released twice shows. Operations are run
one after another; after each crash a new process takes over what is on the disk. A model keeps what
was acknowledged; after every operation and at the end the two are compared.
"""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from shuffledp.collection.devices import simulation
from shuffledp.errors import BudgetExceededError, ServiceError, TooFewError
from shuffledp.service.keys import State
from shuffledp.service.shuffler import Shuffler
from shuffledp.service.store.base import Execute
from shuffledp.service.store.sqlite import SQLiteStore
from shuffledp.service.task import Task
from shuffledp.service.wire import Problem, Refused
from tests.service.made import HOUR, OPENS, Clock, Purse, contents, key, make_ring, make_task

MINIMUM, LARGEST, REPORTS = 3, 9, 24
STEPS = 36
"""About as many as a release takes, in each of which a crash may come."""
RETENTION = 2 * HOUR
MEMORY = Path("/dev/shm")
"""Where syncing costs nothing; what is on the disk after a crash is the kill tests' business."""


class Crash(BaseException):
    """The process is gone."""


class Fault(AssertionError):
    """The shuffler did what it must never do."""


@cache
def tasks() -> tuple[Task, ...]:
    """Two, with an older and a newer key of the shuffler."""
    keys = [key("shuffler").public, key("newer").public]
    return tuple(
        make_task(title=title, minimum=MINIMUM, largest=LARGEST, hours=4, shuffler=keys)
        for title in ("one", "other")
    )


@cache
def sealed(task: int, number: int, place: int) -> bytes:
    """A record whose name and contents are a number of its own."""
    name = (1000 * task + number + 1).to_bytes(16)
    return tasks()[task].format.seal(name, name, tasks()[task].shuffler[place])


class Power:
    """Goes out after so many steps."""

    def __init__(self) -> None:
        self.left: int | None = None

    def step(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise Crash


class CrashingStore(SQLiteStore):
    """Before a transaction, before its commit, after it."""

    settings = ("synchronous = OFF", "secure_delete = ON")

    def __init__(self, path: Path, power: Power) -> None:
        super().__init__(path)
        self.power = power

    @contextmanager
    def transaction(self, **how: Any) -> Iterator[Execute]:
        self.power.step()
        with super().transaction(**how | {"kept": True}) as execute:
            yield execute
            self.power.step()
        self.power.step()


class CrashingBook(Purse):
    """Before it is recorded, and after."""

    def __init__(self, limit: int, power: Power) -> None:
        super().__init__(limit)
        self.power = power

    def spend(self, task: Task, batch_id: bytes) -> None:
        self.power.step()
        super().spend(task, batch_id)
        self.power.step()


class CrashingShuffler(Shuffler):
    """Before the file is there, and after."""

    def _write(self, *about: Any) -> None:
        power = self.store.power  # type: ignore[attr-defined]
        power.step()
        super()._write(*about)
        power.step()


class World:
    """One sequence of operations."""

    def __init__(self, seed: int, shuffler: type[Shuffler] = CrashingShuffler) -> None:
        self.random, self.kind = Random(seed), shuffler
        self.folder = Path(tempfile.mkdtemp(prefix="shuffledp-", dir=_fast()))
        self.clock, self.power = Clock(OPENS + HOUR / 2), Power()
        self.book = CrashingBook(self.random.choice((2, 100)), self.power)
        self.ring = make_ring(self.folder / "keys", "shuffler", "newer")
        self.acknowledged: list[set[int]] = [set(), set()]
        self.sent: list[set[int]] = [set(), set()]
        self.counts: Counter[str] = Counter()
        self.shuffler = self.started()
        for task in tasks():
            self.shuffler.open_task(task.document)

    def close(self) -> None:
        self.shuffler.store.close()
        shutil.rmtree(self.folder)

    def started(self) -> Shuffler:
        """A new process; what the one before held in memory is gone."""
        store = CrashingStore(self.folder / "store.db", self.power)
        store.random = self.random.randbytes
        try:
            store.open()
        except Crash:
            store.close()
            raise
        return self.kind(
            store,
            self.ring,
            self.folder / "outbox",
            self.book,
            clock=self.clock,
            stream=simulation(self.random.getrandbits(32)),
            retention=RETENTION,
            random=self.random.randbytes,
        )

    # what happens

    def upload(self) -> None:
        """New reports or repeated ones; the request or the answer may be lost."""
        which = self.random.randrange(len(tasks()))
        numbers = {self.random.randrange(REPORTS) for _ in range(self.random.randint(1, 5))}
        if self.random.random() < 0.3 and self.sent[which]:
            numbers |= set(self.random.sample(sorted(self.sent[which]), 1))
        lost = self.random.choice(["", "", "", "request", "answer"])
        if lost == "request":
            return
        self.sent[which] |= numbers
        place = self.random.choice((0, 0, 1))
        body = b"".join(sealed(which, number, place) for number in sorted(numbers))
        task = tasks()[which]
        open_now = task.opens <= self.clock.now < task.expires
        try:
            outcomes = self.shuffler.accept(task.id, body)
        except Refused as refused:
            self.counts[refused.problem.code] += 1
            known = {Problem.ENDED, Problem.FULL if open_now else Problem.NOT_OPEN}
            expect(refused.problem in known, f"refused as {refused.problem.code}")
            return
        expect(open_now, "taken out of its time")
        retired = self.ring.state(task.shuffler[place].id) is State.RETIRED
        expected = Problem.UNKNOWN_KEY if retired else None
        expect(outcomes == [expected] * len(numbers), f"answered {outcomes}")
        if lost != "answer" and not retired:
            self.acknowledged[which] |= numbers
            self.counts["acknowledged"] += len(numbers)

    def release(self) -> None:
        task = tasks()[self.random.randrange(len(tasks()))]
        try:
            self.counts["released"] += len(self.shuffler.release(task.id))
        except TooFewError:
            self.counts["too few"] += 1
        except BudgetExceededError:
            self.counts["not paid"] += 1

    def pass_time(self) -> None:
        self.clock.now += self.random.choice((60, HOUR, 2 * HOUR))

    def set_clock_back(self) -> None:
        self.clock.now -= self.random.choice((60, HOUR))

    def rotate(self) -> None:
        """The older key is retired; devices use the newer."""
        if self.ring.state(key("shuffler").public.id) is not State.RETIRED:
            self.ring.retire(key("shuffler").public.id)
            self.counts["retired"] += 1

    def sweep(self) -> None:
        self.shuffler.sweep()
        self.counts["forgotten"] += sum(each.ended == 3 for each in self.shuffler.store.tasks())

    def restart(self) -> None:
        self.shuffler.store.close()
        self.shuffler = self.started()
        self.shuffler.resume()

    def step(self) -> None:
        """One operation, in which the process may crash, and so may those that take over."""
        act = self.random.choices(
            [
                *(self.upload, self.release, self.pass_time, self.set_clock_back),
                *(self.rotate, self.sweep, self.restart),
            ],
            [10, 4, 1.5, 0.3, 0.3, 1, 1],
        )[0]
        if self.random.random() < 0.35:
            self.power.left = self.random.randrange(4 if act == self.upload else STEPS)
        while True:
            try:
                act()
                break
            except Crash:
                self.counts["crashed"] += 1
                if self.random.random() < 0.3:
                    self.power.left = self.random.randrange(STEPS)
                act = self.restart
        self.power.left = None
        self.check()

    # what must hold

    def check(self) -> None:
        """Every report in no batch or in one; enough in each; each paid for, within the budget."""
        outbox = self.folder / "outbox"
        paths = sorted(outbox.glob("*.batch")) if outbox.exists() else []
        found: list[Counter[int]] = [Counter(), Counter()]
        for path in paths:
            numbers = [int.from_bytes(report) - 1 for report in _read(path)]
            expect(MINIMUM <= len(numbers) <= LARGEST, f"a batch of {len(numbers)}")
            (which,) = {number // 1000 for number in numbers}
            found[which].update(number % 1000 for number in numbers)
        for which, counted in enumerate(found):
            expect(max(counted.values(), default=1) == 1, "a report was released twice")
            expect(set(counted) <= self.sent[which], "a report came from nowhere")
        expect(
            {bytes.fromhex(path.stem) for path in paths} <= self.book.paid_for.keys(),
            "not paid for",
        )
        expect(len(self.book.paid_for) <= self.book.limit, "over budget")
        self.released = found

    def finish(self) -> None:
        """With everything in order again, nothing that was acknowledged is missing."""
        self.restart()
        self.check()
        store = self.shuffler.store
        expect(store.verify() == [], f"{store.verify()}")
        expect(len(_batches(self.folder)) == len(self.book.paid_for), "paid for, and not released")
        for which, task in enumerate(store.tasks()):
            if task.ended >= 2:
                continue  # a remainder is forgotten with its task
            left = self.acknowledged[which] - set(self.released[which])
            expect(task.waiting >= len(left), f"{len(left)} acknowledged, {task.waiting} wait")
            if self.book.limit > 50 and task.waiting >= MINIMUM:
                self.shuffler.release(task.id)
                self.check()
                expect(not left - set(self.released[which]), "an acknowledged report was lost")
        for which, task in enumerate(tasks()):  # everything once more: none enters twice
            self.clock.now = OPENS
            retired = self.ring.state(task.shuffler[0].id) is State.RETIRED
            before = store.tasks()[which].waiting
            known = set(self.released[which])
            for number in sorted(known):
                with suppress(Refused):
                    self.shuffler.accept(task.id, sealed(which, number, int(retired)))
            expect(store.tasks()[which].waiting == before, "a released report entered again")


@cache
def _opened(path: Path, _mark: int) -> tuple[bytes, ...]:
    return tuple(contents(path))


def _read(path: Path) -> tuple[bytes, ...]:
    """Once: files do not change, or else their mark does."""
    return _opened(path, os.stat(path).st_ino)


def _batches(folder: Path) -> list[Path]:
    return sorted((folder / "outbox").glob("*.batch"))


def _fast() -> Path | None:
    return MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None


def expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Fault(otherwise)


def run(seeds: range, steps: int = 20, shuffler: type[Shuffler] = CrashingShuffler) -> Counter[str]:
    """What happened in all these sequences; raises a Fault that names its seed."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        world = World(seed, shuffler)
        try:
            for _ in range(steps):
                world.step()
            world.finish()
        except Fault as fault:
            raise Fault(f"seed {seed}: {fault}") from fault
        except (ServiceError, Refused) as error:
            raise Fault(f"seed {seed}: {type(error).__name__} {error}") from error
        finally:
            world.close()
        counts.update(world.counts)
        counts["sequences"] += 1
    return counts
