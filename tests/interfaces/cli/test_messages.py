"""What is said to the person at the terminal: options by name, directions, ratios, silence."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp import LDP, Gaussian, Repeated, Shuffled
from shuffledp.display.text import _apart
from shuffledp.interfaces.cli import main
from shuffledp.labels import Interval, get_theorem
from tests.interfaces.cli.test_commands import bad, good

GAUSSIAN = ("--mechanism", "gaussian")
TARGET = ("--epsilon", 1, "--delta", 1e-5)
SAMPLED = ("--mechanism", "sample-threshold", "--threshold", 20)
SUMS = ("--only-sums", "--delta", 1e-5)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("calibrate", *GAUSSIAN, "--n", 1000, *TARGET, "--check-in", 2), "--check-in must be"),
        (("calibrate", *GAUSSIAN, "--n", 1000, *TARGET, "--rounds", 0), "--rounds must be"),
        (("calibrate", *GAUSSIAN, "--n", 1000, *TARGET, "--sigma", 3), "--sigma must be left out"),
        (("calibrate", *GAUSSIAN, "--n", 1000, *TARGET, "--k", 3), "--k must be left out"),
        (("calibrate", *GAUSSIAN, *TARGET), "--n must be given. Nothing was given."),
        (
            ("calibrate", *GAUSSIAN, "--n", 1000, *TARGET, "--drawn", 100, "--check-in", 0.5),
            "--drawn must be left out with --check-in",
        ),
        (("calibrate", "--n", 1000, *TARGET, "--status", "FIXED_PAIR"), "--status must be PROVEN"),
        (
            ("account", *GAUSSIAN, "--sigma", 2, "--n", 1000, "--drawn", 5000, "--delta", 1e-5),
            "--drawn must be at most n = 1000",
        ),
        (
            ("account", "--eps0", 1, "--n", 10, "--check-in", 3, "--delta", 1e-5),
            "--check-in must be",
        ),
        (
            ("account", "--eps0", 1, "--n", 10, "--colluders", -1, "--delta", 1e-5),
            "--colluders must be an integer from 0",
        ),
        (
            ("account", "--eps0", 1, "--n", 10, "--budgets-hidden", "--delta", 1e-5),
            "--budgets-visible must be left out without --budgets",
        ),
        (("account", *SAMPLED, "--rate", 2, "--delta", 1e-5), "--rate must be a number strictly"),
        (
            ("account", "--eps0", 1, "--n", 10, "--drawn", 0, "--delta", 1e-5),
            "--drawn must be an integer from 1",
        ),
        (
            ("account", "--mechanism", "gaussian", "--sigma", 1, "--n", 9, *SUMS),
            "--mechanism must be rr, rappor, oue, discrete-laplace or noise-share",
        ),
        (
            ("account", "--mechanism", "rr", "--eps0", 1, "--n", 9, *SUMS, "--check-in", 0.5),
            "without --check-in or --drawn. Got 'binary randomized response",
        ),
        (("account", "--eps0", 1, "--n", 9), "Ask exactly one of --delta (to learn epsilon)"),
        (("account", "--eps0", 1, "--n", 9, *TARGET), "Got --delta and --epsilon"),
        (
            ("account", "--eps0", 1, "--n", 9, "--delta", 0.1, "--theorem", "strong-clones"),
            "(did you mean stronger-clones?)",
        ),
    ],
)
def test_errors_name_the_option(words: tuple[object, ...], said: str) -> None:
    assert said in bad(*words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*GAUSSIAN,), "--local-delta must be given"),
        (("--mechanism", "laplace", "--local-delta", 0.1), "--local-delta must be left out"),
        (("--mechanism", "laplace", "--k", 4), "--k must be left out"),
        ((), "--mechanism must be given with --budgets"),
    ],
)
def test_errors_about_budgets_name_the_option(
    tmp_path: Path, words: tuple[object, ...], said: str
) -> None:
    path = tmp_path / "users.csv"
    path.write_text("eps\n1\n2\n")
    found = bad("account", "--budgets", path, "--budgets-hidden", "--delta", 1e-5, *words)
    assert said in found
    assert "'some'" not in found


def test_sigma_for_the_pair_alone() -> None:
    words = ("calibrate", *GAUSSIAN, "--n", 1000, "--epsilon", 1, "--delta", 1e-2)
    sigmas = {}
    for kind in ((), ("--status", "fixed_pair")):
        out = good(*words, *kind).stdout
        sigmas[kind] = float(out.split("smallest sigma: ")[1].split()[0])
        assert f"sigma = {sigmas[kind]!r}," in out, "the same wherever it is shown"
        assert ("FIXED_PAIR" in out) == (kind == ("--status", "fixed_pair"))
    assert sigmas["--status", "fixed_pair"] < sigmas[()]


def test_a_count_may_be_written_with_an_exponent() -> None:
    good("account", "--mechanism", "krr", "--k", "1e9", "--eps0", 2, "--n", 100, "--epsilon", 1)


def test_as_a_module() -> None:
    words = [sys.executable, "-m", "shuffledp", "--version"]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("shuffledp")


def test_one_user_is_one_user() -> None:
    assert str(Shuffled(LDP(1.0), 1)).startswith("1 user,")
    assert str(Shuffled(LDP(1.0), 2)).startswith("2 users,")
    assert str(Repeated(Gaussian(1.0), 1)).endswith("1 round")
    assert Shuffled(Gaussian(1.0), 2) ** 1 == Shuffled(Gaussian(1.0), 2)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["ledger", "status"], "There are: init, spend, history, show"),
        (["ledger", "sped"], "Did you mean 'spend'?"),
        (["calibrate", "--mechanism", "ldp", "--epsilon", 1, "--delta", 1e-6], "or else eps0"),
    ],
)
def test_what_to_type_instead(words: list[object], hint: str) -> None:
    assert hint in bad(*words)


def _interval(quantity: str, lower: float, upper: float) -> Interval:
    ends = (get_theorem("blanket").value(x) for x in (lower, upper))
    return Interval(quantity, *ends)


def test_large_gaps_are_ratios() -> None:
    assert _apart(_interval("delta", 1e-9, 1.8e-5)) == "the guarantee is 18,000 times the leak"
    assert _apart(_interval("delta", 1e-30, 1e-3)) == "the guarantee is 1e+27 times the leak"
    assert _apart(_interval("delta", 0.0, 1.0)) == "one end is 0"
    assert _apart(_interval("epsilon", 0.9, 1.0)) == "the two ends differ by 10 %"
    assert "2.5 times" in _apart(_interval("tradeoff", 0.2, 0.5))


def test_a_direction_says_of_what() -> None:
    words = ("--eps0", 1, "--n", 1000, "--alpha", 0.05)
    assert (
        "UPPER for the privacy loss"
        in good("account", *words, "--theorem", "stronger-clones").stdout
    )
    assert "privacy loss" in good("compare", *words).stdout


def test_silence_has_reasons() -> None:
    result = good(
        "compare", *GAUSSIAN, "--sigma", 5, "--n", 60_000, "--check-in", 0.1, "--order", 8
    )
    said = " ".join(result.stderr.split())
    assert "theorems speak of other randomizers" in said
    assert "no answer from gaussian-approximate: " in said
    assert said.count("no answer from") < 15


def test_a_fault_of_ours_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**_options: object) -> None:
        raise KeyError("what a user holds")

    monkeypatch.setattr(main.commands["theorems"], "callback", fails)
    result = CliRunner().invoke(main, ["theorems"])
    assert result.exit_code == 70
    assert result.output.count("\n") == 1
    assert "KeyError in test_messages.py, line " in result.output
    assert "what a user holds" not in result.output
    monkeypatch.setenv("SHUFFLEDP_TRACEBACK", "1")
    assert isinstance(CliRunner().invoke(main, ["theorems"]).exception, KeyError)


def test_one_category_and_all_others_are_two(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("way\n" + "bus\ncar\n" * 300)
    words = ["run", data, "--column", "way", "--task", "histogram", "--epsilon", 1, "--delta", 1e-3]
    assert "bus" in good(*words, "--categories", "bus", "--other", "rest").stdout
    assert "a text file that is there" in bad(*words, "--categories", "nofile.txt")
