"""Whole runs: what is learnt, what is booked, what a killed run leaves behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from shuffledp.errors import BudgetExceededError, LedgerError, ParameterError, TrainingError
from shuffledp.ledger import Guarantee, Ledger
from shuffledp.training import CheckInTrainer, Dataset, FileBook, LedgerBook, ShuffledSGD, run
from shuffledp.training.models import perceptron

torch.set_num_threads(1)


def blobs(samples: int = 3000) -> Dataset:
    """Three clouds that a small network tells apart."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, samples)
    inputs = rng.normal(size=(samples, 4)) + 4.0 * np.eye(4)[labels]
    inputs = inputs.astype(np.float32)
    cut = samples * 2 // 3
    return Dataset(inputs[:cut], labels[:cut], inputs[cut:], labels[cut:])


DATA = blobs()


def sgd(simulation: bool = True, seed: int = 1, **changes: object) -> ShuffledSGD:
    options = {
        "eps0": 50.0,
        "blocks": 100,
        "epochs": 6,
        "unit": "sample",
        "clip": 10.0,
        "learning_rate": 0.5,
        **changes,
    }
    return ShuffledSGD(
        perceptron(4, 6, 3),
        DATA.train_inputs,
        DATA.train_labels,
        simulation=simulation,
        seed=seed if simulation else None,
        **options,  # type: ignore[arg-type]
    )


