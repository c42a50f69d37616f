"""Binary HTTP (RFC 9292): requests and responses as bytes, for what travels inside Oblivious HTTP.

Strict: names in lower case, no control characters, nothing but zeros after the end. Written in the
form of known length without trailers; read in both forms. Trailers and interim responses are
checked and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_KNOWN_REQUEST, _KNOWN_RESPONSE, _OPEN_REQUEST, _OPEN_RESPONSE = range(4)
"""Framing indicators; the open ones are of indeterminate length."""
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")
_VALUE = re.compile(rb"[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?|")
_SCHEME = re.compile(rb"[a-z][a-z0-9+.-]*")
_AUTHORITY = re.compile(rb"[!$&'()*+,\-.0-9:;=A-Z\[\]_a-z~%]*")
_PATH = re.compile(rb"/[\x21\x22\x24-\x7e]*")
Fields = tuple[tuple[bytes, bytes], ...]


class Malformed(Exception):
    """Not a message. Deliberately says no more."""


@dataclass(frozen=True)
class Request:
    """A request for a resource."""

    method: bytes
    scheme: bytes
    authority: bytes
    path: bytes
    headers: Fields = ()
    content: bytes = b""

    def encode(self) -> bytes:
        control = (self.method, self.scheme, self.authority, self.path)
        return b"".join(
            (_number(_KNOWN_REQUEST), *map(_counted, control), _rest(self.headers, self.content))
        )

    @classmethod
    def decode(cls, message: bytes) -> Request:
        reader = _Reader(message)
        kind = reader.number()
        if kind not in (_KNOWN_REQUEST, _OPEN_REQUEST):
            raise Malformed
        method, scheme, authority, path = (
            reader.matching(pattern) for pattern in (_TOKEN, _SCHEME, _AUTHORITY, _PATH)
        )
        return cls(method, scheme, authority, path, *reader.rest(kind == _KNOWN_REQUEST))


@dataclass(frozen=True)
class Response:
    """What came of it."""

    status: int
    headers: Fields = ()
    content: bytes = b""

    def encode(self) -> bytes:
        start = _number(_KNOWN_RESPONSE) + _number(self.status)
        return start + _rest(self.headers, self.content)

    @classmethod
    def decode(cls, message: bytes) -> Response:
        reader = _Reader(message)
        kind = reader.number()
        if kind not in (_KNOWN_RESPONSE, _OPEN_RESPONSE):
            raise Malformed
        while 100 <= (status := reader.number()) < 200:
            reader.fields(kind == _KNOWN_RESPONSE)
        if not 200 <= status < 600:
            raise Malformed
        return cls(status, *reader.rest(kind == _KNOWN_RESPONSE))


def _number(value: int) -> bytes:
    """A number in 1, 2, 4 or 8 bytes, whose first two bits say how many (RFC 9000)."""
    for power, size in enumerate((1, 2, 4, 8)):
        if value < 1 << (8 * size - 2):
            return (value | power << (8 * size - 2)).to_bytes(size)
    raise Malformed


def _counted(part: bytes) -> bytes:
    return _number(len(part)) + part


def _rest(headers: Iterable[tuple[bytes, bytes]], content: bytes) -> bytes:
    lines = b"".join(_counted(name) + _counted(value) for name, value in headers)
    return _counted(lines) + _counted(content) + _number(0)


class _Reader:
    def __init__(self, message: bytes) -> None:
        self._message, self._at = message, 0

    @property
    def ended(self) -> bool:
        return self._at == len(self._message)

    def take(self, size: int) -> bytes:
        if size > len(self._message) - self._at:
            raise Malformed
        self._at += size
        return self._message[self._at - size : self._at]

    def number(self) -> int:
        first = self.take(1)
        size = 1 << (first[0] >> 6)
        return int.from_bytes(first + self.take(size - 1)) & ((1 << (8 * size - 2)) - 1)

    def counted(self) -> bytes:
        return self.take(self.number())

    def matching(self, pattern: re.Pattern[bytes]) -> bytes:
        part = self.counted()
        if not pattern.fullmatch(part):
            raise Malformed
        return part

    def fields(self, known: bool) -> Fields:
        if known:
            return tuple(_Reader(self.counted()).lines())
        found = []
        while size := self.number():
            found.append(_line(self.take(size), self.counted()))
        return tuple(found)

    def lines(self) -> Iterator[tuple[bytes, bytes]]:
        while not self.ended:
            yield _line(self.counted(), self.counted())

    def body(self, known: bool) -> bytes:
        if known:
            return self.counted()
        parts = []
        while size := self.number():
            parts.append(self.take(size))
        return b"".join(parts)

    def rest(self, known: bool) -> tuple[Fields, bytes]:
        """Headers and content; a message may end where everything after is empty."""
        headers = () if self.ended else self.fields(known)
        content = b"" if self.ended else self.body(known)
        if not self.ended:
            self.fields(known)  # trailers
        if any(self._message[self._at :]):
            raise Malformed
        return headers, content


def _line(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
        raise Malformed
    return name, value
