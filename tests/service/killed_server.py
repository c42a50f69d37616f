"""A running service killed after some number of answers, while clients upload and releases are made.

Run by itself, so that it may fork: python -m tests.service.killed_server STORE FOLDER KILLS SEED
"""

import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from functools import partial
from http.client import HTTPException
from pathlib import Path
from random import Random

import uvicorn

from shuffledp.errors import ShuffleDPError
from shuffledp.ledger import Ledger
from shuffledp.service.client import Client
from shuffledp.service.server.application import Application
from shuffledp.service.server.connections import connection_class
from shuffledp.service.shuffler import LedgerBook, Shuffler
from shuffledp.service.store import open_store
from shuffledp.service.wire import MEDIA_REPORTS
from tests.service.killed import Witness, sealed
from tests.service.made import Clock, make_ring, make_task
from tests.service.serving import TOKEN

CLIENTS = 3
ANSWERS = 100
"""A service is killed after fewer than so many, in the middle of the next ones."""


def _child(work: Callable[[], object]) -> int:
    """A process that does this and ends."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def main(where: str, place: str, kills: int, seed: int) -> None:
    folder = Path(place) / "files"
    folder.mkdir()
    task, ledger, witness = (
        make_task(largest=10**6),
        Ledger.open(folder / "ledger.db"),
        Witness(folder),
    )
    ledger.create(task.cohort, "1000000", "0.9")
    path = f"/v1/tasks/{task.id.hex()}/reports"
    random = Random(seed)

    def shuffler() -> Shuffler:
        ring = make_ring(folder / "keys", "shuffler")
        book = LedgerBook(ledger)
        return Shuffler(open_store(where), ring, folder / "outbox", book, clock=Clock())

    first = shuffler()
    first.open_task(task.document)
    first.store.close()
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    port = listening.getsockname()[1]

    def serve() -> None:
        app = Application(shuffler(), token=TOKEN, group=20)
        http = connection_class(100, 10.0)
        config = uvicorn.Config(app, loop="uvloop", http=http, ws="none", log_config=None)
        uvicorn.Server(config).run([listening])

    def client(turn: int, number: int, answers: int) -> None:
        """Uploads until nobody answers; every third one is sent twice."""
        listening.close()
        with Client(f"http://127.0.0.1:{port}", timeout=20) as connection:
            for start in range(10**6 * (CLIENTS * turn + number) + 1, 10**18, 4):
                body = b"".join(sealed(task, name) for name in range(start, start + 4))
                for _ in range(2 if start % 3 == 0 else 1):
                    try:
                        answer = connection.request("POST", path, body, content_type=MEDIA_REPORTS)
                    except (OSError, HTTPException):
                        return
                    os.write(answers, b"u")
                    if answer.status == 201:
                        witness.note("acknowledged", *range(start, start + 4))

    def releases(answers: int) -> None:
        listening.close()
        with Client(f"http://127.0.0.1:{port}", timeout=20) as connection:
            while True:
                try:
                    connection.request(
                        *("POST", f"/admin/tasks/{task.id.hex()}/release"),
                        authorization=f"Bearer {TOKEN}",
                    )
                except (OSError, HTTPException):
                    return
                os.write(answers, b"r")

    def check() -> None:
        mine = shuffler()
        print(witness.check(mine, ledger), flush=True)
        mine.store.close()

    for turn in range(kills):
        server = _child(serve)
        with Client(f"http://127.0.0.1:{port}", timeout=60) as connection:
            assert connection.request("GET", "/healthz").status == 200
        heard, answers = os.pipe()
        # each takes numbers of its own
        others = [_child(partial(client, turn, number, answers)) for number in range(CLIENTS)]
        others.append(_child(partial(releases, answers)))
        os.close(answers)
        for _ in range(random.randrange(ANSWERS)):
            assert os.read(heard, 1)
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)
        # whoever waits in the socket's queue is told that nobody is there
        listening.close()
        for each in others:
            assert os.waitpid(each, 0)[1] == 0
        os.close(heard)
        listening = socket.create_server(("127.0.0.1", port), backlog=64)
        if os.waitpid(_child(check), 0)[1] != 0:
            raise SystemExit(f"kill {turn + 1}: the check failed")


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    except ShuffleDPError as error:
        raise SystemExit(str(error)) from error
