"""HPKE: the RFC's vectors, both libraries, and what cannot be opened."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import cryptography_vectors
import pyhpke
import pytest
from cryptography.hazmat.bindings._rust import openssl
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from shuffledp.errors import ParameterError
from shuffledp.service.sealing import OVERHEAD, CannotOpen, PrivateKey, PublicKey
from tests.service.made import key

X25519, SHA256, AES128 = 0x20, 1, 1
SUITE = pyhpke.CipherSuite.new(
    pyhpke.KEMId.DHKEM_X25519_HKDF_SHA256, pyhpke.KDFId.HKDF_SHA256, pyhpke.AEADId.AES128_GCM
)


@cache
def _vectors() -> list[dict[str, Any]]:
    path = Path(cryptography_vectors.__file__).parent / "HPKE" / "test-vectors.json"
    found: list[dict[str, Any]] = json.loads(path.read_text())
    return found


def _ours() -> dict[str, Any]:
    """The RFC's vector of our suite, in base mode."""
    wanted = {"kem_id": X25519, "kdf_id": SHA256, "aead_id": AES128, "mode": 0}
    (found,) = [each for each in _vectors() if wanted.items() <= each.items()]
    return found


def test_our_suite_opens_the_vector_of_the_rfc() -> None:
    """The library's public calls have no associated data, which every vector has."""
    vector = _ours()
    first = vector["encryptions"][0]
    hpke = openssl.hpke
    suite = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)
    opened = hpke._decrypt_with_aad(
        suite,
        bytes.fromhex(vector["enc"] + first["ct"]),
        X25519PrivateKey.from_private_bytes(bytes.fromhex(vector["skRm"])),
        bytes.fromhex(vector["info"]),
        bytes.fromhex(first["aad"]),
    )
    assert opened.hex() == first["pt"]


def _pair(suite: pyhpke.CipherSuite, vector: dict[str, Any], name: str) -> Any:
    return suite.kem.deserialize_private_key(bytes.fromhex(vector[f"sk{name}m"]))


def _suite(vector: dict[str, Any]) -> pyhpke.CipherSuite:
    return pyhpke.CipherSuite.new(
        pyhpke.KEMId(vector["kem_id"]),
        pyhpke.KDFId(vector["kdf_id"]),
        pyhpke.AEADId(vector["aead_id"]),
    )


def _check(vector: dict[str, Any], most: int) -> None:
    """The library that exports secrets: opens and exports."""
    suite = _suite(vector)
    given = {name: bytes.fromhex(vector[name]) for name in ("psk", "psk_id") if name in vector}
    if "pkSm" in vector:
        given["pks"] = suite.kem.deserialize_public_key(bytes.fromhex(vector["pkSm"]))
    context = suite.create_recipient_context(
        bytes.fromhex(vector["enc"]),
        _pair(suite, vector, "R"),
        bytes.fromhex(vector["info"]),
        **given,
    )
    for each in vector["encryptions"][:most]:
        opened = context.open(bytes.fromhex(each["ct"]), bytes.fromhex(each["aad"]))
        assert opened.hex() == each["pt"]
    for each in vector["exports"]:
        exported = context.export(bytes.fromhex(each["exporter_context"]), each["L"])
        assert exported.hex() == each["exported_value"]


def test_vectors_of_the_rfc_with_exports() -> None:
    found = [each for each in _vectors() if each["kem_id"] == X25519]
    assert len(found) == 32
    for vector in found:
        _check(vector, 2)


@pytest.mark.slow
def test_all_vectors_of_the_rfc() -> None:
    assert len(_vectors()) == 128
    for vector in _vectors():
        _check(vector, 1000)


@given(st.binary(max_size=300), st.binary(max_size=80))
def test_two_libraries_open_what_the_other_seals(message: bytes, info: bytes) -> None:
    mine = key("analyst")
    theirs = SUITE.kem.deserialize_private_key(mine.raw())
    sealed = mine.public.seal(message, info)
    assert len(sealed) == len(message) + OVERHEAD
    context = SUITE.create_recipient_context(sealed[:32], theirs, info)
    assert context.open(sealed[32:]) == message
    enc, sender = SUITE.create_sender_context(
        SUITE.kem.deserialize_public_key(mine.public.raw), info
    )
    assert mine.open(enc + sender.seal(message), info) == message


@given(st.binary(max_size=200))
def test_anything_else_cannot_be_opened(noise: bytes) -> None:
    with pytest.raises(CannotOpen):
        key("analyst").open(noise, b"info")


def test_altered_or_foreign_messages_cannot_be_opened() -> None:
    mine = key("analyst")
    sealed = mine.public.seal(b"report", b"info")
    for place in range(len(sealed)):
        altered = bytearray(sealed)
        altered[place] ^= 1
        with pytest.raises(CannotOpen):
            mine.open(bytes(altered), b"info")
    for other in (sealed[:-1], sealed + b"\0", b""):
        with pytest.raises(CannotOpen):
            mine.open(other, b"info")
    with pytest.raises(CannotOpen):
        mine.open(sealed, b"Info")
    with pytest.raises(CannotOpen):
        key("shuffler").open(sealed, b"info")


@pytest.mark.parametrize("raw", [b"", bytes(31), bytes(32), b"\1" + bytes(31), "text"])
def test_bad_public_keys(raw: Any) -> None:
    with pytest.raises(ParameterError, match="'key'"):
        PublicKey(raw)


def test_names_and_texts_of_keys() -> None:
    mine = key("analyst")
    assert len(mine.public.id) == 8
    assert PublicKey.from_hex(mine.public.raw.hex()) == mine.public
    for text in (mine.public.raw.hex().upper(), "zz", None, f"{mine.public.raw.hex()} "):
        with pytest.raises(ParameterError):
            PublicKey.from_hex(text)
    assert mine.raw().hex() not in repr(mine)
    assert PrivateKey.from_pem(mine.pem()).public == mine.public
