"""Both stores: counted in the transaction that adds, once each, gone when deleted."""

import os
import re
import sqlite3
import threading
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path

import pytest

from shuffledp.errors import BusyError, ParameterError, ServiceError, TooFewError
from shuffledp.service.store import State, Store, Upload, open_store
from shuffledp.service.store.base import Execute
from shuffledp.service.store.postgres import PostgresStore
from shuffledp.service.wire import Problem

TASK, OTHER = b"T" * 32, b"O" * 32
WIDTH = 40


def _upload(first: int, last: int, task: bytes = TASK) -> Upload:
    """Reports of these numbers."""
    return Upload(task, [(_name(i), _content(i)) for i in range(first, last)])


def _name(number: int) -> bytes:
    return (number * 2654435761 % 2**32).to_bytes(4) * 4


def _content(number: int) -> bytes:
    return number.to_bytes(4) * (WIDTH // 4)


def _numbers(store: Store, batch_id: bytes) -> list[int]:
    (batch,) = [each for each in store.batches() if each.id == batch_id]
    content = b"".join(store.reports(batch))
    return sorted(int.from_bytes(content[i : i + 4]) for i in range(0, len(content), WIDTH))


@pytest.fixture
def ready(store: Store) -> Store:
    assert store.add_task(TASK, b"document", 5, 100, WIDTH)
    assert store.add_task(OTHER, b"another", 5, 100, WIDTH)
    return store


def test_a_task_is_added_once(ready: Store) -> None:
    assert not ready.add_task(TASK, b"document", 5, 100, WIDTH)
    assert [each.id for each in ready.tasks()] == [TASK, OTHER]


def test_repeated_reports_enter_once(ready: Store) -> None:
    assert (
        ready.add([_upload(0, 5), _upload(3, 8), _upload(0, 2, OTHER), _upload(0, 1)]) == [None] * 4
    )
    assert ready.add([_upload(0, 8)]) == [None]
    assert [each.waiting for each in ready.tasks()] == [8, 2]
    ready.close_batch(TASK, b"B" * 16)
    assert _numbers(ready, b"B" * 16) == list(range(8))


def test_later_reports_come_into_the_next_batch(ready: Store) -> None:
    ready.add([_upload(0, 5)])
    first = ready.close_batch(TASK, b"1" * 16)
    assert (first.state, first.size) == (State.CLOSED, 5)
    ready.add([_upload(3, 9)])
    with pytest.raises(TooFewError, match=r"4 reports wait .* minimum of 5"):
        ready.close_batch(TASK, b"2" * 16)
    ready.add([_upload(9, 10)])
    ready.close_batch(TASK, b"2" * 16)
    assert _numbers(ready, b"1" * 16) == [0, 1, 2, 3, 4]
    assert _numbers(ready, b"2" * 16) == [5, 6, 7, 8, 9]


def test_a_batch_is_never_larger_than_allowed(ready: Store) -> None:
    outcomes = ready.add([_upload(0, 60), _upload(60, 110), _upload(60, 100)])
    assert outcomes == [None, Problem.FULL, None]
    assert ready.add([_upload(100, 101)]) == [Problem.FULL]
    assert ready.add([_upload(0, 100), _upload(5, 6)]) == [None, None]  # repeated: room enough
    batch = ready.close_batch(TASK, b"1" * 16)
    assert ready.add([_upload(100, 101)]) == [Problem.FULL]  # it may be reopened
    batch = ready.mark(batch, State.PAID)
    assert ready.add([_upload(100, 101)]) == [None]
    assert batch.size == 100


def test_a_refused_batch_waits_for_another(ready: Store) -> None:
    ready.add([_upload(0, 6)])
    refused = ready.mark(ready.close_batch(TASK, b"1" * 16), State.REFUSED)
    assert list(ready.reports(refused)) == []
    ready.add([_upload(6, 8)])
    assert ready.close_batch(TASK, b"2" * 16).size == 8
    assert _numbers(ready, b"2" * 16) == list(range(8))


def test_states_are_taken_in_turn(ready: Store) -> None:
    ready.add([_upload(0, 6)])
    closed = ready.close_batch(TASK, b"1" * 16)
    ready.mark(closed, State.PAID)
    with pytest.raises(ServiceError, match="not closed any more"):
        ready.mark(closed, State.PAID)
    with pytest.raises(ServiceError, match="no task"):
        ready.close_batch(b"?" * 32, b"2" * 16)


def test_deleted_is_gone_and_names_stay(ready: Store) -> None:
    ready.add([_upload(0, 50)])
    batch = ready.close_batch(TASK, b"1" * 16)
    for state in (State.PAID, State.WRITTEN):
        batch = ready.mark(batch, state)
    ready.delete(batch)
    ready.delete(batch)  # again, after a crash
    assert ready.scrub()
    ready.mark(batch, State.RELEASED)
    ready.add([_upload(0, 50)])
    assert ready.tasks()[0].waiting == 0


def test_the_end_of_a_task(ready: Store) -> None:
    ready.add([_upload(0, 3)])
    with pytest.raises(ServiceError, match="has not ended"):
        ready.forget(TASK)
    ready.end(TASK)
    assert ready.add([_upload(0, 5), _upload(0, 1, OTHER), _upload(0, 1, b"?" * 32)]) == [
        Problem.ENDED,
        None,
        Problem.UNKNOWN_TASK,
    ]
    ready.forget(TASK)
    ready.forget(TASK)
    assert [each.ended for each in ready.tasks()] == [3, 0]
    assert ready.add([_upload(0, 5)]) == [Problem.ENDED]


def test_nothing_is_released_while_it_is_forgotten(ready: Store) -> None:
    """After a crash in between: a batch must not be paid for whose reports are gone."""
    ready.add([_upload(0, 8)])
    ready.end(TASK)
    drop, ready._delete = ready._delete, _crash  # type: ignore[method-assign]
    with pytest.raises(InterruptedError):
        ready.forget(TASK)
    with pytest.raises(TooFewError, match="is over"):
        ready.close_batch(TASK, b"1" * 16)
    assert ready.verify() == []
    ready._delete = drop  # type: ignore[method-assign]
    ready.forget(TASK)
    assert [each.ended for each in ready.tasks()] == [3, 0]


def _crash(_epoch: int) -> None:
    raise InterruptedError


def test_a_task_with_an_unfinished_batch_is_not_forgotten(ready: Store) -> None:
    ready.add([_upload(0, 6)])
    ready.mark(ready.close_batch(TASK, b"1" * 16), State.PAID)
    ready.end(TASK)
    with pytest.raises(ServiceError, match="or a batch of it"):
        ready.forget(TASK)


def test_reports_of_another_length_are_not_stored(ready: Store) -> None:
    with pytest.raises(ServiceError, match="length of its task"):
        ready.add([Upload(TASK, [(_name(0), b"short")])])
    assert ready.add([_upload(0, 1)]) == [None]


def test_many_at_once(ready: Store, where: str) -> None:
    """Several processes would do the same: the same reports from all, in other orders."""

    def send(start: int) -> None:
        mine = open_store(where)
        for turn in range(5):
            first = (start + 20 * turn) % 100
            uploads = [_upload(first, first + 10), _upload(first + 5, first + 20, OTHER)]
            mine.add(uploads[:: 1 if turn % 2 else -1])
        mine.close()

    threads = [threading.Thread(target=send, args=(10 * i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ready.verify() == []
    ready.close_batch(TASK, b"1" * 16)
    assert len(set(_numbers(ready, b"1" * 16))) == len(_numbers(ready, b"1" * 16))


def test_one_process_releases_at_a_time(ready: Store, where: str) -> None:
    other = open_store(where)
    with ready.releasing(), pytest.raises(ServiceError, match="Another process"), other.releasing():
        pass
    with other.releasing():
        pass
    other.close()


class _UndoError(Exception):
    pass


def _wrong_after(store: Store, sql: str) -> list[str]:
    """What is found after this statement, which is then taken back."""
    found: list[str] = []
    try:
        with store.transaction() as execute:
            execute(sql)
            found = store._wrong(execute, store._locked(execute, TASK))
            raise _UndoError
    except _UndoError:
        return found


def test_what_was_altered_is_found(where: str) -> None:
    store = open_store(where)
    store.add_task(TASK, b"document", 5, 100, WIDTH)
    store.add([_upload(0, 10)])
    store.close_batch(TASK, b"1" * 16)
    store.add([_upload(10, 12)])
    assert store.verify() == []
    for sql, words in (
        ("DELETE FROM shuffledp_chunks_1", "epoch 1 has 0 reports"),
        ("UPDATE shuffledp_chunks_2 SET content = SUBSTR(content, 1, 79)", "79 bytes"),
        ("DELETE FROM shuffledp_seen_1", "0 names of reports"),
        ("UPDATE shuffledp_batches SET size = 11", "counted 11, has 10"),
        ("UPDATE shuffledp_epochs SET batch = NULL", "counted 10, has 0"),
        ("UPDATE shuffledp_tasks SET waiting = 7", "7 are said to wait"),
        ("DROP TABLE shuffledp_chunks_2", "not there"),
    ):
        found = _wrong_after(store, sql)
        assert any(words in each for each in found), (sql, found)
    assert store.verify() == []
    store.close()


def test_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(path)
    store.add_task(TASK, b"document", 5, 100, WIDTH)
    store.add([_upload(0, 5)])
    for name in os.listdir(tmp_path):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    store.close()


def test_a_table_that_goes_while_it_is_looked_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another process is releasing; one that is gone for good is found."""
    store.add_task(TASK, b"document", 5, 100, WIDTH)
    store.add([_upload(1, 10)])
    has_table, asked = store._has_table, list[str]()

    def has(execute: Execute, name: str) -> bool:
        asked.append(name)
        return len(asked) > 1 and has_table(execute, name)

    monkeypatch.setattr(store, "_has_table", has)
    assert store.verify() == []
    assert len(asked) == 2
    monkeypatch.setattr(store, "_has_table", lambda _execute, _name: False)
    (problem,) = store.verify()
    assert problem.endswith("the reports of epoch 1 are not there")
    monkeypatch.undo()


def test_an_error_quotes_no_row(store: Store) -> None:
    """It goes to a log."""
    store.add_task(TASK, b"document", 5, 100, WIDTH)
    store.add([_upload(1, 2)])
    with store.transaction(write=False) as execute:
        ((name,),) = execute("SELECT id FROM shuffledp_seen_1")
    with pytest.raises(ServiceError) as error, store.transaction() as execute:
        execute("INSERT INTO shuffledp_seen_1 SELECT id FROM shuffledp_seen_1")
    assert "unique" in str(error.value).lower()
    assert bytes(name).hex() not in str(error.value)


def test_nothing_is_left_of_what_was_deleted(tmp_path: Path) -> None:
    """Contents are searched for in the files themselves."""
    path = tmp_path / "store.db"
    store = open_store(path)
    store.add_task(TASK, b"document", 5, 10_000, WIDTH)
    for start in range(0, 3000, 300):
        store.add([_upload(start, start + 300)])
    batch = store.close_batch(TASK, b"1" * 16)

    def found() -> int:
        content = b"".join((tmp_path / name).read_bytes() for name in os.listdir(tmp_path))
        repeated = re.findall(rb"(?s)(?=(....)\1{%d})" % (WIDTH // 4 - 1), content)
        return len({int.from_bytes(each) for each in repeated} & set(range(1, 3000)))

    assert found() > 2900  # the search finds what is there, and not cut by the end of a page
    for state in (State.PAID, State.WRITTEN):
        batch = store.mark(batch, state)
    store.delete(batch)
    assert store.scrub()
    assert found() == 0
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM shuffledp_tasks").fetchall()
    store.timeout = 0.1
    store.add([_upload(9000, 9001)])
    assert not store.scrub()  # said, not ignored
    reader.close()
    assert store.scrub()
    store.close()


def test_rows_do_not_lie_in_the_order_of_arrival(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.db")
    store.add_task(TASK, b"document", 5, 1000, WIDTH)
    for number in range(200):
        store.add([_upload(number, number + 1)])
    store.add([_upload(200, 500)])
    batch = store.close_batch(TASK, b"1" * 16)
    content = b"".join(store.reports(batch))
    numbers = [int.from_bytes(content[i : i + 4]) for i in range(0, len(content), WIDTH)]
    assert sorted(numbers) == list(range(500))
    rising = sum(a < b for a, b in pairwise(numbers))
    assert 180 < rising < 320  # half of 499, 11 deviations
    store.close()


def test_stores_that_cannot_be_used(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE things (name TEXT)")
    connection.close()
    with pytest.raises(ServiceError, match="another program"):
        open_store(foreign)
    with pytest.raises(ServiceError, match="cannot be made"):
        open_store(tmp_path / "none" / "store.db")
    text = tmp_path / "text.db"
    text.write_text("not a database " * 100)
    with pytest.raises(ServiceError, match="cannot be used"):
        open_store(text)
    store = open_store(tmp_path / "new.db")
    with store.transaction() as execute:
        execute("UPDATE shuffledp_service SET version = 9")
    store.close()
    with pytest.raises(ServiceError, match="format 9"):
        open_store(tmp_path / "new.db")
    with pytest.raises(ServiceError, match="cannot be used") as error:
        open_store("postgresql://user:secret@127.0.0.1:1/none", timeout=2)
    assert "secret" not in str(error.value)
    for wrong in ("postgresql://user:%zz@host/", "postgersql://user:secret@host/x?a=b"):
        with pytest.raises(ParameterError, match="'store'") as refused:
            open_store(wrong)
        assert "secret" not in str(refused.value)


def test_who_has_released_makes_room_at_once(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server notices the end of a session late; here it never does."""
    kept = open_store(where)
    if isinstance(kept, PostgresStore):
        session = kept._connect()
        monkeypatch.setattr(kept, "_connection", lambda _kept: nullcontext(session))
        with kept.releasing():
            pass
        monkeypatch.undo()
        with kept.releasing():
            pass
        session.close()
    with kept.releasing(), pytest.raises(BusyError), open_store(where).releasing():
        pass
    kept.close()
