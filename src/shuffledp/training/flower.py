"""Shuffled check-in as a Flower app: a client mod and a strategy. Needs the extra 'fl'.

Flower's server sees the node id of every reply, and that a client stayed silent: it is not a
shuffler. The strategy forgets ids and mixes the reports before it uses them, so what it computes is
what an analyst behind a shuffler would compute; but the guarantee of shuffling holds only against
those who see no more than that. Against the Flower server itself, only a client's own noise
protects.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from shuffledp import checks
from shuffledp.errors import MissingExtraError, TrainingError
from shuffledp.training.accounting import CheckInRounds, Spent
from shuffledp.training.noise import Randomness, Secure

os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
try:
    from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
    from flwr.serverapp.strategy import FedAvg
except ImportError as error:
    raise MissingExtraError("fl", "The Flower app") from error

LABEL = (
    "SIMULATION of a shuffler: Flower's server sees who replied;"
    " epsilon holds against those who see"
    " only the shuffled reports"
)
_REPORT = "report"


class CheckInMod:
    """Client mod: stay silent, or clip the model's update in l2 and add Gaussian noise to it.

    Give it to ``ClientApp(mods=[...])``; the app inside trains as it likes and returns new arrays.
    Whatever else it returns, metrics included, does not leave the device, and messages other than
    "train" are answered with nothing. An app that fails, or returns what is no update, counts as an
    update of zero: silence would tell, as the account knows silence by coin only.
    """

    def __init__(
        self, *, clip: float, sigma: float, rate: float, randomness: Randomness | None = None
    ) -> None:
        self.clip = checks.positive("clip", clip)
        self.sigma = checks.positive("sigma", sigma)
        self.rate = checks.unit("rate", rate)
        self._randomness = randomness

    def __call__(
        self, message: Message, context: Context, call_next: Callable[[Message, Context], Message]
    ) -> Message:
        silent = Message(RecordDict(), reply_to=message)
        if message.metadata.message_type.partition(".")[0] != "train":
            return silent
        randomness = self._randomness or Secure()
        if not bool(randomness.coins(1, self.rate)[0]):
            return silent
        before = _vector(message.content)
        update = self._clipped(before, lambda: call_next(message, context))
        noisy = randomness.gaussian(
            torch.from_numpy(update), self.sigma * self.clip, 2.0 * self.clip
        )
        return Message(RecordDict({_REPORT: ArrayRecord([noisy.numpy()])}), reply_to=message)

    def _clipped(self, before: Any, train: Callable[[], Message]) -> Any:
        """What training changed, at most ``clip`` long; zero if that cannot be said."""
        nothing = np.zeros_like(before)
        try:
            reply = train()
            after = None if reply.has_error() else _vector(reply.content)
        except Exception:
            return nothing
        if after is None or after.shape != before.shape:
            return nothing
        with np.errstate(all="ignore"):
            update = after - before
            norm = float(np.linalg.norm(update))
        return update * min(1.0, self.clip / norm) if 0.0 < norm < np.inf else nothing


class ShuffledCheckIn(FedAvg):  # type: ignore[misc]
    """Strategy: send the model to every client, mix what comes back, average it, take a step."""

    label = LABEL

    def __init__(
        self,
        *,
        clients: int,
        clip: float,
        sigma: float,
        rate: float,
        delta: float,
        step: float = 1.0,
    ) -> None:
        super().__init__(
            fraction_train=1.0,
            fraction_evaluate=0.0,
            min_train_nodes=clients,
            min_available_nodes=clients,
        )
        self.clip, self.step, self.rounds = clip, checks.positive("step", step), 0
        self.account = CheckInRounds(sigma=sigma, clients=clients, rate=rate, delta=delta)
        self._arrays: ArrayRecord | None = None

    @property
    def spent(self) -> Spent:
        """The account so far, for those who see only shuffled reports."""
        return self.account.after(self.rounds)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: Any, grid: Any
    ) -> Iterable[Message]:
        self._arrays = arrays
        self.rounds += 1  # counted before anything is asked for
        messages: Iterable[Message] = super().configure_train(server_round, arrays, config, grid)
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        reports = [
            reply.content[_REPORT].to_numpy_ndarrays()[0]
            for reply in replies
            if not reply.has_error() and _REPORT in reply.content
        ]
        mixed = [reports[place] for place in Secure().permutation(len(reports))]
        metrics = MetricRecord({"reports": len(mixed)})
        if self._arrays is None or not mixed:
            return self._arrays, metrics
        size = sum(array.numpy().size for array in self._arrays.values())
        for report in mixed:
            if report.shape != (size,):
                raise TrainingError(f"A report has {report.size} numbers, the model {size}.")
        return _moved(self._arrays, self.step * np.mean(mixed, axis=0)), metrics


def _vector(content: RecordDict) -> Any:
    """All arrays of the one record, as one vector."""
    records = list(content.array_records.values())
    if len(records) != 1:
        raise TrainingError(f"A message must carry one ArrayRecord. Got {len(records)}.")
    return np.concatenate(
        [array.numpy().astype(np.float64).ravel() for array in records[0].values()]
    )


def _moved(arrays: ArrayRecord, change: Any) -> ArrayRecord:
    from flwr.app import Array

    moved, at = {}, 0
    for name, array in arrays.items():
        value = array.numpy()
        part = change[at : at + value.size].reshape(value.shape)
        moved[name] = Array((value + part).astype(value.dtype))
        at += value.size
    return ArrayRecord(moved)
