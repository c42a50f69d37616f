"""HPKE (RFC 9180): what one party alone can open.

Base mode, one message per encapsulated key, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.
What a message belongs to is bound by ``info``; there is no associated data.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from shuffledp.errors import MissingExtraError, ParameterError

PUBLIC = 32
"""Bytes of a public key, and of what is sent of an ephemeral one."""
OVERHEAD = PUBLIC + 16
"""Bytes by which a sealed message is longer."""
ID = 8
"""Bytes of the name of a key."""
_ID_LABEL = b"shuffledp key 1"


class CannotOpen(Exception):
    """Not sealed to this key with this info, or altered. Deliberately says no more."""


@cache
def _hpke() -> Any:
    try:
        from cryptography.hazmat.primitives import hpke
    except ImportError as error:
        raise MissingExtraError("service", "Sealing reports") from error
    return hpke


@cache
def _suite() -> Any:
    hpke = _hpke()
    return hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)


@dataclass(frozen=True)
class PublicKey:
    """Whoever has it can seal."""

    raw: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.raw, bytes) or len(self.raw) != PUBLIC:
            raise ParameterError("key", f"a public key of {PUBLIC} bytes", self.raw)
        try:  # a point of small order gives everybody the same secret
            self.seal(b"", b"")
        except ValueError as error:
            raise ParameterError("key", "a public X25519 key", self.raw.hex()) from error

    @cached_property
    def id(self) -> bytes:
        """Its name: the first bytes of a digest."""
        return hashlib.sha256(_ID_LABEL + self.raw).digest()[:ID]

    @cached_property
    def _key(self) -> Any:
        _hpke()
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        return X25519PublicKey.from_public_bytes(self.raw)

    def seal(self, message: bytes, info: bytes) -> bytes:
        """The encapsulated key, then the ciphertext with its tag."""
        return bytes(_suite().encrypt(message, self._key, info))

    @classmethod
    def from_hex(cls, text: object) -> PublicKey:
        """From 64 lower-case hexadecimal digits."""
        try:
            raw = bytes.fromhex(text) if isinstance(text, str) else b""
        except ValueError:
            raw = b""
        if raw.hex() != text:
            raise ParameterError("key", f"{2 * PUBLIC} hexadecimal digits", text)
        return cls(raw)


class PrivateKey:
    """Whoever has it can open. It is never shown."""

    def __init__(self, key: Any) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw())

    def __repr__(self) -> str:
        return f"PrivateKey({self.public.id.hex()})"

    @classmethod
    def generate(cls) -> PrivateKey:
        """A new one, from the operating system's randomness."""
        _hpke()
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        return cls(X25519PrivateKey.generate())

    @classmethod
    def from_raw(cls, raw: bytes) -> PrivateKey:
        """From its 32 bytes."""
        _hpke()
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        return cls(X25519PrivateKey.from_private_bytes(raw))

    @classmethod
    def from_pem(cls, pem: bytes) -> PrivateKey:
        """From PKCS #8, without a password; a ValueError for anything else."""
        _hpke()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            key = load_pem_private_key(pem, password=None)
        except (TypeError, UnsupportedAlgorithm) as error:
            raise ValueError("not an unencrypted private key") from error
        if not isinstance(key, X25519PrivateKey):
            raise ValueError("not an X25519 key")
        return cls(key)

    def raw(self) -> bytes:
        """Its 32 bytes."""
        return bytes(self._key.private_bytes_raw())

    def pem(self) -> bytes:
        """As PKCS #8, for a file."""
        from cryptography.hazmat.primitives import serialization

        return bytes(
            self._key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )

    @cached_property
    def _invalid(self) -> type[Exception]:
        from cryptography.exceptions import InvalidTag

        return InvalidTag

    def open(self, sealed: bytes, info: bytes) -> bytes:
        """The message."""
        try:
            return bytes(_suite().decrypt(sealed, self._key, info))
        except (self._invalid, ValueError) as error:
            raise CannotOpen from error
