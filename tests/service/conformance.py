"""The vectors in conformance/: random bytes in, reports out; HPKE; records. For devices in any language.

python -m tests.service.conformance writes them anew.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyhpke
from numpy.typing import NDArray

from shuffledp.collection.devices import Stream, simulation
from shuffledp.collection.devices.categorical import UnaryDevice
from shuffledp.collection.devices.coins import _LAST, _NEXT
from shuffledp.service.sealing import PublicKey
from shuffledp.service.task import Task, exact
from tests.service.made import key, make_task

FOLDER = Path(__file__).parents[2] / "conformance"
CASES = 30
_TASKS: tuple[dict[str, Any], ...] = (
    {"mechanism": "krr"},
    {"mechanism": "krr", "categories": tuple("ABCDEFG"), "epsilon": 0.5},
    {"mechanism": "krr", "categories": tuple(f"v{i}" for i in range(300)), "epsilon": 6.0},
    {"mechanism": "krr", "task": "quantiles", "bins": 100, "low": -5.0, "high": 20.0},
    {"mechanism": "rappor"},
    {"mechanism": "oue", "categories": tuple(f"v{i}" for i in range(21))},
    {"mechanism": "one-bit", "task": "mean", "low": 0.0, "high": 10.0},
    {"mechanism": "laplace", "task": "mean", "low": 0.0, "high": 10.0},
    {"mechanism": "truncated-laplace", "task": "mean", "low": 0.0, "high": 3.0, "epsilon": 0.7},
)
_SUITE = pyhpke.CipherSuite.new(
    pyhpke.KEMId.DHKEM_X25519_HKDF_SHA256, pyhpke.KDFId.HKDF_SHA256, pyhpke.AEADId.AES128_GCM
)


class Recording(Stream):
    """Gives these bytes first, then those of a seed, and writes all of them down."""

    def __init__(self, seed: int, first: bytes = b"") -> None:
        self._stream, self._first, self.given = simulation(seed), first, b""

    def fill(self, target: NDArray[np.uint8]) -> None:
        size = target.size
        start, self._first = self._first[:size], self._first[size:]
        rest = self._stream.words(size - len(start), np.uint8).tobytes()
        target[...] = np.frombuffer(start + rest, np.uint8)
        self.given += start + rest


def _values(task: Task) -> Iterator[tuple[Any, Any]]:
    """What a person may hold, and the device's input."""
    from shuffledp.service.device import inputs

    job = task.job
    if job.task == "histogram":
        held: list[Any] = [job.categories[i % len(job.categories)] for i in range(CASES)]
    else:
        span = job.high - job.low
        held = [job.low + span * share for share in np.linspace(-0.1, 1.1, CASES).tolist()]
    for value in held:
        yield value, inputs(task, value)


def _beginnings(task: Task) -> list[bytes]:
    """Bytes that lead where chance seldom does: ties, and draws beyond the sure cells."""
    device = task.job.device
    known = exact(device) or {}
    found = []
    for name in ("replace", "lose"):
        if name in known:
            found.append(bytes([known[name] >> 40]))
    if isinstance(device, UnaryDevice):
        coins = device._coins
        for end in (coins.ends[7], coins.ends[100]):
            near = end >> _LAST
            cell = coins.sure + (near >> _NEXT)
            rest = near & ((1 << _NEXT) - 1)
            others = bytes(2 * (device.columns - 1))
            found.append(cell.to_bytes(2, "little") + others + rest.to_bytes(8, "little"))
    return found


def randomizers() -> list[dict[str, Any]]:
    found = []
    for settings in _TASKS:
        task = make_task(**settings)
        device, cases = task.job.device, []
        beginnings = _beginnings(task)
        for number, (value, given) in enumerate(_values(task)):
            first = beginnings[number] if number < len(beginnings) else b""
            stream = Recording(number, first)
            report = device.encode(given, stream)
            cases.append(
                {
                    "value": value,
                    "random": stream.given.hex(),
                    "integers": [int(each) for each in report[0]],
                    "report": task.padded(report).hex(),
                }
            )
        given = json.loads(task.document)
        parts = {name: given[name] for name in ("question", "report")}
        found.append({**parts, "exact": given["randomizer"]["exact"], "cases": cases})
    return found


def sealed(public: PublicKey, message: bytes, info: bytes, ikm: bytes) -> bytes:
    """HPKE with the ephemeral key that this material gives."""
    enc, context = _SUITE.create_sender_context(
        _SUITE.kem.deserialize_public_key(public.raw),
        info,
        eks=_SUITE.kem.derive_key_pair(ikm),
    )
    return bytes(enc + context.seal(message))


def hpke() -> list[dict[str, str]]:
    found = []
    for number in range(8):
        mine = key(f"conformance {number}")
        message, info = bytes(range(number * 20)), f"info {number}".encode()
        ikm = bytes([number]) * 32
        found.append(
            {
                "private": mine.raw().hex(),
                "public": mine.public.raw.hex(),
                "key_id": mine.public.id.hex(),
                "info": info.hex(),
                "message": message.hex(),
                "ephemeral_material": ikm.hex(),
                "sealed": sealed(mine.public, message, info, ikm).hex(),
            }
        )
    return found


def wire() -> list[dict[str, Any]]:
    found = []
    for place, settings in enumerate(({}, {"mechanism": "laplace", "task": "mean", "length": 40})):
        keys = [key("shuffler").public, key("newer").public]
        task = make_task(**settings, shuffler=keys, title="Où ? \u2603 \U0001f6eb")  # type: ignore[arg-type]
        form = task.format
        report = bytes([place + 1] * task.payload).ljust(task.length, b"\0")
        report_id = bytes(range(16))
        materials = [b"\x11" * 32, b"\x22" * 32]
        inner = sealed(task.analyst, report, form.inner_info, materials[0])
        records = []
        for public in keys:
            outer = sealed(public, report_id + inner, form.outer_info(public.id), materials[1])
            records.append((public.id + outer).hex())
        found.append(
            {
                "document": task.document.decode(),
                "task": task.id.hex(),
                "analyst_private": key("analyst").raw().hex(),
                "shuffler_private": [key(name).raw().hex() for name in ("shuffler", "newer")],
                "report": report.hex(),
                "report_id": report_id.hex(),
                "inner_material": materials[0].hex(),
                "outer_material": materials[1].hex(),
                "inner": inner.hex(),
                "records": records,
            }
        )
    return found


FILES = {"randomizers.json": randomizers, "hpke.json": hpke, "wire.json": wire}


def text(name: str) -> str:
    """What the file of this name holds."""
    return json.dumps(FILES[name](), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for each in FILES:
        (FOLDER / each).write_text(text(each), encoding="utf-8")
