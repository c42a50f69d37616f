"""Messages that coverage leads to, by atheris (PyPI), where it installs.

python -m tests.service.guided -runs=1000000
"""

import sys
from contextlib import suppress

import atheris

with atheris.instrument_imports(include=["shuffledp.service"]):
    from shuffledp.errors import ShuffleDPError
    from shuffledp.service.binary_http import Malformed, Request, Response
    from shuffledp.service.oblivious import decapsulate
    from shuffledp.service.sealing import CannotOpen, PublicKey
    from shuffledp.service.task import Task
    from shuffledp.service.wire import Refused, parse_id

from tests.service.made import key, make_task

TASK, KEY = make_task(), key("shuffler")


def read(data: bytes) -> None:
    """One message, to every parser; each refuses in its own words, or takes it."""
    with suppress(Malformed):
        request = Request.decode(data)
        assert Request.decode(request.encode()) == request
    with suppress(Malformed):
        response = Response.decode(data)
        assert Response.decode(response.encode()) == response
    with suppress(CannotOpen, LookupError):
        decapsulate(data, [KEY])
    with suppress(Refused, CannotOpen):
        for record in TASK.format.records(data):
            TASK.format.unwrap(record, KEY)
    with suppress(ShuffleDPError):
        assert Task.read(data).document == data
    shown = data.decode("latin-1")
    found = parse_id(shown, 32)
    assert found is None or found.hex() == shown
    with suppress(ShuffleDPError):
        assert PublicKey.from_hex(shown).raw.hex() == shown


if __name__ == "__main__":
    atheris.Setup(sys.argv, read)
    atheris.Fuzz()
