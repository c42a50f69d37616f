"""What a shuffler takes in, gives out, and refuses."""

import hashlib
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from shuffledp.errors import (
    BudgetExceededError,
    LedgerError,
    LostKeyError,
    ServiceError,
    TooFewError,
)
from shuffledp.ledger import Ledger
from shuffledp.service.batch import read_batch
from shuffledp.service.shuffler import LedgerBook
from shuffledp.service.store import State, Store, open_store
from shuffledp.service.task import Task
from shuffledp.service.wire import Problem, Refused
from tests.service.made import (
    HOUR,
    OPENS,
    Clock,
    Purse,
    contents,
    key,
    make_ring,
    make_shuffler,
    make_task,
    records,
)


def test_from_upload_to_batch(store: Store, tmp_path: Path) -> None:
    shuffler = make_shuffler(tmp_path, store)
    task = shuffler.open_task(make_task().document)
    assert shuffler.accept(task.id, b"".join(records(task, 12))) == [None] * 12
    (released,) = shuffler.release(task.id)
    assert (released.reports, released.deleted) == (12, True)
    assert len(contents(released.path)) == 12
    assert released.path.stat().st_mode & 0o777 == 0o600
    assert [each.state for each in store.batches()] == [State.RELEASED]


def test_below_the_minimum_nothing_leaves(store: Store, tmp_path: Path) -> None:
    book = Purse()
    shuffler = make_shuffler(tmp_path, store, book=book)
    task = shuffler.open_task(make_task().document)
    shuffler.accept(task.id, b"".join(records(task, 9)))
    with pytest.raises(TooFewError):
        shuffler.release(task.id)
    assert not (tmp_path / "outbox").exists()
    assert not book.paid_for
    shuffler.accept(task.id, records(task, 1)[0])
    assert shuffler.release(task.id)[0].reports == 10
    shuffler.accept(task.id, b"".join(records(task, 9)))
    with pytest.raises(TooFewError):  # a remainder is not released either
        shuffler.release(task.id)


def test_an_empty_purse_pays_nothing(store: Store, tmp_path: Path) -> None:
    book = Purse(limit=1)
    shuffler = make_shuffler(tmp_path, store, book=book)
    task = shuffler.open_task(make_task().document)
    shuffler.accept(task.id, b"".join(records(task, 10)))
    shuffler.release(task.id)
    shuffler.accept(task.id, b"".join(records(task, 10)))
    for _ in range(2):
        with pytest.raises(BudgetExceededError):
            shuffler.release(task.id)
    assert len(list((tmp_path / "outbox").iterdir())) == 1
    book.limit = 2
    shuffler.accept(task.id, b"".join(records(task, 3)))
    assert shuffler.release(task.id)[0].reports == 13


def test_a_ledger_pays_once_for_each_batch(tmp_path: Path, store: Store) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db")
    task = make_task()
    shuffler = make_shuffler(tmp_path, store, book=LedgerBook(ledger))
    with pytest.raises(LedgerError, match="no ledger"):
        shuffler.open_task(task.document)
    ledger.create("others", "9", "1e-3")
    with pytest.raises(LedgerError, match="people"):
        shuffler.open_task(task.document)
    ledger.create("people", "5", "1e-3")
    shuffler.open_task(task.document)
    for expected in (1, 2):
        shuffler.accept(task.id, b"".join(records(task, 10)))
        (released,) = shuffler.release(task.id)
        history = ledger.history("people")
        assert len(history) == expected
        assert history[-1].key == released.batch.hex()
        assert history[-1].entry.what == task.protocol
    shuffler.accept(task.id, b"".join(records(task, 10)))
    with pytest.raises(BudgetExceededError):
        shuffler.release(task.id)
    assert len(ledger.history("people")) == 2


def test_what_nobody_can_pay_for_is_not_even_closed(tmp_path: Path, store: Store) -> None:
    """A schedule may try for weeks: nothing grows."""
    ledger = Ledger.open(tmp_path / "ledger.db")
    ledger.create("people", "3", "0")
    shuffler = make_shuffler(tmp_path, store, book=LedgerBook(ledger))
    task = shuffler.open_task(make_task().document)
    ledger.spend("people", task.protocol)
    shuffler.accept(task.id, b"".join(records(task, 10)))
    for _ in range(3):
        with pytest.raises(BudgetExceededError, match="nothing is changed"):
            shuffler.release(task.id)
    assert store.batches() == []
    assert store.tasks()[0].epoch == 1


