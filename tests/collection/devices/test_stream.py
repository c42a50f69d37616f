"""Streams: fresh after a fork, never copied, reproducible only by name."""

import copy
import os
import pickle
import threading

import numpy as np
import pytest

from shuffledp import ParameterError
from shuffledp.collection.devices import secure, simulation


def test_two_streams_differ_and_one_does_not_repeat() -> None:
    first, second = secure(), secure()
    assert not np.array_equal(first.words(8), second.words(8))
    assert not np.array_equal(first.words(8), first.words(8))
    assert not first.simulated


def test_long_requests_are_not_periodic() -> None:
    words = secure().words(1 << 16)
    assert len(np.unique(words)) == words.size


def test_a_fork_changes_the_key() -> None:
    stream = secure()
    stream.words(1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, stream.words(8).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 64) != stream.words(8).tobytes()


def test_threads_of_a_child_never_draw_what_its_parent_draws() -> None:
    """Many threads at once, at once after the fork: none may see the parent's key."""
    for _ in range(40):
        stream = secure()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            drawn: list[bytes] = []
            start = threading.Barrier(4)

            def draw(into: list[bytes] = drawn, gate: threading.Barrier = start) -> None:
                gate.wait()
                into.append(stream.words(4).tobytes())  # noqa: B023

            threads = [threading.Thread(target=draw) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            os.write(write, b"".join(drawn))
            os._exit(0)
        os.waitpid(child, 0)
        seen = np.frombuffer(os.read(read, 4 * 32), np.uint64)
        assert not np.isin(seen, stream.words(64)).any()


def test_without_the_fork_check_both_would_draw_the_same() -> None:
    """Negative control: a simulation, which is not re-keyed, repeats in the child."""
    stream = simulation(3)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, stream.words(8).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 64) == stream.words(8).tobytes()


@pytest.mark.parametrize("take", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_stream_is_never_copied(take: object) -> None:
    with pytest.raises(TypeError, match="never leaves its process"):
        take(secure())  # type: ignore[operator]


def test_simulations_repeat_and_say_so() -> None:
    assert np.array_equal(simulation(1).words(100), simulation(1).words(100))
    assert not np.array_equal(simulation(1).words(100), simulation(2).words(100))
    assert simulation(1).simulated
    with pytest.raises(ParameterError, match="seed"):
        simulation("today")  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [1, 5, 8, 13, 32, 48, 64])
def test_bits_stay_below(count: int) -> None:
    drawn = secure().bits(2000, count)
    assert int(drawn.max()) < 1 << count
    assert int(drawn.max()) >= 1 << (count - 1)
