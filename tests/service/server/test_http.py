"""The service over HTTP: what it answers, and what it does to those who keep it waiting."""

import http.client
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from shuffledp.errors import ParameterError, ServiceError, TooFewError
from shuffledp.service import Device
from shuffledp.service.client import Client, split_task
from shuffledp.service.shuffler import Shuffler
from shuffledp.service.store import Store, Upload, open_store
from shuffledp.service.task import Task
from shuffledp.service.wire import MEDIA_REPORTS, Problem
from tests.service.made import (
    OPENS,
    STREAM,
    Clock,
    contents,
    key,
    make_ring,
    make_shuffler,
    make_task,
    records,
)
from tests.service.serving import PATIENCE, TOKEN, Running, serving, until


@pytest.fixture
def shuffler(tmp_path: Path) -> Shuffler:
    return make_shuffler(tmp_path, open_store(tmp_path / "store.db"))


@pytest.fixture
def running(shuffler: Shuffler) -> Iterator[Running]:
    with serving(shuffler) as found:
        yield found


@pytest.fixture
def task(running: Running) -> Task:
    return running.app.shuffler.open_task(make_task().document)


def _post(running: Running, task: Task, body: bytes, **headers: str) -> Any:
    with Client(running.url) as client:
        path = f"/v1/tasks/{task.id.hex()}/reports"
        return client.request("POST", path, body, **{"content_type": MEDIA_REPORTS, **headers})


def test_from_device_to_batch(running: Running, tmp_path: Path) -> None:
    document = make_task().document
    with Client(running.url) as client:
        opened = client.administer(TOKEN, "POST", "/admin/tasks", document)
        base, task_id = split_task(f"{running.url}/v1/tasks/{opened['task']}")
        assert base == running.url
        task = client.task(task_id)
        assert task.document == document
        for _ in range(7):
            client.send(Device(task, STREAM).report("A"))
        many = [Device(task, STREAM).report("B") for _ in range(6)]
        client.send(*many)
        client.send(*many)
        with pytest.raises(TooFewError, match="never released"):
            client.administer(TOKEN, "POST", f"/admin/tasks/{_other(running)}/release")
        answer = client.administer(TOKEN, "POST", f"/admin/tasks/{task_id.hex()}/release")
        (released,) = answer["released"]
        assert released["reports"] == 13
        assert len(contents(Path(released["file"]))) == 13
        listed = client.administer(TOKEN, "GET", "/admin/tasks")["tasks"]
        assert [each["waiting"] for each in listed] == [0, 0]
        assert listed[0]["batches"][0]["state"] == "released"


def _other(running: Running) -> str:
    return running.app.shuffler.open_task(make_task(title="empty").document).id.hex()


def test_every_accepted_report_is_answered_alike(running: Running, task: Task) -> None:
    sent = records(task, 3)
    answers = [_post(running, task, each) for each in (sent[0], sent[0], b"".join(sent))]
    assert {(answer.status, answer.body) for answer in answers} == {(201, b"")}


def test_refusals(running: Running, task: Task) -> None:
    record = records(task, 1)[0]
    altered = record[:-1] + bytes([record[-1] ^ 1])
    unknown = key("other").public.id + record[8:]
    cases = [
        (_post(running, task, b""), Problem.MALFORMED),
        (_post(running, task, record[:-1]), Problem.MALFORMED),
        (_post(running, task, altered), Problem.UNOPENABLE),
        (_post(running, task, unknown), Problem.UNKNOWN_KEY),
        (_post(running, task, unknown + altered), Problem.UNOPENABLE),
        (_post(running, task, record, content_type="text/plain"), Problem.MEDIA),
        (_post(running, make_task(title="unknown"), record), Problem.UNKNOWN_TASK),
    ]
    for answer, problem in cases:
        assert (answer.status, answer.code) == (problem.status, problem.code)
        assert answer.problem["title"] == problem.title
    mixed = _post(running, task, altered + record + unknown)
    assert mixed.problem["refused"] == [[0, "unopenable"], [2, "unknown-key"]]
    with Client(running.url) as client:
        for method, path, code in (
            ("GET", f"/v1/tasks/{task.id.hex()}/reports", "method"),
            ("PUT", f"/v1/tasks/{task.id.hex()}", "method"),
            ("GET", "/v1/tasks/zz", "unknown-task"),
            ("GET", f"/v1/tasks/{task.id.hex().upper()}", "unknown-task"),
            ("GET", "/v1/nothing", "not-found"),
            ("POST", "/v1/tasks/../reports", "unknown-task"),
        ):
            answer = client.request(method, path)
            assert answer.code == code, path
            assert answer.status == {"method": 405}.get(code, 404)


