"""Opacus trains with local noise and our accountant; central noise is refused."""

import copy
import itertools
import math

import pytest
import torch
from opacus import PrivacyEngine

from shuffledp import (
    CheckIn,
    Gaussian,
    ParameterError,
    RandomAllocation,
    RegimeError,
    Rounds,
    Shuffled,
)
from shuffledp.accounting.curves import GDPCurve
from shuffledp.interop.opacus import (
    AllocationAccountant,
    AllocationEngine,
    AllocationSampler,
    SimulatedShuffleEngine,
    shuffle_accountant,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Secure RNG turned off"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing"),
]
USERS = 64


def _training(batch: int = 16) -> dict:
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(USERS, 3), torch.randint(0, 2, (USERS,)))
    model = torch.nn.Linear(3, 2)
    return {
        "module": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "data_loader": torch.utils.data.DataLoader(data, batch_size=batch),
        "max_grad_norm": 1.0,
    }


def _train(model, optimizer, loader, steps: int) -> None:
    for _ in range(steps):
        x, y = next(iter(loader))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def test_training_counts_every_step():
    engine = SimulatedShuffleEngine(n=USERS)
    private = engine.make_private(**_training(), noise_multiplier=3.0)
    before = [p.detach().clone() for p in private[0].parameters()]
    _train(*private, steps=5)
    assert any(not torch.equal(a, b) for a, b in zip(before, private[0].parameters(), strict=True))
    assert engine.accountant.history == [(3.0, 0.25, 5)]
    assert len(engine.accountant) == 5


def test_gradients_said_to_be_closer_are_in_no_ball() -> None:
    """Clipped to a norm they fill a ball of twice the norm; closer ones are only known to be close."""
    for sensitivity, space in ((2.0, "ball"), (3.0, "ball"), (1.0, "set")):
        protocol = shuffle_accountant(USERS, sensitivity)()._protocol(1.0, 1.0)
        assert protocol.randomizer == Gaussian(1.0, sensitivity, ball=space == "ball")


def test_one_batch_of_everybody_needs_no_sampling():
    engine = SimulatedShuffleEngine(n=USERS)
    private = engine.make_private(**_training(USERS), noise_multiplier=3.0, poisson_sampling=False)
    _train(*private, steps=1)
    assert engine.accountant.history == [(3.0, 1.0, 1)]
    assert 0.0 < engine.get_epsilon(1e-3) <= GDPCurve(2.0 / 3.0).epsilon(1e-3) * (1 + 1e-9)


def test_every_report_carries_noise_of_its_own():
    """64 reports of deviation 3: the sum has deviation 24 (8 * 10^4 samples, 10 sigma apart)."""
    engine = SimulatedShuffleEngine(n=USERS)
    given = _training(USERS)
    given["module"] = torch.nn.Linear(3, 20_000)
    given["optimizer"] = torch.optim.SGD(given["module"].parameters(), lr=0.0)
    model, optimizer, _ = engine.make_private(
        **given, noise_multiplier=3.0, poisson_sampling=False, loss_reduction="sum"
    )
    (model(torch.zeros(USERS, 3)) * 0.0).sum().backward()
    optimizer.step()
    noise = torch.cat([p.grad.flatten() for p in model.parameters()])
    assert float(noise.std()) == pytest.approx(24.0, rel=0.025, abs=0.0)


def test_central_noise_is_refused_before_the_step():
    accountant = shuffle_accountant(n=USERS)
    engine = PrivacyEngine(accountant=accountant.mechanism())
    model, optimizer, loader = engine.make_private(
        **_training(), noise_multiplier=3.0, poisson_sampling=False
    )
    before = [p.detach().clone() for p in model.parameters()]
    with pytest.raises(RegimeError, match="not Poisson samples"):
        _train(model, optimizer, loader, steps=1)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert len(engine.accountant) == 0


def test_clear_refusals():
    with pytest.raises(RegimeError, match="fixed"):
        SimulatedShuffleEngine(n=USERS).make_private(
            **_training(), noise_multiplier=3.0, poisson_sampling=False
        )
    with pytest.raises(ParameterError, match="data_loader"):
        SimulatedShuffleEngine(n=USERS + 1).make_private(**_training(), noise_multiplier=3.0)
    with pytest.raises(ParameterError, match="clipping"):
        SimulatedShuffleEngine(n=USERS).make_private(
            **_training() | {"max_grad_norm": [1.0, 1.0]},
            noise_multiplier=3.0,
            clipping="per_layer",
        )
    with pytest.raises(ParameterError, match="sigma"):
        shuffle_accountant(n=USERS)().step(noise_multiplier=0.0, sample_rate=0.1)
    with pytest.raises(ParameterError, match="n"):
        shuffle_accountant(n=0)


