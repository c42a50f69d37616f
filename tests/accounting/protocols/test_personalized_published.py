"""HPS as published: its numbers, and the data sets that leak more."""

import numpy as np
import pytest

from shuffledp import LDP, Channel, Laplace, ParameterError, Shuffled, refute
from shuffledp.accounting.bounds import get_bound
from shuffledp.accounting.bounds.identity import delta_lower
from shuffledp.accounting.bounds.published_personalized import gaussian_hps, gdp_ccc, laplace_hps
from shuffledp.accounting.curves import GDPCurve
from shuffledp.accounting.protocols import published_budgets, published_hps
from shuffledp.accounting.randomizers.families import LaplaceFamily
from shuffledp.labels import Status
from shuffledp.research.reproduce import hps2024
from tests.oracles.personalized import published_delta

_UNIFORM2 = 0.5 + 1.5 * (np.arange(200) + 0.5) / 200
_UNIFORM2[-1] = 2.0
_FIFTY = np.full(200, 50)


@pytest.mark.parametrize(
    ("eps0", "epsilon", "claimed", "leaked"),
    [(4.0, 0.2, 1.7e-7, 1.4e-5), (5.0, 0.3, 3.5e-8, 9.6e-5)],
)
def test_refuted_for_equal_budgets(
    eps0: float, epsilon: float, claimed: float, leaked: float
) -> None:
    claim = Shuffled(Laplace(eps0=eps0), 10_000).bound("hps-2024", epsilon=epsilon)
    assert claim.status is Status.REFUTED
    assert claim.value == pytest.approx(claimed, rel=0.03, abs=0.0)
    found = refute(Laplace(eps0=eps0), 10_000, epsilon=epsilon, delta=claim.value)
    assert found.refuted
    assert found.delta == pytest.approx(leaked, rel=0.03, abs=0.0)


def test_refuted_in_the_papers_own_range() -> None:
    claim = laplace_hps(np.array([0.05, 1.0]), np.array([999, 1])).delta(0.1)
    assert claim == pytest.approx(2.0e-3, rel=0.03, abs=0.0)
    leaked = max(
        delta_lower(outcomes, 1000, 0.1, 1e-3)
        for scene in LaplaceFamily().datasets(1.0, 0.05)
        for outcomes in (scene.outcomes, scene.outcomes.swapped())
    )
    assert leaked > 3.2e-3 > 1.5 * claim


def test_the_registered_refutations_recompute() -> None:
    case = get_bound("hps-2024").theorem.refutation
    assert case is not None
    protocol = Shuffled(Laplace(eps0=case.parameters["eps0"]), int(case.parameters["n"]))
    epsilon = case.parameters["epsilon"]
    assert protocol.bound("hps-2024", epsilon=epsilon).value == pytest.approx(
        case.claimed, rel=0.03, abs=0.0
    )
    assert protocol.bound(case.witness, epsilon=epsilon).value == pytest.approx(
        case.leaked, rel=0.03, abs=0.0
    )


def test_table_2_follows_from_the_authors_program() -> None:
    program = gaussian_hps(_UNIFORM2, _FIFTY, 1e-10, program=True)
    printed = {0.01: 7e-4, 0.03: 2e-6, 0.05: 3e-10, 0.08: 1e-18, 0.1: 1e-25}
    for epsilon, delta in printed.items():
        assert program.delta(epsilon) == pytest.approx(delta, rel=0.25, abs=0.0)
    twice = GDPCurve(gdp_ccc(_UNIFORM2, _FIFTY, 1e-10).mu / 2**0.5)
    for epsilon, delta in {0.01: 0.0042, 0.03: 0.0007, 0.05: 5e-5, 0.08: 3e-7, 0.1: 3e-9}.items():
        assert twice.delta(epsilon) == pytest.approx(delta, rel=0.2, abs=0.0)


def test_theorem_1_and_theorem_2_agree() -> None:
    clones = laplace_hps(np.array([0.5, 1.0]), np.array([500, 500]))
    for alpha in (0.01, 0.1, 0.5):
        f = clones.tradeoff(alpha)
        for epsilon in (0.01, 0.05, 0.1):
            e = np.exp(epsilon)
            assert f >= 1 - clones.delta(epsilon) - e * alpha - 1e-3


def test_every_published_number_is_labelled() -> None:
    budgets = {0.5: 500, 1.0: 400, 2.0: 100}
    pure = {value.theorem: value for value in published_budgets(budgets, delta=1e-5)}
    assert set(pure) >= {
        "hps-2024",
        "ccc-2024-personal",
        "lzx-2023",
        "stronger-clones",
        "balle-2019-hoeffding",
    }
    assert pure["hps-2024"].status is Status.REFUTED
    assert pure["lzx-2023"].status is Status.HEURISTIC
    # a theorem about one shared randomizer proves nothing about users with different noise
    assert pure["stronger-clones"].status is Status.HEURISTIC
    approximate = {v.theorem for v in published_budgets(budgets, epsilon=0.1, delta0=1e-10)}
    assert approximate >= {"hps-2024", "ccc-2024-personal", "stronger-clones-approximate"}


