"""Files of keys, and keys in turn."""

import os
import stat
import threading
from pathlib import Path

import pytest

from shuffledp.errors import LostKeyError, ParameterError, ServiceError
from shuffledp.service.keys import (
    KeyRing,
    State,
    read_private,
    read_public,
    write_private,
    write_public,
)
from shuffledp.service.sealing import PrivateKey
from tests.service.made import key


def test_a_private_key_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.key"
    write_private(path, key("analyst"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_private(path).raw() == key("analyst").raw()
    with pytest.raises(ParameterError, match="never written over"):
        write_private(path, key("shuffler"))
    os.chmod(path, 0o640)
    with pytest.raises(ParameterError, match="mode 0600"):
        read_private(path)


@pytest.mark.parametrize("content", [b"", b"something", key("analyst").raw().hex().encode()])
def test_what_is_no_private_key(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.key"
    path.touch(mode=0o600)
    path.write_bytes(content)
    with pytest.raises(ParameterError, match="private X25519 key") as error:
        read_private(path)
    assert key("analyst").raw().hex() not in str(error.value)
    with pytest.raises(ParameterError, match="can be read"):
        read_private(tmp_path / "none")


def test_the_public_key_for_new_tasks_is_a_file(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    for _ in range(2):
        made = ring.rotate()
        assert read_public(tmp_path / "current.pub") == made == ring.current


def test_public_keys(tmp_path: Path) -> None:
    path = tmp_path / "a.pub"
    write_public(path, key("analyst").public)
    assert read_public(path) == key("analyst").public
    secret = tmp_path / "a.key"
    write_private(secret, key("analyst"))
    with pytest.raises(ParameterError, match="a public key") as error:
        read_public(secret)  # the wrong of two files: nothing of it is shown
    assert "PRIVATE" not in str(error.value)


def test_rotation_with_an_overlap(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys")
    with pytest.raises(ServiceError, match="no key"):
        _ = ring.current
    first = ring.rotate()
    other = KeyRing(tmp_path / "keys")
    second = ring.rotate()
    assert ring.current == second
    assert [each["state"] for each in ring.published()] == ["current", "accepted"]
    for each in (first, second):  # another process sees what was made since
        found = other.private(each.id)
        assert found is not None
        assert found.public == each
    with pytest.raises(ParameterError, match="not current"):
        ring.retire(second.id)
    ring.retire(first.id)
    assert not (tmp_path / "keys" / f"{first.id.hex()}.pem").exists()
    assert other.private(bytes(8)) is None
    assert other.private(first.id) is None
    assert (ring.state(first.id), ring.lost) == (State.RETIRED, [])
    with pytest.raises(LostKeyError, match="retired"):
        ring.check_kept(first.id)
    with pytest.raises(ParameterError, match="of this shuffler"):
        ring.retire(bytes(8))


def test_two_changes_at_once_are_both_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second comes while the first has read the list and not written it."""
    old = KeyRing(tmp_path).rotate()
    first, second = KeyRing(tmp_path), KeyRing(tmp_path)
    other = threading.Thread(target=lambda: second.rotate())

    def meanwhile(path: Path, key: PrivateKey) -> None:
        write_private(path, key)
        if not other.ident:
            other.start()
            other.join(0.3)  # as long as it needs, were it not made to wait

    monkeypatch.setattr("shuffledp.service.keys.write_private", meanwhile)
    first.rotate()
    other.join()
    assert len(KeyRing(tmp_path).accepted()) == 3
    KeyRing(tmp_path).retire(old.id)
    assert len(KeyRing(tmp_path).accepted()) == 2
    with pytest.raises(ParameterError, match="folder"):
        KeyRing(tmp_path / "none").retire(old.id)


def test_a_lost_key_is_said_to_be_lost(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    first = ring.rotate()
    (tmp_path / f"{first.id.hex()}.pem").unlink()
    ring = KeyRing(tmp_path)
    assert ring.lost == [first.id]
    with pytest.raises(LostKeyError, match=r"lost: its file is no longer .* never be opened"):
        ring.check_kept(first.id)
    with pytest.raises(LostKeyError, match="never had it"):
        ring.check_kept(bytes(8))


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"protocol": "shuffledp-keys-1", "keys": []}', '{"protocol": 2}']
)
def test_a_ring_that_cannot_be_read(tmp_path: Path, content: str) -> None:
    (tmp_path / "ring.json").write_text(content)
    with pytest.raises(ServiceError, match="list of keys"):
        KeyRing(tmp_path)


def test_a_file_of_another_key_is_found(tmp_path: Path) -> None:
    first = KeyRing(tmp_path).rotate()
    path = tmp_path / f"{first.id.hex()}.pem"
    path.unlink()
    write_private(path, key("analyst"))
    with pytest.raises(ServiceError, match="another key"):
        KeyRing(tmp_path)