def test_a_task_is_opened_only_if_a_batch_can_be_paid_for(tmp_path: Path, store: Store) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db")
    shuffler = make_shuffler(tmp_path, store, book=LedgerBook(ledger))
    document = make_task().document
    ledger.create("people", "3", "0")
    with pytest.raises(BudgetExceededError, match="cannot pay for a batch"):
        shuffler.open_task(make_task(epsilon=3.5).document)
    assert store.tasks() == []
    task = shuffler.open_task(document)
    ledger.spend("people", task.protocol)
    assert shuffler.open_task(document) == task  # open it was
    assert len(store.tasks()) == 1


def test_a_batch_leaves_no_empty_place_behind(tmp_path: Path, store: Store) -> None:
    """Refused by the ledger after it was closed, as when another process was faster."""
    book = Purse(limit=0)
    shuffler = make_shuffler(tmp_path, store, book=book)
    task = shuffler.open_task(make_task().document)
    shuffler.accept(task.id, b"".join(records(task, 10)))
    for _ in range(3):
        with pytest.raises(BudgetExceededError):
            shuffler.release(task.id)
    assert store.tasks()[0].epoch == 2
    book.limit = 1
    assert shuffler.release(task.id)[0].reports == 10


def test_a_batch_that_was_never_paid_for_is_found(tmp_path: Path, store: Store) -> None:
    book = Purse()
    shuffler = make_shuffler(tmp_path, store, book=book)
    task = shuffler.open_task(make_task().document)
    shuffler.accept(task.id, b"".join(records(task, 10)))
    (released,) = shuffler.release(task.id)
    assert shuffler.verify() == []
    book.paid_for.clear()
    (problem,) = shuffler.verify()
    assert problem == f"batch {released.batch.hex()}: released, and the ledger was never charged"


def test_a_store_put_back_from_a_copy_releases_nothing(tmp_path: Path) -> None:
    """It has forgotten what left, and would release it again together with what came later."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    ledger = Ledger.open(tmp_path / "ledger.db")
    ledger.create("people", "100", "1e-3")
    shuffler = make_shuffler(tmp_path, open_store(path), book=LedgerBook(ledger))
    task = shuffler.open_task(make_task().document)
    shuffler.accept(task.id, b"".join(records(task, 10)))
    shuffler.store.scrub()
    shutil.copy(path, copy)
    (released,) = shuffler.release(task.id)
    shuffler.store.close()
    back = make_shuffler(tmp_path, open_store(copy), book=LedgerBook(ledger))
    back.accept(task.id, records(task, 1)[0])
    with pytest.raises(ServiceError, match=r"does not know it.*put back from a copy"):
        back.release(task.id)
    assert [each.name for each in (tmp_path / "outbox").iterdir()] == [released.path.name]
    assert len(ledger.history("people")) == 1
    assert back.verify() == [
        f"batch {released.batch.hex()}: the ledger paid for it, and the store does not know it"
    ]
    other = back.open_task(make_task(title="A new one").document)  # of the same people
    back.accept(other.id, b"".join(records(other, 10)))
    assert back.release(other.id)[0].reports == 10
    back.store.close()


def test_another_ledger_pays_for_nothing(tmp_path: Path, store: Store) -> None:
    """As when a path in the configuration is changed: the budget would begin anew."""
    first, second = (Ledger.open(tmp_path / f"{name}.db") for name in ("first", "second"))
    for ledger in (first, second):
        ledger.create("people", "100", "1e-3")
    shuffler = make_shuffler(tmp_path, store, book=LedgerBook(first))
    task = shuffler.open_task(make_task().document)
    shuffler.accept(task.id, b"".join(records(task, 10)))
    shuffler.release(task.id)
    shuffler.accept(task.id, b"".join(records(task, 10)))
    changed = make_shuffler(tmp_path, store, ring=shuffler.ring, book=LedgerBook(second))
    with pytest.raises(ServiceError, match="ledger was never charged"):
        changed.release(task.id)
    assert second.history("people") == []
    assert shuffler.release(task.id)[0].reports == 10


def test_a_file_says_no_finer_time_than_its_task(store: Store, tmp_path: Path) -> None:
    clock = Clock(OPENS + 1.75 * HOUR)
    shuffler = make_shuffler(tmp_path, store, clock=clock)
    task = shuffler.open_task(make_task().document)
    shuffler.accept(task.id, b"".join(records(task, 10)))
    (released,) = shuffler.release(task.id)
    assert released.path.stat().st_mtime_ns == (OPENS + HOUR) * 10**9


def test_a_release_whose_lock_is_lost_ends_in_one_batch(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server drops the session that holds the lock: a second process takes the batch up while
    the first still writes it."""
    book = Purse()
    first = make_shuffler(tmp_path, store, book=book)
    second = make_shuffler(tmp_path, store, book=book, ring=first.ring)
    task = first.open_task(make_task().document)
    first.accept(task.id, b"".join(records(task, 10)))
    monkeypatch.setattr(type(store), "releasing", lambda _store: nullcontext())
    write = first._write

    def slowly(*about: Any) -> None:
        assert [each.reports for each in second.resume()] == [10]
        write(*about)

    monkeypatch.setattr(first, "_write", slowly)
    with pytest.raises(ServiceError, match="is not paid any more"):
        first.release(task.id)
    (path,) = (tmp_path / "outbox").iterdir()
    assert len(contents(path)) == 10
    assert len(book.paid_for) == 1
    assert first.verify() == []
    assert first.resume() == []


