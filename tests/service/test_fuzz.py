"""Anything may arrive: it is refused in the same few words, and nothing breaks."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from shuffledp.errors import ParameterError, ShuffleDPError
from shuffledp.service.batch import read_batch
from shuffledp.service.sealing import PublicKey
from shuffledp.service.shuffler import Shuffler
from shuffledp.service.store import open_store
from shuffledp.service.task import Task
from shuffledp.service.wire import Problem, Refused, parse_id
from tests.service.killed import sealed
from tests.service.made import make_shuffler, make_task


def mutated(random: Random, message: bytes) -> bytes:
    """Bits flipped, bytes cut, repeated, moved or put in."""
    data = bytearray(message)
    for _ in range(random.choice((1, 1, 2, 5))):
        place = random.randrange(len(data) + 1)
        match random.randrange(6):
            case 0 if data:
                data[place % len(data)] ^= 1 << random.randrange(8)
            case 1:
                del data[place : place + random.randrange(1, 40)]
            case 2:
                data[place:place] = data[: random.randrange(60)]
            case 3:
                data[place : place + 4] = random.choice((b"\0" * 4, b"\xff" * 4, b"-1", b"1e9"))
            case 4:
                data[place:place] = random.randbytes(random.randrange(8))
            case _:
                data = data[:place]
    return bytes(data)


def upload(shuffler: Shuffler, task: Task) -> Callable[[bytes], None]:
    """Refused, or taken; never another error."""

    def take(body: bytes) -> None:
        with suppress(Refused):
            for problem in shuffler.accept(task.id, body):
                assert problem in (None, Problem.UNOPENABLE, Problem.UNKNOWN_KEY)

    return take


def document(text: bytes) -> None:
    with suppress(ShuffleDPError):
        assert Task.read(text).document == text


def batch(path: Path) -> Callable[[bytes], None]:
    def read(content: bytes) -> None:
        path.write_bytes(content)
        with suppress(ParameterError):
            _, blocks = read_batch(path)
            list(blocks)

    return read


def name(text: bytes) -> None:
    shown = text.decode("latin-1")
    found = parse_id(shown, 32)
    assert found is None or found.hex() == shown
    with suppress(ParameterError):
        assert PublicKey.from_hex(shown).raw.hex() == shown


def _fuzz(tmp_path: Path, each: int) -> int:
    random = Random(24)
    shuffler = make_shuffler(tmp_path, open_store(tmp_path / "store.db"))
    task = shuffler.open_task(make_task(largest=10**6).document)
    record = sealed(task, 1)
    shuffler.accept(task.id, b"".join(sealed(task, 100 + i) for i in range(10)))
    (released,) = shuffler.release(task.id)
    targets = (
        (upload(shuffler, task), [record, record * 3, b""], 4),
        (document, [task.document], 1),
        (batch(tmp_path / "a.batch"), [released.path.read_bytes()], 1),
        (name, [task.id.hex().encode()], 4),
    )
    messages = 0
    for take, seeds, weight in targets:
        for _ in range(weight * each):
            take(mutated(random, random.choice(seeds)))
            messages += 1
    shuffler.store.close()
    return messages


def test_mutated_messages(tmp_path: Path) -> None:
    assert _fuzz(tmp_path, 400) == 4000


@pytest.mark.slow
def test_a_million_mutated_messages(tmp_path: Path) -> None:
    assert _fuzz(tmp_path, 100_000) == 10**6