def test_only_in_its_time(running: Running, task: Task) -> None:
    clock = running.app.shuffler._clock
    assert isinstance(clock, Clock)
    for now, code in ((OPENS - 1, "not-open"), (task.expires, "ended")):
        clock.now = now
        answer = _post(running, task, records(task, 1)[0])
        assert (answer.status, answer.code) == (403, code)


def test_the_administrator_has_a_token(running: Running, task: Task) -> None:
    with Client(running.url) as client:
        for token in ("", "wrong", f"{TOKEN}x", "ümlaut"):
            for method, path in (
                ("GET", "/admin/tasks"),
                ("POST", "/admin/tasks"),
                ("POST", f"/admin/tasks/{task.id.hex()}/release"),
            ):
                given = f"Bearer {token}".encode().decode("latin-1")
                answer = client.request(method, path, authorization=given)
                assert (answer.status, answer.code) == (401, "unauthorized")
        answer = client.request("POST", "/admin/tasks", b"{}", authorization=f"Bearer {TOKEN}")
        assert (answer.status, answer.code) == (409, "refused")
        assert "'task'" in answer.problem["detail"]


def test_without_a_token_nobody_is_administrator(shuffler: Shuffler) -> None:
    with serving(shuffler) as running:
        running.app._token = None
        for given in ("Bearer None", "Bearer ", ""):
            with Client(running.url) as client:
                assert client.request("GET", "/admin/tasks", authorization=given).status == 401


def test_keys_health_and_counts(running: Running, task: Task) -> None:
    with Client(running.url) as client:
        (listed,) = json.loads(client.request("GET", "/v1/keys").body)["keys"]
        assert listed["public"] == key("shuffler").public.raw.hex()
        assert key("shuffler").raw().hex() not in str(listed)
        assert client.request("GET", "/healthz").status == 200
        _post(running, task, b"".join(records(task, 20)))
        text = client.request("GET", "/metrics").body.decode()
        assert "shuffledp_reports_stored_total 0\n" in text  # 20 are no full thousand
        running.app.metrics.add("shuffledp_reports_stored", 6979)
        running.app.metrics.add("shuffledp_reports_refused", 1999, "unopenable")
        running.app.metrics.add("shuffledp_reports_refused", 999, "unknown-key")
        assert client.request("GET", "/metrics").body.decode() == text  # for a minute
        running.app.metrics._until = 0.0
        text = client.request("GET", "/metrics").body.decode()
        assert "shuffledp_reports_stored_total 6000\n" in text
        assert 'shuffledp_reports_refused_total{reason="unopenable"} 1000\n' in text
        assert "unknown-key" not in text
        assert "shuffledp_storing 1\n" in text
        assert "created" not in text