@pytest.mark.parametrize("early", [True, False])
def test_looking_while_another_process_releases(store: Store, tmp_path: Path, early: bool) -> None:
    class Meanwhile(Purse):
        """Another process releases just before, or after, this one has looked at the ledger."""

        def paid(self, task: Task) -> set[str]:
            found = None if early else super().paid(task)
            waiting.pop()() if waiting else None
            return super().paid(task) if found is None else found

    book = Meanwhile()
    shuffler = make_shuffler(tmp_path, store, book=book)
    task = shuffler.open_task(make_task().document)
    shuffler.accept(task.id, b"".join(records(task, 10)))
    waiting = [lambda: shuffler.release(task.id)]
    assert shuffler.verify() == []
    assert len(book.paid_for) == 1


def test_replays_do_not_enter(store: Store, tmp_path: Path) -> None:
    shuffler = make_shuffler(tmp_path, store)
    task = shuffler.open_task(make_task().document)
    sent = b"".join(records(task, 15))
    first = shuffler.accept(task.id, sent)
    assert shuffler.accept(task.id, sent + sent) == first + first  # answered alike
    assert shuffler.release(task.id)[0].reports == 15
    # another process
    again = make_shuffler(tmp_path, store, ring=shuffler.ring, book=shuffler.book)
    again.accept(task.id, sent)
    with pytest.raises(TooFewError, match=r"^0 reports"):
        again.release(task.id)


def test_some_of_an_upload_may_be_wrong(store: Store, tmp_path: Path) -> None:
    ring = make_ring(tmp_path / "keys", "shuffler", "newer")
    shuffler = make_shuffler(tmp_path, store, ring=ring)
    task = make_task(shuffler=[key("shuffler").public, key("third").public])
    with pytest.raises(LostKeyError, match="never had it"):
        shuffler.open_task(task.document)
    task = shuffler.open_task(
        make_task(shuffler=[key("shuffler").public, key("newer").public]).document
    )
    good = [*records(task, 5), *records(task, 5, using="newer")]
    altered = good[0][:-1] + bytes([good[0][-1] ^ 1])
    foreign = records(make_task(title="another"), 1)[0]
    unknown = key("third").public.id + good[0][8:]
    body = b"".join([altered, *good, foreign, unknown])
    assert shuffler.accept(task.id, body) == [
        Problem.UNOPENABLE,
        *[None] * 10,
        Problem.UNOPENABLE,
        Problem.UNKNOWN_KEY,
    ]
    assert shuffler.release(task.id)[0].reports == 10
    with pytest.raises(Refused) as error:
        shuffler.accept(task.id, body[:-1])
    assert error.value.problem is Problem.MALFORMED


def test_a_retired_key_opens_nothing(store: Store, tmp_path: Path) -> None:
    ring = make_ring(tmp_path / "keys", "shuffler", "newer")
    shuffler = make_shuffler(tmp_path, store, ring=ring)
    task = shuffler.open_task(
        make_task(shuffler=[key("shuffler").public, key("newer").public]).document
    )
    sent = records(task, 1)
    assert shuffler.accept(task.id, sent[0]) == [None]
    ring.retire(key("shuffler").public.id)
    assert shuffler.accept(task.id, sent[0]) == [Problem.UNKNOWN_KEY]
    assert shuffler.accept(task.id, records(task, 1, using="newer")[0]) == [None]


def test_a_key_of_the_shuffler_that_the_task_does_not_name(store: Store, tmp_path: Path) -> None:
    shuffler = make_shuffler(
        tmp_path, store, ring=make_ring(tmp_path / "keys", "shuffler", "newer")
    )
    task = shuffler.open_task(make_task().document)
    form = task.format
    record = form.seal(bytes(16), bytes(16), key("newer").public)
    assert shuffler.accept(task.id, record) == [Problem.UNKNOWN_KEY]


