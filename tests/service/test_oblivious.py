"""Oblivious HTTP: the RFC's vectors, whole exchanges through a relay, and what is refused."""

import http.client
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random

import pyhpke
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp.errors import ParameterError, ServiceError
from shuffledp.interfaces.cli import main
from shuffledp.service import Device
from shuffledp.service.binary_http import Malformed, Request, Response
from shuffledp.service.client import Client, ObliviousClient
from shuffledp.service.oblivious import (
    GATEWAY,
    MEDIA_KEYS,
    MEDIA_REQUEST,
    MEDIA_RESPONSE,
    configuration,
    decapsulate,
    encapsulate,
    key_number,
)
from shuffledp.service.sealing import CannotOpen, PrivateKey
from shuffledp.service.store import open_store
from shuffledp.service.task import Task
from shuffledp.service.wire import MEDIA_REPORTS
from tests.service.made import STREAM, contents, key, make_shuffler, make_task, records
from tests.service.serving import TOKEN, Running, serving
from tests.service.test_fuzz import mutated

# RFC 9458, Appendix A
SECRET = "3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a"
PUBLIC = "31e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e798155"
EPHEMERAL = "bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73"
ASKED = "00034745540568747470730b6578616d706c652e636f6d012f"
SENT = (
    "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b472"
    "6374e469135906992e1268c594d2a10c695d858c40a026e7965e7d86b83dd440b2c0185204b4d63525"
)
ANSWERED = "0140c8"
NONCE = "c789e7151fcba46158ca84b04464910d"
RETURNED = "c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd"