def test_state_goes_out_and_comes_back():
    kind = shuffle_accountant(n=USERS)
    accountant = kind()
    assert accountant.get_epsilon(1e-5) == 0.0
    for sigma, rate in [(3.0, 0.1), (3.0, 0.1), (4.0, 0.1), (3.0, 0.1)]:
        accountant.step(noise_multiplier=sigma, sample_rate=rate)
    state = copy.deepcopy(accountant.state_dict())
    other = kind()
    other.load_state_dict(state)
    assert other.history == [(3.0, 0.1, 2), (4.0, 0.1, 1), (3.0, 0.1, 1)]
    assert len(other) == 4
    with pytest.raises(ValueError, match="cannot be loaded"):
        shuffle_accountant(n=USERS + 1)().load_state_dict(state)
    assert shuffle_accountant(n=USERS) is kind


@pytest.mark.slow
def test_epsilon_is_the_composed_guarantee():
    accountant = shuffle_accountant(n=6000)()
    for _ in range(30):
        accountant.step(noise_multiplier=5.0, sample_rate=0.1)
    rounds = Rounds([(Shuffled(CheckIn(Gaussian(5.0, 2.0, ball=True), 0.1), 6000), 30)])
    found = rounds.epsilon(1e-5)
    assert accountant.get_epsilon(1e-5) == found.upper
    assert 0.0 < found.lower <= found.upper < math.inf


def test_every_example_is_in_one_batch_of_an_epoch():
    """A chi-square statistic of 400 epochs over 5 steps, 4 degrees of freedom: below 35, but once
    in two million runs."""
    torch.manual_seed(3)
    begun: list[int] = []
    sampler = AllocationSampler(20, 5, begun.append)
    counts = torch.zeros(5)
    for _ in range(400):
        batches = list(sampler)
        assert len(batches) == 5 == len(sampler)
        assert sorted(itertools.chain(*batches)) == list(range(20))
        counts += torch.tensor([len(batch) for batch in batches])
    assert begun == [5] * 400
    assert float(((counts - 1600.0) ** 2 / 1600.0).sum()) < 35.0


def test_training_by_random_allocation():
    engine = AllocationEngine()
    model, optimizer, loader = engine.make_private(**_training(4), noise_multiplier=2.0)
    assert len(loader) == 16
    for _ in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert engine.accountant.history == [(2.0, 1.0 / 16, 16)] * 3
    assert len(engine.accountant) == 48
    exact = (RandomAllocation(2.0, 16) ** 3).epsilon(1e-5)
    assert engine.get_epsilon(1e-5) == exact.upper
    next(iter(loader))  # an epoch left at once counts whole: its batches were drawn
    assert engine.get_epsilon(1e-5) == (RandomAllocation(2.0, 16) ** 4).epsilon(1e-5).upper
    again = AllocationAccountant()
    again.load_state_dict(engine.accountant.state_dict())
    assert again.get_epsilon(1e-5) == engine.get_epsilon(1e-5)


def test_steps_outside_an_epoch_are_refused():
    accountant = AllocationAccountant()
    assert accountant.get_epsilon(1e-5) == 0.0
    with pytest.raises(RegimeError, match="step 1 of an epoch of 4"):
        accountant.step(noise_multiplier=1.0, sample_rate=0.25)
    accountant.begin(2)
    for sigma in (3.0, 2.0):
        accountant.step(noise_multiplier=sigma, sample_rate=0.5)
    with pytest.raises(RegimeError, match="step 3 of an epoch of 2"):
        accountant.step(noise_multiplier=2.0, sample_rate=0.5)
    assert accountant.get_epsilon(1e-5) == RandomAllocation(2.0, 2).epsilon(1e-5).upper
    with pytest.raises(ParameterError, match="poisson_sampling"):
        AllocationEngine().make_private(**_training(), noise_multiplier=1.0, poisson_sampling=False)