def check_in(simulation: bool = True, **changes: object) -> CheckInTrainer:
    options = {
        "sigma": 5.0,
        "rate": 0.5,
        "rounds": 20,
        "clip": 1.0,
        "learning_rate": 1.0,
        **changes,
    }
    return CheckInTrainer(
        perceptron(4, 6, 3),
        DATA.train_inputs,
        DATA.train_labels,
        simulation=simulation,
        seed=1 if simulation else None,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("simulation", [True, False])
@pytest.mark.parametrize("make", [sgd, check_in], ids=["sgd", "check-in"])
def test_learns(make: object, simulation: bool) -> None:
    trainer = make(simulation=simulation)  # type: ignore[operator]
    history = run(trainer, DATA, every=trainer.releases // 2)
    assert history.rows[-1].test_accuracy > 0.8
    assert [row.release for row in history.rows] == [trainer.releases // 2, trainer.releases]
    assert (history.rows[-1].train_accuracy is None) == (not simulation)
    assert ("SIMULATION" in history.to_dict()["randomness"]) == simulation
    json.dumps(history.to_dict(), allow_nan=False)


def test_noise_matters() -> None:
    """A control for the test above: with strong noise nothing is learnt."""
    assert run(sgd(eps0=0.01), DATA).rows[-1].test_accuracy < 0.8


def test_the_noise_of_a_client_hides_its_whole_block() -> None:
    assert sgd(unit="client").sensitivity == pytest.approx(20 * sgd().sensitivity)
    uneven = sgd(unit="client", blocks=800)  # 2000 samples: blocks of 2 and 3
    assert uneven.sensitivity == pytest.approx(2.0 * 10.0 * 3 / 800)


def test_stops_at_the_budget() -> None:
    budget = sgd(eps0=1.0).account.after(3).epsilon
    history = run(sgd(eps0=1.0), DATA, budget=budget)
    assert history.rows[-1].release == 3
    assert history.rows[-1].epsilon <= budget
    assert "exceed" in history.stopped
    assert run(sgd(eps0=1.0), DATA, budget=1e-3).rows == []


def test_momentum_makes_the_last_step_again_and_survives_a_stop(tmp_path: Path) -> None:
    """Two rounds by hand; then a resumed run is the same run."""
    start = torch.cat([p.detach().flatten() for p in check_in().model.parameters()])

    def moved(momentum: float, rounds: int) -> torch.Tensor:
        trainer = check_in(momentum=momentum, rounds=rounds, rate=1.0)
        run(trainer, DATA, every=rounds)
        return torch.cat([p.detach().flatten() for p in trainer.model.parameters()]) - start

    first = moved(0.5, 1)
    assert torch.equal(first, moved(0.0, 1))
    assert torch.allclose(moved(0.5, 2) - first, moved(0.0, 2) - first + 0.5 * first, atol=1e-6)
    whole, half, rest = (check_in(momentum=0.9, rounds=6) for _ in range(3))
    run(whole, DATA)
    run(half, DATA, folder=tmp_path, budget=half.account.after(3).epsilon)
    run(rest, DATA, folder=tmp_path)
    for ours, theirs in zip(rest.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    with pytest.raises(ParameterError, match="momentum"):
        run(check_in(rounds=6, momentum=0.8), DATA, folder=tmp_path)
    for momentum in (-0.1, 1.0, float("nan")):
        with pytest.raises(ParameterError, match="momentum"):
            check_in(momentum=momentum)


def test_a_resumed_simulation_is_the_same_run(tmp_path: Path) -> None:
    whole = sgd()
    run(whole, DATA)
    half = sgd()
    stop = half.account.after(3).epsilon
    run(half, DATA, folder=tmp_path, budget=stop)
    rest = sgd(seed=99)  # its generator's state comes from the checkpoint
    history = run(rest, DATA, folder=tmp_path)
    for ours, theirs in zip(rest.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert [row.release for row in history.rows] == [1, 2, 3, 4, 5, 6]
    log = (tmp_path / "log.csv").read_text().splitlines()
    assert log[0].startswith("release,epsilon,test_accuracy")
    assert len(log) == 7


def test_another_run_is_not_resumed(tmp_path: Path) -> None:
    run(sgd(), DATA, folder=tmp_path)
    with pytest.raises(ParameterError, match="eps0"):
        run(sgd(eps0=49.0), DATA, folder=tmp_path)
    (tmp_path / "book.json").unlink()
    with pytest.raises(TrainingError, match="book records 0"):
        run(sgd(), DATA, folder=tmp_path)
    (tmp_path / "book.json").write_text("{")
    with pytest.raises(TrainingError, match="not a book"):
        run(sgd(), DATA, folder=tmp_path)
    (tmp_path / "checkpoint.pt").write_bytes(b"no")
    with pytest.raises(TrainingError, match="not a checkpoint"):
        run(sgd(), DATA, folder=tmp_path)


def test_booked_before_made(tmp_path: Path) -> None:
    """The order of events: spend, release, checkpoint."""
    trainer, events = sgd(epochs=4), []
    release = trainer.release
    trainer.release = lambda: (events.append("release"), release())[1]  # type: ignore[method-assign]

    class Watched(FileBook):
        def spend(self, releases: int) -> None:
            events.append(f"spend {releases}")
            super().spend(releases)

    run(trainer, DATA, every=2, book=Watched(tmp_path / "book.json", {}))
    assert events == ["spend 2", "release", "release", "spend 4", "release", "release"]


@pytest.mark.parametrize("unit", ["sample", "client"])
def test_a_real_ledger_is_the_book(tmp_path: Path, unit: str) -> None:
    ledger = Ledger.open(tmp_path / "budgets.db")
    ledger.create("images", "9", "1e-5")
    trainer = sgd(False, eps0=2.0, epochs=4, unit=unit)
    book = LedgerBook(ledger, "images", "first run", trainer.account)
    run(trainer, DATA, every=2, book=book)
    with pytest.raises(ParameterError, match="protects nobody and spends nothing"):
        run(sgd(eps0=2.0, epochs=4, unit=unit), DATA, book=book)
    book.spend(4)  # as a resumed run would
    assert book.total() == 4
    assert len(ledger.history("images")) == 2
    lost = float(ledger.balance("images").lost["epsilon"])
    assert lost >= 0.999 * trainer.account.after(4).epsilon
    more = sgd(False, eps0=2.0, epochs=400, unit=unit)
    before = [p.clone() for p in more.model.parameters()]
    with pytest.raises(BudgetExceededError):
        run(more, DATA, every=400, book=LedgerBook(ledger, "images", "second", more.account))
    assert all(torch.equal(a, b) for a, b in zip(before, more.model.parameters(), strict=True))


def test_a_record_covers_its_releases_once(tmp_path: Path) -> None:
    """Made again they would be new ones: another run, other settings, a lost checkpoint."""
    ledger = Ledger.open(tmp_path / "budgets.db")
    ledger.create("images", "9", "1e-5")

    def begin(folder: str | None, eps0: float = 0.1, every: int = 1) -> None:
        trainer = sgd(False, eps0=eps0, epochs=3, unit="client")
        book = LedgerBook(ledger, "images", "a run", trainer.account)
        place = None if folder is None else tmp_path / folder
        run(trainer, DATA, folder=place, every=every, book=book)

    begin("first")
    begin("first")  # nothing is left to do
    for again in (None, "second"):
        with pytest.raises(TrainingError, match="new releases, which no record covers"):
            begin(again, every=3)
    with pytest.raises(LedgerError, match="of other settings"):
        begin("third", eps0=8.0)
    (tmp_path / "first" / "checkpoint.pt").unlink()
    for every in (1, 3):  # too far behind; and the log has shown more
        with pytest.raises(TrainingError, match="no record covers"):
            begin("first", every=every)
    ledger.spend("images", Guarantee("0.001"), rounds=3, label="other")
    trainer = sgd(eps0=0.1, epochs=3, unit="client")
    assert LedgerBook(ledger, "images", "other", trainer.account).total() == 0
    assert ledger.balance("images").spends == 4


def test_unusable_settings() -> None:
    for changes, name in (
        ({"blocks": 2001}, "blocks"),
        ({"eps0": 0.0}, "eps0"),
        ({"eps0": None, "simulation": False}, "eps0"),
        ({"unit": "user"}, "unit"),
        ({"clip": -1.0}, "clip"),
        ({"epochs": 0}, "epochs"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"delta": 1.0}, "delta"),
    ):
        with pytest.raises(ParameterError, match=name):
            sgd(**changes)
    for changes, name in (
        ({"rate": 0.0}, "rate"),
        ({"rate": 1.1}, "rate"),
        ({"sigma": 0}, "sigma"),
    ):
        with pytest.raises(ParameterError, match=name):
            check_in(**changes)
    with pytest.raises(ParameterError, match="seed"):
        ShuffledSGD(
            perceptron(4, 2, 3),
            DATA.train_inputs,
            DATA.train_labels,
            eps0=1.0,
            blocks=2,
            epochs=1,
            unit="sample",
            seed=1,
        )


def test_a_round_without_reports_changes_nothing_but_counts() -> None:
    trainer = check_in(rate=1e-9, rounds=2)
    before = [p.clone() for p in trainer.model.parameters()]
    history = run(trainer, DATA)
    assert all(torch.equal(a, b) for a, b in zip(before, trainer.model.parameters(), strict=True))
    assert history.spent.releases == 2


def test_divergence_is_an_error(tmp_path: Path) -> None:
    """It is seen, and so are the releases it came from: they are not made again under one record."""
    with pytest.raises(TrainingError, match="diverged"):
        run(sgd(eps0=0.001, learning_rate=1e38), DATA, folder=tmp_path)
    with pytest.raises(TrainingError, match="another folder"):
        run(sgd(eps0=0.001, learning_rate=1e38), DATA, folder=tmp_path)
    assert FileBook(tmp_path / "book.json", {}).total() == 1


def aligned(samples: int, value: float = 5.0, label: int = 0, **changes: object) -> ShuffledSGD:
    """One block whose gradients all point the same way; the last sample is as told."""
    inputs = np.full((samples, 1), 5.0, dtype=np.float32)
    labels = np.zeros(samples, dtype=np.int64)
    inputs[-1], labels[-1] = value, label
    options = {"eps0": 8.0, "blocks": 1, "epochs": 1, "unit": "sample", "clip": 0.1, **changes}
    model = torch.nn.Sequential(torch.nn.Linear(1, 2, bias=False))
    return ShuffledSGD(model, inputs, labels, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "label"), [(5.0, 0), (-5.0, 0), (np.nan, 0), (5.0, 2), (5.0, -3)]
)
def test_no_data_set_stops_a_release(value: float, label: int) -> None:
    """2,049 aligned gradients are 4,098 noise scales from zero; beside, a sample from nowhere."""
    trainer = aligned(2049, value, label)
    torch.nn.init.zeros_(trainer.model[0].weight)  # type: ignore[index]
    trainer.release()
    moved = trainer.model[0].weight.detach().abs().flatten() / 0.05  # type: ignore[index]
    assert (abs(moved - 2049 * 0.05) < 2.0).all()


def test_sizes_are_refused_before_anything_is_booked() -> None:
    with pytest.raises(ParameterError, match="clip"):
        aligned(3, clip=1e300)
    with pytest.raises(ParameterError, match="eps0"):
        aligned(3, eps0=1e-12)
    with pytest.raises(ParameterError, match="sigma"):
        check_in(sigma=1e12)


def test_noise_makes_up_for_rounding_in_a_long_sum() -> None:
    """A sum of b doubles is off by up to b of their roundings: b^2 in units of one sample."""
    one, many = aligned(2), aligned(2**16)
    assert one.sensitivity == pytest.approx(0.2)
    assert many.sensitivity >= 0.2 * (1 + 2.0**32 * 2.0**-53)


def test_killed_at_any_moment_and_resumed(tmp_path: Path) -> None:
    """Nothing is shown before it is booked. The careless one, a negative control, is found out."""
    manners = ["simulation", "secure", "careless"]
    found = subprocess.run(
        [sys.executable, "-m", "tests.training.killed", str(tmp_path / "run"), *manners],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert "The book records 0 releases, the checkpoint 1" in found.stderr
    assert found.returncode == 1
    lines = found.stdout.splitlines()
    for manner in manners[:2]:
        assert f"{manner} ended: shown 2, booked 2, resumed to 2" in lines, found.stderr
        assert {line for line in lines if line.startswith(f"{manner} killed")} == {
            f"{manner} killed: shown {shown}, booked {booked}, resumed to 2"
            for shown, booked in ((0, 0), (0, 1), (1, 1), (1, 2))
        }