@pytest.mark.parametrize(
    ("setting", "delta0", "printed"),
    [
        # what the authors' program prints for n = 1000 users at the quantiles of the setting
        ("Uniform1", 0.0, {"hps-2024": 0.1148, "ccc-2024-personal": 0.1661, "bgn": 0.1601}),
        ("Uniform1", 1e-10, {"hps-2024": 0.02756, "ccc-2024-personal": 0.1661}),
        ("Uniform2", 0.0, {"hps-2024": 0.1995, "ccc-2024-personal": 0.2158, "bgn": 0.5118}),
        ("Uniform2", 1e-10, {"hps-2024": 0.0999, "ccc-2024-personal": 0.2158}),
    ],
)
def test_figure_4_is_what_the_authors_program_draws(
    setting: str, delta0: float, printed: dict[str, float]
) -> None:
    budgets = hps2024._budgets(setting, 1000)
    found = published_budgets(budgets, delta=1e-5, delta0=delta0, program=True)
    values = {value.theorem.replace("balle-2019-hoeffding", "bgn"): value.value for value in found}
    for name, value in printed.items():
        assert values[name] == pytest.approx(value, rel=5e-3, abs=0.0)
    n = hps2024._USERS[1]  # one where our own interval is not asked for
    row = hps2024._figure_4_row(setting, n, pure=not delta0)
    assert row[3] < values["hps-2024"]  # type: ignore[operator]
    assert row[8] == pytest.approx(
        {
            v.theorem: v.value
            for v in published_budgets(hps2024._budgets(setting, n), delta=1e-5, delta0=delta0)
        }["hps-2024"]
    )


def test_figure_4_has_the_authors_numbers_of_users() -> None:
    assert len(hps2024._USERS) == 20
    assert (hps2024._USERS[0], hps2024._USERS[1], hps2024._USERS[-1]) == (1000, 1274, 100_000)


def test_a_delta_per_user() -> None:
    """One number is that number for everybody; the order of users does not matter; more is removed."""
    eps = [0.5] * 50 + [1.0] * 50

    def said(delta0: object) -> dict[str, float]:
        return {v.theorem: v.value for v in published_budgets(eps, epsilon=0.02, delta0=delta0)}

    assert said([1e-6] * 100) == said(1e-6)
    mixed = [1e-6] * 25 + [1e-2] * 25 + [1e-6] * 50
    assert said(mixed) == said(mixed[24::-1] + mixed[49:24:-1] + mixed[50:])
    assert said(mixed)["hps-2024"] != said(1e-6)["hps-2024"]
    assert said(mixed)["ccc-2024-personal"] > said(1e-6)["ccc-2024-personal"]
    with pytest.raises(ParameterError, match="one each"):
        said([1e-6] * 99)
    with pytest.raises(ParameterError, match="delta0"):
        said([1e-6] * 99 + [1.5])


@pytest.mark.parametrize("local", [0.0, 1e-3])
def test_hps_for_any_finite_randomizers(local: float) -> None:
    generator = np.random.default_rng(7)
    channels = [Channel(0.15 + generator.dirichlet(np.ones(4), size) * 0.4) for size in (3, 2, 4)]
    channels.sort(key=lambda channel: -channel.eps0)
    counts, deltas = [2, 3, 1], [local, 2 * local, 3 * local]
    users = np.repeat(np.arange(3), counts)
    for epsilon in (0.0, 0.05, 0.3):
        expected = published_delta(
            [channels[i].matrix for i in users], [deltas[i] for i in users], epsilon
        )
        given = deltas if local else 0.0
        for order in ([0, 1, 2], [2, 0, 1]):
            found = published_hps(
                [channels[i] for i in order],
                [counts[i] for i in order],
                epsilon=epsilon,
                deltas=[given[i] for i in order] if isinstance(given, list) else given,
            )
            assert found.value == pytest.approx(expected, rel=1e-6, abs=0.0)
            assert (found.status, found.theorem) == (Status.REFUTED, "hps-2024")


def test_hps_questions_are_checked() -> None:
    two = Channel(np.array([[0.75, 0.25], [0.25, 0.75]]))
    three = Channel(np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]))
    with pytest.raises(ParameterError, match="same outcomes"):
        published_hps([two, three], [5, 5], epsilon=0.1)
    with pytest.raises(ParameterError, match="one per channel"):
        published_hps([two], [5, 5], epsilon=0.1)
    with pytest.raises(ParameterError, match="exactly one"):
        published_hps([two], [5])
    claim = published_hps([two], [1000], delta=1e-6).value
    assert published_hps([two], [1000], epsilon=claim).value == pytest.approx(
        1e-6, rel=1e-3, abs=0.0
    )


def test_ccc_fails_in_the_limit_too() -> None:
    """So it is no asymptotic statement: a randomizer may reveal its value with probability delta0."""
    shuffled = Shuffled(LDP(1.0, delta0=1e-3), 10**12)
    assert shuffled.bound("ccc-2024-personal", epsilon=0.0).value < 1e-5
    assert get_bound("ccc-2024-personal").theorem.status is Status.REFUTED
