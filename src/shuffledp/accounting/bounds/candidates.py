"""Which theorems are worth asking about a randomizer."""

from __future__ import annotations

from shuffledp.accounting.bounds.shuffle_gaussian import is_gaussian
from shuffledp.accounting.bounds.theorem import Bound, get_bound
from shuffledp.accounting.randomizers import LDP, Randomizer, Repeated, Subsampled


def candidates(randomizer: Randomizer) -> tuple[list[Bound], list[Bound]]:
    """Bounds for the guaranteed end and for the leaked end."""
    proven, leaked = _ids(randomizer)
    return [get_bound(i) for i in proven], [get_bound(i) for i in leaked]


def _ids(randomizer: Randomizer) -> tuple[list[str], list[str]]:
    gaussian = is_gaussian(randomizer)
    if isinstance(randomizer, Repeated):
        return ["gaussian-unshuffled"] * gaussian + ["composition"], ["composition-dataset"]
    if isinstance(randomizer, Subsampled):
        leaked = ["shuffle-gaussian"] if gaussian else ["subsampled-dataset"]
        return ["gaussian-unshuffled"] * gaussian + ["subsampled"], leaked
    if gaussian:
        proven = ["blanket", "gaussian-unshuffled", "gaussian-approximate"]
        return proven, ["shuffle-gaussian", "dataset"]
    if isinstance(randomizer, LDP):
        leaked = ["dataset-2rr", "dataset-3rr"]
        if randomizer.delta0:
            return ["stronger-clones-approximate", "feldman-2021-approximate"], leaked
        return ["stronger-clones"], leaked
    return ["blanket", "stronger-clones"], ["dataset"]
