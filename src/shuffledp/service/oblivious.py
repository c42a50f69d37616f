"""Oblivious HTTP (RFC 9458): a relay that sees addresses passes on requests that it cannot read.

The shuffler is the gateway, and the target too. The gateway's keys are the shuffler's own, so that
a device takes them from its task: everybody who has the task has the same ones, and nobody can be
given a key of their own by which to know them again. What is sealed here and what is sealed in a
report differ in their ``info``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from shuffledp.errors import MissingExtraError
from shuffledp.service.sealing import PUBLIC, CannotOpen, PrivateKey, PublicKey

MEDIA_REQUEST = "message/ohttp-req"
MEDIA_RESPONSE = "message/ohttp-res"
MEDIA_KEYS = "application/ohttp-keys"
GATEWAY = "/.well-known/ohttp-gateway"
"""Where the gateway is, and its keys (RFC 9540)."""
_KEM, _KDF, _AEAD = 0x0020, 0x0001, 0x0001
_SUITE = b"".join(number.to_bytes(2) for number in (_KEM, _KDF, _AEAD))
_REQUEST, _RESPONSE = b"message/bhttp request", b"message/bhttp response"
_KEY, _NONCE = 16, 12
"""Bytes of what AES-128-GCM takes."""
_SALT = max(_KEY, _NONCE)
_HEAD = 1 + len(_SUITE)


@cache
def _suite() -> Any:
    try:
        import pyhpke
    except ImportError as error:
        raise MissingExtraError("service", "Oblivious HTTP") from error
    return pyhpke.CipherSuite.new(
        pyhpke.KEMId.DHKEM_X25519_HKDF_SHA256, pyhpke.KDFId.HKDF_SHA256, pyhpke.AEADId.AES128_GCM
    )


def key_number(key: PublicKey) -> int:
    """The one byte by which a request names a key. Two keys may share it: then both are tried."""
    return key.id[0]


def configuration(keys: Sequence[PublicKey]) -> bytes:
    """What a gateway publishes of its keys."""
    symmetric = _SUITE[2:]
    found = b""
    for key in keys:
        one = bytes([key_number(key)]) + _SUITE[:2] + key.raw
        one += len(symmetric).to_bytes(2) + symmetric
        found += len(one).to_bytes(2) + one
    return found


@dataclass(frozen=True)
class Exchange:
    """One request and its response, as seen from one side."""

    _context: Any
    _enc: bytes

    def seal(self, response: bytes, nonce: bytes | None = None) -> bytes:
        """What the gateway answers."""
        nonce = os.urandom(_SALT) if nonce is None else nonce
        cipher, iv = self._response_key(nonce)
        return nonce + bytes(cipher.encrypt(iv, response, b""))

    def open(self, sealed: bytes) -> bytes:
        """The response, by whoever asked."""
        from cryptography.exceptions import InvalidTag

        cipher, iv = self._response_key(sealed[:_SALT])
        try:
            return bytes(cipher.decrypt(iv, sealed[_SALT:], b""))
        except (InvalidTag, ValueError) as error:
            raise CannotOpen from error

    def _response_key(self, nonce: bytes) -> tuple[Any, bytes]:
        from cryptography.hazmat.primitives import hashes, hmac
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

        extract = hmac.HMAC(self._enc + nonce, hashes.SHA256())
        extract.update(self._context.export(_RESPONSE, _SALT))
        secret = extract.finalize()

        def expand(label: bytes, size: int) -> bytes:
            return bytes(HKDFExpand(hashes.SHA256(), size, label).derive(secret))

        return AESGCM(expand(b"key", _KEY)), expand(b"nonce", _NONCE)


def _info(head: bytes) -> bytes:
    return _REQUEST + b"\0" + head


def encapsulate(
    request: bytes, key: PublicKey, number: int | None = None, ephemeral: Any = None
) -> tuple[bytes, Exchange]:
    """A request that only the gateway can read. An ephemeral key is given by test vectors alone."""
    suite = _suite()
    head = bytes([key_number(key) if number is None else number]) + _SUITE
    public = suite.kem.deserialize_public_key(key.raw)
    enc, context = suite.create_sender_context(public, _info(head), eks=ephemeral)
    return head + enc + context.seal(request), Exchange(context, enc)


def decapsulate(sealed: bytes, keys: Sequence[PrivateKey]) -> tuple[bytes, Exchange]:
    """The request, by a gateway that has one of these keys. LookupError for a key or a suite that
    is not known."""
    head, enc, content = sealed[:_HEAD], sealed[_HEAD : _HEAD + PUBLIC], sealed[_HEAD + PUBLIC :]
    named = [key for key in keys if head[:1] == bytes([key_number(key.public)])]
    if not named or head[1:] != _SUITE:
        raise LookupError
    suite = _suite()
    for key in named:
        try:
            private = suite.kem.deserialize_private_key(key.raw())
            context = suite.create_recipient_context(enc, private, _info(head))
            return context.open(content), Exchange(context, enc)
        except _failures():
            continue
    raise CannotOpen


@cache
def _failures() -> tuple[type[Exception], ...]:
    from cryptography.exceptions import InvalidTag
    from pyhpke.exceptions import PyHPKEError

    return (InvalidTag, ValueError, PyHPKEError)
