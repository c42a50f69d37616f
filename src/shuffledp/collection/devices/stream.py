"""Random bits: cryptographic by default, reproducible only by the name ``simulation``."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NoReturn
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from shuffledp import checks
from shuffledp.errors import MissingExtraError

SIMULATED = "simulated randomness: protects nobody"
"""What every answer says that was made with a stream that can be reproduced."""
_secure: WeakSet[_Secure] = WeakSet()


def _forked() -> None:
    """In a new process, while it has one thread only: no stream goes on with its parent's key."""
    for stream in list(_secure):
        stream._lock = threading.Lock()
        stream._rekey()


os.register_at_fork(after_in_child=_forked)


class Stream(ABC):
    """An endless supply of uniform bits.

    Examples
    --------
    >>> simulation(7).bits(5, count=3).max() < 8
    np.True_
    """

    simulated = False
    """Whether the bits can be reproduced, and so protect nobody."""

    @abstractmethod
    def fill(self, target: NDArray[np.uint8]) -> None:
        """Overwrite these bytes with random ones."""

    def words(self, size: int, dtype: Any = np.uint64) -> NDArray[Any]:
        """Uniform unsigned integers of that type."""
        out = np.empty(size, dtype)
        self.fill(out.view(np.uint8))
        return out

    def bits(self, size: int, count: int) -> NDArray[Any]:
        """Uniform integers below 2^count, in the smallest type that holds them (count <= 64)."""
        width = next(width for width in (8, 16, 32, 64) if width >= count)
        out = self.words(size, np.dtype(f"u{width // 8}"))
        return out if count == width else out & out.dtype.type((1 << count) - 1)


class _Secure(Stream):
    """AES-256 in counter mode under a key of the operating system, fresh in every process."""

    def __init__(self) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        except ImportError as error:
            raise MissingExtraError("run", "Cryptographic randomness") from error
        self._build: Callable[[], Any] = lambda: Cipher(
            algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16))
        ).encryptor()
        self._lock = threading.Lock()
        self._rekey()
        _secure.add(self)

    def _rekey(self) -> None:
        self._cipher, self._owner = self._build(), os.getpid()

    def fill(self, target: NDArray[np.uint8]) -> None:
        view = target.data
        with self._lock:
            if self._owner != os.getpid():  # a fork that Python was not told of
                self._rekey()
            for start in range(0, len(view), _ZEROS):
                part = view[start : start + _ZEROS]
                self._cipher.update_into(_NOTHING[: len(part)], part)

    def __reduce__(self) -> NoReturn:
        raise TypeError("A cryptographic stream never leaves its process: make one in each.")

    def __copy__(self) -> NoReturn:
        self.__reduce__()

    def __deepcopy__(self, _memo: object) -> NoReturn:
        self.__reduce__()


_ZEROS = 1 << 16
_NOTHING = memoryview(bytes(_ZEROS))


class _Simulation(Stream):
    """Reproducible bits from a seed: for experiments, never for people's data."""

    simulated = True

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def fill(self, target: NDArray[np.uint8]) -> None:
        target[...] = np.frombuffer(self._generator.bytes(target.size), np.uint8)


def secure() -> Stream:
    """Cryptographic randomness keyed by the operating system; re-keyed after a fork.

    Examples
    --------
    >>> len(secure().words(3))
    3
    """
    return _Secure()


def simulation(seed: int) -> Stream:
    """The same bits for the same seed. Protects nobody: outputs say ``simulated``.

    Examples
    --------
    >>> bool((simulation(7).words(3) == simulation(7).words(3)).all())
    True
    """
    return _Simulation(checks.whole("seed", seed, 0))