def test_when_too_much_waits_it_is_refused_at_once(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.db")
    held, begun = threading.Event(), threading.Event()
    add = store.add

    def slow(uploads: Any) -> Any:
        begun.set()
        assert held.wait(PATIENCE)
        return add(uploads)

    store.add = slow  # type: ignore[method-assign]
    with serving(make_shuffler(tmp_path, store), waiting=10) as running:
        task = running.app.shuffler.open_task(make_task().document)
        with ThreadPoolExecutor(4) as pool:
            sent = [b"".join(records(task, 5)) for _ in range(2)]
            first = pool.submit(_post, running, task, sent[0])
            assert begun.wait(PATIENCE)
            second = pool.submit(_post, running, task, sent[1])
            until(lambda: running.app.intake.waiting >= 10)
            busy = _post(running, task, records(task, 1)[0])
            assert (busy.status, busy.code, busy.retry_after) == (429, "busy", "1")
            held.set()
            assert [first.result().status, second.result().status] == [201, 201]
        assert _post(running, task, records(task, 1)[0]).status == 201  # recovers by itself
        (released,) = running.app.shuffler.release(task.id)
        assert released.reports == 11


def test_reports_that_are_being_opened_wait_too(
    running: Running, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening is most of the work: if only the queue to the disk counted, nobody would be refused."""
    seen, unwrap = [], running.app.shuffler.unwrap

    def counting(*about: Any) -> Any:
        seen.append(running.app.intake.waiting)
        return unwrap(*about)

    monkeypatch.setattr(running.app.shuffler, "unwrap", counting)
    assert _post(running, task, b"".join(records(task, 3))).status == 201
    assert seen == [3, 3, 3]
    until(lambda: not running.app.intake.waiting)
    running.app.intake.waiting = 20_000
    assert _post(running, task, records(task, 1)[0]).status == 429
    running.app.intake.waiting = 0
    assert len(seen) == 3  # it was refused unopened
    record = records(task, 1)[0]
    assert _post(running, task, record[:-1] + bytes([record[-1] ^ 1])).status == 400
    until(lambda: not running.app.intake.waiting)


def test_bodies_that_come_at_once_fit_into_memory(
    running: Running, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few are read while others, who say how long they are, are sent away unread."""
    monkeypatch.setattr("shuffledp.service.server.application._HELD", 1 << 20)
    path = f"/v1/tasks/{task.id.hex()}/reports"
    with socket.create_connection(("127.0.0.1", running.port)) as slow:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {MEDIA_REPORTS}\r\n"
        slow.sendall(f"{head}Content-Length: {1 << 20}\r\n\r\nabc".encode())
        until(lambda: running.app._held == 1 << 20)
        answer = _post(running, task, records(task, 1)[0])
        assert (answer.status, answer.code, answer.retry_after) == (429, "busy", "1")
    until(lambda: not running.app._held)
    assert _post(running, task, records(task, 1)[0]).status == 201


def test_what_is_wrong_inside_is_told_to_nobody_outside(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ServiceError("The store /secret/place cannot be used.")

    monkeypatch.setattr(running.app.shuffler.store, "tasks", broken)
    monkeypatch.setattr(running.app.shuffler.ring, "refresh", broken)
    with Client(running.url) as client:
        for path in (f"/v1/tasks/{64 * '0'}", "/v1/keys", f"/survey/{64 * '1'}"):
            running.app._looked = -10.0
            answer = client.request("GET", path)
            assert (answer.status, answer.code) == (503, "unavailable")
            assert b"secret" not in answer.body
        with pytest.raises(ServiceError, match="/secret/place"):
            client.administer(TOKEN, "GET", "/admin/tasks")


def test_a_token_is_not_sent_in_the_clear() -> None:
    for url in ("http://shuffler.example", "http://192.0.2.1:8572"):
        with Client(url) as client, pytest.raises(ParameterError, match="in the clear"):
            client.administer(TOKEN, "GET", "/admin/tasks")


def test_a_full_batch_is_refused_until_its_release(running: Running) -> None:
    task = running.app.shuffler.open_task(make_task(largest=12).document)
    assert _post(running, task, b"".join(records(task, 12))).status == 201
    answer = _post(running, task, records(task, 1)[0])
    assert (answer.status, answer.code, answer.retry_after) == (429, "full", "60")
    running.app.shuffler.release(task.id)
    assert _post(running, task, records(task, 1)[0]).status == 201


def test_a_store_that_fails_acknowledges_nothing(
    running: Running, task: Task, caplog: pytest.LogCaptureFixture
) -> None:
    store, add = running.app.shuffler.store, running.app.shuffler.store.add

    def broken(_uploads: Any) -> Any:
        raise ServiceError("The disk is full.")

    store.add = broken  # type: ignore[method-assign]
    sent = records(task, 1)[0]
    answer = _post(running, task, sent)
    assert (answer.status, answer.code, answer.retry_after) == (503, "unavailable", "5")
    with Client(running.url) as client:
        assert client.request("GET", "/healthz").status == 503
    store.add = add  # type: ignore[method-assign]
    assert _post(running, task, sent).status == 201
    assert "The disk is full" in caplog.text


def test_an_address_with_a_slash_too_many_is_none(running: Running) -> None:
    """No answer is made of what a request says its host is."""
    with Client(running.url) as client:
        answer = client.request("GET", "/v1/keys/", host="elsewhere.example")
        assert (answer.status, answer.code) == (404, "not-found")


def test_health_comes_back_before_anybody_sends(tmp_path: Path) -> None:
    """A balancer that sends nothing to the sick would otherwise never send again."""
    shuffler = make_shuffler(tmp_path, open_store(tmp_path / "store.db"))
    task = shuffler.open_task(make_task().document)
    store, add = shuffler.store, shuffler.store.add
    tried = threading.Event()

    def broken(uploads: Any) -> Any:
        if not uploads:
            tried.set()
        raise ServiceError("The server is gone.")

    with serving(shuffler, sweep_every=0.01) as running, Client(running.url) as client:
        store.add = broken  # type: ignore[method-assign]
        assert _post(running, task, records(task, 1)[0]).status == 503
        assert tried.wait(PATIENCE)
        assert client.request("GET", "/healthz").status == 503
        store.add = add  # type: ignore[method-assign]
        until(lambda: client.request("GET", "/healthz").status == 200)


def _raw(running: Running, *parts: bytes, pause: float = 0.0) -> bytes:
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as connection:
        found = b""
        with suppress(ConnectionError):
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
        with suppress(ConnectionError):
            while more := connection.recv(65536):
                found += more
        return found


def _head(task: Task, size: str = "content-length: 136") -> bytes:
    return (
        f"POST /v1/tasks/{task.id.hex()}/reports HTTP/1.1\r\nhost: x\r\n"
        f"content-type: {MEDIA_REPORTS}\r\n{size}\r\n"
    ).encode()


CHUNKED = "transfer-encoding: chunked"


def test_those_who_keep_it_waiting(shuffler: Shuffler) -> None:
    task = shuffler.open_task(make_task().document)
    with serving(shuffler, body=0.1) as running:
        assert b" 408 " in _raw(running, _head(task) + b"\r\n", b"half")
        assert b" 408 " in _raw(running, _head(task, CHUNKED) + b"\r\n", b"4\r\nhalf\r\n")
    with serving(shuffler, head=0.1) as running:
        assert _raw(running, b"") == b""  # silent
        assert _raw(running, _head(task)) == b""  # half a head
        assert _raw(running, b"GET / HTTP/1.1\r\n", *[b"a: b\r\n"] * 6, pause=0.03) == b""


def test_those_who_send_too_much_or_nonsense(running: Running, task: Task) -> None:
    assert b" 400 " in _raw(running, b"nonsense\r\n\r\n")
    record = records(task, 1)[0]
    assert b" 201 " in _raw(running, _head(task) + b"connection: close\r\n\r\n", record)
    assert b" 413 " in _raw(running, _head(task, "content-length: 2000000") + b"\r\n")
    large = b"%x\r\n" % (1 << 20) + bytes(1 << 20) + b"\r\n"
    admin = f"POST /admin/tasks HTTP/1.1\r\nhost: x\r\n{CHUNKED}\r\n"
    admin += f"authorization: Bearer {TOKEN}\r\n"
    for head in (_head(task, CHUNKED), admin.encode()):
        assert b" 413 " in _raw(running, head + b"\r\n", large, b"1\r\n0\r\n")
    endless = [b"x-%d: %s\r\n" % (i, b"y" * 8000) for i in range(100)]
    assert b" 200 " not in _raw(running, b"GET /healthz HTTP/1.1\r\n", *endless)


def test_one_connection_too_many(shuffler: Shuffler) -> None:
    with serving(shuffler, connections=2) as running:
        held = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(2)]
        until(lambda: len(running.server.server_state.connections) == 2)
        with (
            pytest.raises((ConnectionError, http.client.HTTPException)),
            Client(running.url) as client,
        ):
            client.request("GET", "/healthz")
        for each in held:
            each.close()
        until(lambda: not running.server.server_state.connections)
        with Client(running.url) as client:
            assert client.request("GET", "/healthz").status == 200


def _nobody_listens(port: int) -> bool:
    with socket.socket() as knocking:
        return knocking.connect_ex(("127.0.0.1", port)) != 0


def test_a_graceful_stop_answers_what_has_begun(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store.db")
    begun, held, add = threading.Event(), threading.Event(), store.add

    def slow(uploads: Any) -> Any:
        begun.set()
        assert held.wait(PATIENCE)
        return add(uploads)

    store.add = slow  # type: ignore[method-assign]
    with serving(make_shuffler(tmp_path, store)) as running:
        task = running.app.shuffler.open_task(make_task().document)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(_post, running, task, records(task, 1)[0])
            assert begun.wait(PATIENCE)
            running.server.should_exit = True
            until(lambda: _nobody_listens(running.port))
            held.set()
            assert answer.result().status == 201
    assert open_store(tmp_path / "store.db").tasks()[0].waiting == 1


def test_a_schedule_releases_what_is_enough(shuffler: Shuffler, tmp_path: Path) -> None:
    with serving(shuffler, release_every=0.05, sweep_every=0.05) as running:
        few = running.app.shuffler.open_task(make_task(title="few").document)
        enough = running.app.shuffler.open_task(make_task().document)
        _post(running, few, b"".join(records(few, 9)))
        _post(running, enough, b"".join(records(enough, 10)))
        until(lambda: any(b.state == "released" for b in shuffler.store.batches(enough.id)))
        assert shuffler.store.batches(few.id) == []


def test_a_process_takes_up_what_another_began(tmp_path: Path) -> None:
    store: Store = open_store(tmp_path / "store.db")
    shuffler = make_shuffler(tmp_path, store)
    task = shuffler.open_task(make_task().document)
    shuffler.accept(task.id, b"".join(records(task, 10)))
    store.close_batch(task.id, bytes(16))
    with serving(make_shuffler(tmp_path, store, ring=shuffler.ring)):
        until(lambda: store.batches()[0].state == "released")
        assert [path.name for path in (tmp_path / "outbox").iterdir()] == [f"{'0' * 32}.batch"]


def test_a_release_that_failed_is_finished_later(shuffler: Shuffler, tmp_path: Path) -> None:
    """Without a schedule, and without being asked."""
    (tmp_path / "outbox").touch()  # no folder
    with serving(shuffler, sweep_every=0.05) as running:
        task = shuffler.open_task(make_task().document)
        _post(running, task, b"".join(records(task, 10)))
        with Client(running.url) as client, pytest.raises(ServiceError, match="outbox"):
            client.administer(TOKEN, "POST", f"/admin/tasks/{task.id.hex()}/release")
        assert shuffler.store.batches()[0].state == "paid"
        (tmp_path / "outbox").unlink()
        until(lambda: shuffler.store.batches()[0].state == "released")
    assert len(list((tmp_path / "outbox").iterdir())) == 1
    assert shuffler.verify() == []


def test_devices_use_the_next_key_of_their_task(tmp_path: Path) -> None:
    ring = make_ring(tmp_path / "keys", "shuffler", "newer")
    store = open_store(tmp_path / "store.db")
    with serving(make_shuffler(tmp_path, store, ring=ring)) as running:
        task = running.app.shuffler.open_task(
            make_task(shuffler=[key("shuffler").public, key("newer").public]).document
        )
        ring.retire(key("shuffler").public.id)
        report = Device(task, STREAM).report("A")
        with Client(running.url) as client:
            client.send(report, Device(task, STREAM).report("B"))
            assert store.tasks()[0].waiting == 2
            (tmp_path / "keys" / f"{key('newer').public.id.hex()}.pem").unlink()
            ring._read = None
            with pytest.raises(ServiceError, match="none of the keys"):
                client.send(report)


def test_a_client_tries_again_and_gives_up_in_words(running: Running, task: Task) -> None:
    pauses: list[float] = []
    store, add = running.app.shuffler.store, running.app.shuffler.store.add
    calls = []

    def shaky(uploads: list[Upload]) -> Any:
        calls.append(len(uploads))
        if len(calls) < 3:
            raise ServiceError("Not now.")
        return add(uploads)

    store.add = shaky  # type: ignore[method-assign]

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        assert client._connection is None  # it would be closed by then

    with Client(running.url, sleep=pause) as client:
        client.send(Device(task, STREAM).report("A"))
        assert len(calls) == 3
        assert pauses == [5.0, 5.0]
        with pytest.raises(ServiceError, match="no such task"):
            client.send(Device(make_task(title="unknown"), STREAM).report("A"))
        with pytest.raises(ServiceError, match="no such task"):
            client.task(bytes(32))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    with (
        Client(nobody, attempts=2, sleep=pauses.append) as client,
        pytest.raises(ServiceError, match="2 attempts"),
    ):
        client.task(bytes(32))
    for url in ("ftp://x", "http://", "x", "http://x:port", "http://x?y"):
        with pytest.raises(ParameterError):
            Client(url)
    for url in ("http://x/v1/tasks/zz", "http://x"):
        with pytest.raises(ParameterError, match="'task'"):
            split_task(url)


def test_logs_say_nothing_of_people(
    running: Running, task: Task, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    record = records(task, 1)[0]
    name, _ = task.format.unwrap(record, key("shuffler"))
    _post(running, task, record + b"".join(records(task, 12)))
    _post(running, task, record[:-1] + b"x")
    running.app.shuffler.release(task.id)
    text = "\n".join(each.getMessage() for each in caplog.records if "asyncio" not in each.name)
    assert "13 reports released" in text
    for secret in ("127.0.0.1", name.hex(), record.hex()[:32]):
        assert secret not in text