def test_the_vectors_of_the_rfc(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = PrivateKey.from_raw(bytes.fromhex(SECRET))
    assert mine.public.raw.hex() == PUBLIC
    kem = pyhpke.CipherSuite.new(
        pyhpke.KEMId.DHKEM_X25519_HKDF_SHA256, pyhpke.KDFId.HKDF_SHA256, pyhpke.AEADId.AES128_GCM
    ).kem
    private = PrivateKey.from_raw(bytes.fromhex(EPHEMERAL))
    pair = pyhpke.KEMKeyPair(
        kem.deserialize_private_key(private.raw()), kem.deserialize_public_key(private.public.raw)
    )
    sealed, asked = encapsulate(bytes.fromhex(ASKED), mine.public, number=1, ephemeral=pair)
    assert sealed.hex() == SENT
    monkeypatch.setattr("shuffledp.service.oblivious.key_number", lambda _key: 1)
    request, exchange = decapsulate(sealed, [mine])
    assert request.hex() == ASKED
    answer = exchange.seal(bytes.fromhex(ANSWERED), bytes.fromhex(NONCE))
    assert answer.hex() == RETURNED
    assert asked.open(answer).hex() == ANSWERED
    published = configuration([mine.public])
    assert published[2:].hex() == f"010020{PUBLIC}000400010001"
    assert int.from_bytes(published[:2]) == len(published) - 2


def test_messages_of_the_rfc_are_read() -> None:
    assert Request.decode(bytes.fromhex(ASKED)) == Request(b"GET", b"https", b"example.com", b"/")
    assert Response.decode(bytes.fromhex(ANSWERED)) == Response(200)
    # RFC 9292: interim answers, lines, chunks and trailers of indeterminate length
    lines = b"\x07running\x0a\x22sleep 15\x22\x00"
    text = b"\x04link\x05</a>;\x00"
    message = (
        b"\x03\x40\x66"
        + lines
        + b"\x40\x67"
        + text
        + b"\x40\xc8"
        + b"\x04date\x01x\x00"
        + b"\x03abc"
    )
    message += b"\x02de\x00" + b"\x05trail\x01y\x00" + bytes(5)
    assert Response.decode(message) == Response(200, ((b"date", b"x"),), b"abcde")
    with pytest.raises(Malformed):
        Response.decode(message + b"\x01")


_NAMES = st.from_regex(rb"[a-z][a-z-]{0,9}", fullmatch=True)
_LINES = st.lists(st.tuples(_NAMES, st.from_regex(rb"[!-~]{0,20}", fullmatch=True)), max_size=4)


@given(_LINES, st.binary(max_size=100), st.integers(200, 599), st.integers(0, 9))
def test_messages_come_back(
    headers: list[tuple[bytes, bytes]], content: bytes, status: int, padding: int
) -> None:
    request = Request(b"POST", b"https", b"host:8", b"/v1?a=b", tuple(headers), content)
    assert Request.decode(request.encode() + bytes(padding)) == request
    response = Response(status, tuple(headers), content)
    assert Response.decode(response.encode() + bytes(padding)) == response


WHOLE = Request(
    b"POST", b"https", b"host", b"/v1", ((b"content-type", b"text/plain"),), b"abc"
).encode()


def test_only_empty_ends_may_be_cut_off() -> None:
    starts = [size for size in range(len(WHOLE)) if _read(WHOLE[:size])]
    # after the control data, after the headers, after the content
    assert len(starts) == 3
    assert starts[-1] == len(WHOLE) - 1


def _read(message: bytes) -> bool:
    try:
        Request.decode(message)
    except Malformed:
        return False
    return True


@pytest.mark.parametrize(
    "bad",
    [
        Request(b"GE T", b"https", b"host", b"/"),
        Request(b"GET", b"HTTPS", b"host", b"/"),
        Request(b"GET", b"https", b"user@host", b"/"),
        Request(b"GET", b"https", b"host", b"v1"),
        Request(b"GET", b"https", b"host", b"/ HTTP/1.1"),
        Request(b"GET", b"https", b"host", b"/#here"),
        Request(b"GET", b"https", b"host", b"/", ((b"Upper", b"x"),)),
        Request(b"GET", b"https", b"host", b"/", ((b":path", b"/"),)),
        Request(b"GET", b"https", b"host", b"/", ((b"", b"x"),)),
        Request(b"GET", b"https", b"host", b"/", ((b"a", b" x"),)),
        Request(b"GET", b"https", b"host", b"/", ((b"a", b"x\r\nb: y"),)),
        Request(b"GET", b"https", b"host", b"/", ((b"a", b"\0"),)),
    ],
)
def test_what_is_no_request(bad: Request) -> None:
    with pytest.raises(Malformed):
        Request.decode(bad.encode())
    with pytest.raises(Malformed):
        Response.decode(WHOLE)
    for status in (0, 99, 600):
        with pytest.raises(Malformed):
            Response.decode(Response(status).encode())


@settings(max_examples=300)
@given(st.binary(max_size=60))
def test_anything_may_come(data: bytes) -> None:
    for decode in (Request.decode, Response.decode):
        for message in (data, b"\x00" + data, b"\x03" + data):
            try:
                decode(message)
            except Malformed:
                continue


def _fuzz(messages: int) -> None:
    random = Random(9458)
    mine = key("shuffler")
    sealed, _ = encapsulate(WHOLE, mine.public)
    for _ in range(messages // 10):
        message = mutated(random, sealed)
        try:
            assert decapsulate(message, [mine])[0] == WHOLE
            assert message == sealed
        except (CannotOpen, LookupError):
            continue
    for _ in range(messages):
        for decode in (Request.decode, Response.decode):
            try:
                decode(mutated(random, WHOLE))
            except Malformed:
                continue


def test_mutated_messages() -> None:
    _fuzz(2000)


@pytest.mark.slow
def test_many_mutated_messages() -> None:
    _fuzz(500_000)


class Relay(BaseHTTPRequestHandler):
    """A third party: it knows who asks, and passes on what it cannot read."""

    protocol_version = "HTTP/1.1"
    gateway = 0
    seen: list[bytes] = []  # noqa: RUF012

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.seen.append(body)
        gateway = http.client.HTTPConnection("127.0.0.1", self.gateway)
        gateway.request("POST", GATEWAY, body, {"content-type": self.headers["content-type"]})
        answer = gateway.getresponse()
        content = answer.read()
        gateway.close()
        self.send_response(answer.status)
        self.send_header("content-type", str(answer.getheader("content-type")))
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_about: object) -> None:
        """Nothing."""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with serving(make_shuffler(tmp_path, open_store(tmp_path / "store.db"))) as found:
        yield found


@pytest.fixture
def task(running: Running) -> Task:
    return running.app.shuffler.open_task(make_task().document)


@pytest.fixture
def relay(running: Running) -> Iterator[str]:
    Relay.gateway = running.port
    Relay.seen.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Relay) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/relay"
        server.shutdown()
        thread.join()