def test_only_in_its_time(store: Store, tmp_path: Path) -> None:
    clock = Clock(OPENS - 1)
    shuffler = make_shuffler(tmp_path, store, clock=clock, retention=HOUR)
    task = shuffler.open_task(make_task(hours=2).document)
    sent = b"".join(records(task, 10))

    def refused() -> Problem:
        with pytest.raises(Refused) as error:
            shuffler.accept(task.id, sent)
        return error.value.problem

    assert refused() is Problem.NOT_OPEN
    clock.now = OPENS
    shuffler.accept(task.id, sent)
    clock.now = OPENS + 2 * HOUR - 0.01
    assert shuffler.accept(task.id, sent) == [None] * 10
    clock.now = OPENS + 2 * HOUR
    assert refused() is Problem.ENDED
    shuffler.sweep()
    assert shuffler.release(task.id)[0].reports == 10  # what came in time
    clock.now = OPENS + HOUR  # a clock that is set back opens nothing again
    assert refused() is Problem.ENDED
    clock.now = OPENS + 3 * HOUR
    shuffler.sweep()
    assert [each.ended for each in store.tasks()] == [3]
    assert refused() is Problem.ENDED
    with pytest.raises(ServiceError, match="expired"):
        shuffler.open_task(task.document)


def test_a_remainder_is_forgotten_with_its_task(store: Store, tmp_path: Path) -> None:
    clock = Clock()
    shuffler = make_shuffler(tmp_path, store, clock=clock, retention=HOUR)
    task = shuffler.open_task(make_task(hours=1).document)
    shuffler.accept(task.id, b"".join(records(task, 9)))
    clock.now = OPENS + 2 * HOUR
    shuffler.sweep()
    with pytest.raises(TooFewError):
        shuffler.release(task.id)
    assert [each.ended for each in store.tasks()] == [3]


def test_unknown_tasks(store: Store, tmp_path: Path) -> None:
    shuffler = make_shuffler(tmp_path, store)
    for act in (shuffler.task, shuffler.release, lambda name: shuffler.accept(name, b"")):
        with pytest.raises(Refused) as error:
            act(bytes(32))
        assert error.value.problem is Problem.UNKNOWN_TASK


def test_a_file_that_is_there_is_kept(store: Store, tmp_path: Path) -> None:
    """After a crash between writing the file and saying so."""
    shuffler = make_shuffler(tmp_path, store)
    task = shuffler.open_task(make_task().document)
    shuffler.accept(task.id, b"".join(records(task, 10)))
    batch = store.mark(store.close_batch(task.id, b"1" * 16), State.PAID)
    path = tmp_path / "outbox" / f"{batch.id.hex()}.batch"
    shuffler._write(task, batch, path)
    before = hashlib.sha256(path.read_bytes()).digest()
    (released,) = make_shuffler(tmp_path, store, ring=shuffler.ring).resume()
    assert released.path == path
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert read_batch(path)[0].reports == 10


def test_a_foreign_file_in_the_outbox_is_not_touched(store: Store, tmp_path: Path) -> None:
    shuffler = make_shuffler(tmp_path, store)
    task = shuffler.open_task(make_task().document)
    shuffler.accept(task.id, b"".join(records(task, 10)))
    batch = store.mark(store.close_batch(task.id, b"1" * 16), State.PAID)
    (tmp_path / "outbox").mkdir()
    path = tmp_path / "outbox" / f"{batch.id.hex()}.batch"
    path.write_text("mine")
    assert shuffler.resume() == []
    assert path.read_text() == "mine"
    path.unlink()
    assert [each.reports for each in shuffler.release(task.id)] == [10]


def test_through_files_when_memory_is_small(store: Store, tmp_path: Path) -> None:
    shuffler = make_shuffler(tmp_path, store, memory=4000)
    task = shuffler.open_task(make_task("rappor").document)
    sent = records(task, 200)
    shuffler.accept(task.id, b"".join(sent))
    (released,) = shuffler.release(task.id)
    inner = sorted(task.format.unwrap(each, key("shuffler"))[1] for each in sent)
    content = b"".join(read_batch(released.path)[1])
    step = task.format.inner
    assert sorted(content[i : i + step] for i in range(0, len(content), step)) == inner
    assert [path.name for path in (tmp_path / "outbox").iterdir()] == [released.path.name]