def test_through_a_relay(running: Running, task: Task, relay: str) -> None:
    many = [Device(task, STREAM).report("A") for _ in range(11)]
    with ObliviousClient(relay, running.url, task.shuffler[0]) as client:
        assert client.task(task.id).document == task.document
        client.send(*many)
        client.send(many[0])
        answer = client.request("POST", f"/v1/tasks/{task.id.hex()}/reports", b"short")
        assert (answer.status, answer.code) == (415, "media-type")
        for method, path in (("GET", "/admin/tasks"), ("GET", "/metrics"), ("POST", GATEWAY)):
            answer = client.request(method, path, authorization=f"Bearer {TOKEN}")
            assert (answer.status, answer.code) == (404, "not-found"), path
        with pytest.raises(ParameterError, match="relay"):
            client.administer(TOKEN, "GET", "/admin/tasks")
    assert len(Relay.seen) == 7
    assert not any(many[0].inner in body or task.id in body for body in Relay.seen)
    (released,) = running.app.shuffler.release(task.id)
    assert released.reports == 11
    assert len(contents(released.path)) == 11


def test_the_command_through_a_relay(
    running: Running, task: Task, relay: str, tmp_path: Path
) -> None:
    task.save(tmp_path / "task.json")
    shown = ("report", "--task", f"{running.url}/v1/tasks/{task.id.hex()}", "--value", "A")
    mine = ("--document", str(tmp_path / "task.json"), "--relay", relay)
    assert "PROVEN" in CliRunner().invoke(main, [*shown, *mine]).output
    assert len(Relay.seen) == 1  # not even the task is fetched without the relay
    assert "given with --relay" in CliRunner().invoke(main, [*shown, *mine[2:]]).output
    make_task(title="other").save(tmp_path / "task.json")
    assert "of the task" in CliRunner().invoke(main, [*shown, *mine]).output
    assert running.app.shuffler.store.tasks()[0].waiting == 1


def test_who_is_no_gateway_is_found(running: Running, task: Task, relay: str) -> None:
    """An answer that is not sealed is not believed."""
    with (
        ObliviousClient(relay, running.url, key("other").public, attempts=1) as client,
        pytest.raises(ServiceError, match="ohttp-key"),
    ):
        client.task(task.id)


def _gateway(
    running: Running, body: bytes, media: str = MEDIA_REQUEST, **headers: str
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", running.port)
    connection.request("POST", GATEWAY, body, {"content-type": media, **headers})
    answer = connection.getresponse()
    answer.body = answer.read()  # type: ignore[attr-defined]
    connection.close()
    return answer


def test_the_gateway_refuses(running: Running, task: Task) -> None:
    path = f"/v1/tasks/{task.id.hex()}/reports".encode()
    media = ((b"content-type", MEDIA_REPORTS.encode()),)
    asked = Request(b"POST", b"https", b"host", path, media, records(task, 1)[0])
    mine = key("shuffler").public
    sealed, exchange = encapsulate(asked.encode(), mine)
    good = _gateway(running, sealed)
    assert (good.status, good.getheader("content-type")) == (200, MEDIA_RESPONSE)
    assert Response.decode(exchange.open(good.body)).status == 201  # type: ignore[attr-defined]
    with pytest.raises(CannotOpen):
        exchange.open(os.urandom(40))
    other = bytes([key_number(mine) ^ 1]) + sealed[1:]
    suite = sealed[:6] + b"\x02" + sealed[7:]
    altered = sealed[:-1] + bytes([sealed[-1] ^ 1])
    inside, _ = encapsulate(b"\x00\x03GET", mine)
    for body, status, word in (
        (other, 400, b"ohttp-key"),
        (suite, 400, b"ohttp-key"),
        (b"", 400, b"ohttp-key"),
        (altered, 400, b"unopenable"),
        (sealed[:30], 400, b"unopenable"),
        (inside, 400, b"malformed"),
    ):
        answer = _gateway(running, body)
        assert answer.status == status
        assert word in answer.body  # type: ignore[attr-defined]
    assert _gateway(running, sealed, "text/plain").status == 415
    long = {"content-length": str(2 << 20)}  # said, and not sent
    assert _gateway(running, b"", **long).status == 413
    with Client(running.url) as client:
        published = client.request("GET", GATEWAY)
        assert published.body == configuration([mine])
        assert client.request("PUT", GATEWAY).status == 405
    assert MEDIA_KEYS == "application/ohttp-keys"
