"""Every command: shapes, exit codes, streams."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from shuffledp import KRR, LDP, Shuffled
from shuffledp.accounting.randomizers.catalogue import OFFERED
from shuffledp.display.palette import COLOURS
from shuffledp.interfaces.cli import main
from shuffledp.labels import Status, outward


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def good(*words: object) -> Result:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result


def bad(*words: object) -> str:
    """An error on stderr, exit code 2, nothing on stdout, no traceback."""
    result = run(*words)
    assert result.exit_code == 2, (result.exit_code, result.output, result.exception)
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.strip() != ""
    return " ".join(result.stderr.split())


QUESTIONS = [
    ("--delta", 1e-6, "epsilon"),
    ("--epsilon", 0.1, "delta"),
    ("--order", 4, "renyi"),
    ("--alpha", 0.05, "tradeoff"),
]


@pytest.mark.parametrize(("option", "value", "quantity"), QUESTIONS)
def test_account_json(option: str, value: float, quantity: str) -> None:
    data = json.loads(good("account", "--eps0", 2, "--n", "1e4", option, value, "--json").stdout)
    assert {quantity, "status", "theorem", "n", "seconds"} <= data.keys()
    assert data["n"] == 10_000
    assert data["status"] == "PROVEN"
    assert data[quantity]["lower"] <= data[quantity]["upper"]
    expected = Shuffled(LDP(2.0), 10_000).ask(**{option[2:]: value})
    assert data[quantity]["upper"] == expected.upper
    assert data[quantity]["lower"] == expected.lower


def test_account_text() -> None:
    out = good("account", "--mechanism", "krr", "--k", 16, "--eps0", 2, "--n", 500, "--delta", 1e-6)
    assert "PROVEN" in out.stdout
    assert "blanket" in out.stdout
    expected = Shuffled(KRR(16, eps0=2.0), 500).epsilon(1e-6)
    assert f"{expected.upper:.6g}" in out.stdout


def test_account_one_theorem() -> None:
    words = (
        "account",
        "--eps0",
        1,
        "--n",
        1000,
        "--delta",
        1e-6,
        "--theorem",
        "feldman-2023-closed",
    )
    data = json.loads(good(*words, "--json").stdout)
    assert data["theorem"] == "feldman-2023-closed"
    assert data["direction"] == "UPPER"
    assert "feldman-2023-closed" in good(*words).stdout


def test_account_crowd() -> None:
    words = ("account", "--eps0", 1, "--n", 1000, "--epsilon", 0.1, "--json")
    data = json.loads(good(*words, "--colluders", 100, "--minimum-batch", 800).stdout)
    assert data["crowd"] == 700
    assert data["delta"]["upper"] == Shuffled(LDP(1.0), 700).delta(0.1).upper


EXAMPLES: dict[str, tuple[object, ...]] = {
    "ldp": ("--eps0", 1),
    "rr": ("--eps0", 1),
    "krr": ("--eps0", 1, "--k", 4),
    "laplace": ("--eps0", 1),
    "truncated-laplace": ("--eps0", 1),
    "discrete-laplace": ("--eps0", 1, "--levels", 3),
    "gaussian": ("--sigma", 2),
    "rappor": ("--eps0", 1, "--k", 4),
    "oue": ("--eps0", 1, "--k", 4),
    "olh": ("--eps0", 1),
    "hadamard": ("--eps0", 1),
    "subset": ("--eps0", 1, "--k", 6),
    "one-bit": ("--eps0", 1),
    "piecewise": ("--eps0", 1),
    "plateau": ("--eps0", 1, "--width", 0.3),
    "rounding": ("--eps0", 1, "--k", 5),
}


def test_every_mechanism_has_an_example() -> None:
    assert {*EXAMPLES, "channel"} == set(OFFERED)


@pytest.mark.parametrize("mechanism", EXAMPLES)
def test_mechanisms(mechanism: str) -> None:
    words = ("--mechanism", mechanism, *EXAMPLES[mechanism], "--n", 300, "--epsilon", 0.1, "--json")
    data = json.loads(good("account", *words).stdout)
    assert 0.0 < data["delta"]["lower"] <= data["delta"]["upper"] < 1.0
    assert data["status"] == "PROVEN"
    half = json.loads(good("account", *words, "--check-in", 0.5).stdout)
    assert half["delta"]["upper"] < data["delta"]["upper"]


def test_compare() -> None:
    words = ("compare", "--mechanism", "krr", "--k", 10, "--eps0", 3, "--n", 1000)
    found = json.loads(good(*words, "--delta", 1e-6, "--json").stdout)
    rows = found["bounds"]
    assert "requires eps0 <= 1/2" in found["no_answer"]["erlingsson-2019"]
    assert all({"theorem", "status", "direction", "value", "note"} <= row.keys() for row in rows)
    values = [row["value"] for row in rows]
    assert values == sorted(values)
    by_name = {row["theorem"]: row for row in rows}
    assert by_name["blanket"]["value"] < by_name["stronger-clones"]["value"]
    assert by_name["variation-ratio-2024"]["status"] == "REFUTED"
    result = good(*words, "--alpha", 0.05)
    assert "stronger-clones" in result.stdout
    assert "blanket" in result.stdout


def test_calibrate() -> None:
    words = ("calibrate", "--n", 10_000, "--epsilon", 0.5, "--delta", 1e-6)
    data = json.loads(good(*words, "--json").stdout)
    assert data["parameter"] == "eps0"
    assert Shuffled(LDP(data["eps0"]), 10_000).delta(0.5).upper <= 1e-6
    assert "eps0" in good(*words).stdout
    data = json.loads(
        good("calibrate", "--eps0", 2, "--epsilon", 0.5, "--delta", 1e-6, "--json").stdout
    )
    assert Shuffled(LDP(2.0), data["n"]).delta(0.5).upper <= 1e-6
    assert Shuffled(LDP(2.0), data["n"] - 2).delta(0.5).upper > 1e-6 * (1 - 1e-3)


LAPLACE = ("refute", "--mechanism", "laplace", "--eps0", 4, "--n", 10_000, "--epsilon", 0.2)


def test_refute() -> None:
    result = run(*LAPLACE, "--delta", 1e-6, "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 1
    assert {"refuted", "delta", "dataset", "searched"} <= data.keys()
    assert data["refuted"] is True
    assert data["delta"] >= 1.36e-5
    assert "all at 0" in data["dataset"]


def test_refute_stands() -> None:
    words = ("refute", "--mechanism", "krr", "--k", 5, "--eps0", 2, "--n", 100, "--epsilon", 0.2)
    assert json.loads(good(*words, "--delta", 0.5, "--json").stdout)["refuted"] is False
    assert "not refuted" in good(*words, "--delta", 0.5).stdout
    assert "REFUTED" in run(*words, "--delta", 1e-12).stdout


@pytest.mark.parametrize(
    ("epsilon", "verdict", "code"), [(0.5, "PROVEN", 0), (0.2, "REFUTED", 1), (3.0, "PROVEN", 0)]
)
def test_check(epsilon: float, verdict: str, code: int) -> None:
    words = ("check", *LAPLACE[1:-1], epsilon, "--delta", 1e-6)
    text, data = run(*words), run(*words, "--json")
    assert (text.exit_code, data.exit_code) == (code, code)
    found = json.loads(data.stdout)
    assert text.stdout.splitlines()[1].startswith(f"{found['verdict']}:")
    assert found["verdict"] == verdict
    assert outward(found["needed_epsilon"], up=True) in text.stdout
    assert (found["dataset"] or "") in text.stdout


def test_check_of_a_claim_between_both_ends() -> None:
    words = ("--mechanism", "laplace", "--eps0", 4, "--n", 200, "--delta", 1e-6)
    known = json.loads(good("account", *words, "--json").stdout)["epsilon"]
    middle = 0.5 * (known["lower"] + known["upper"])
    result = run("check", *words, "--epsilon", middle)
    assert result.exit_code == 3
    assert "OPEN" in result.stdout


def test_check_where_only_sums_are_seen() -> None:
    words = ("--mechanism", "rappor", "--k", 3, "--eps0", 2, "--n", 100, "--only-sums")
    known = json.loads(good("account", *words, "--delta", 1e-6, "--json").stdout)["epsilon"]
    for claim, code in ((1.001 * known["upper"], 0), (0.999 * known["lower"], 1)):
        assert run("check", *words, "--epsilon", claim, "--delta", 1e-6).exit_code == code


def test_theorems() -> None:
    rows = json.loads(good("theorems", "--json").stdout)["theorems"]
    assert {"id", "citation", "statement", "validity", "status"} <= rows[0].keys()
    names = [row["id"] for row in rows]
    assert {"blanket", "dataset", "variation-ratio", "stronger-clones"} <= set(names)
    assert len(names) == len(set(names))
    assert "blanket" in good("theorems").stdout
    shown = good("theorems", "variation-ratio-2024").stdout
    assert "REFUTED" in shown
    assert json.loads(good("theorems", "blanket", "--json").stdout)["status"] == "PROVEN"


def test_reproduce_list() -> None:
    items = json.loads(good("reproduce", "--list", "--json").stdout)["items"]
    assert items
    listed = good("reproduce", "--list").stdout
    assert all(name in listed for name in items)


def test_help_and_version() -> None:
    for words in ([], ["account"], ["compare"], ["calibrate"], ["refute"], ["theorems"]):
        assert "Usage" in good(*words, "--help").stdout
    assert "version" in good("--version").stdout


# --- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("account", "--eps0", 0, "--n", 10, "--delta", 1e-6), "--eps0 must be"),
        (
            ("ledger", "init", "c", "--store", "b", "--epsilon", "x", "--delta", 0),
            "--epsilon must be",
        ),
        (("account", "--eps0", "nan", "--n", 10, "--delta", 1e-6), "--eps0 must be"),
        (("account", "--eps0", "inf", "--n", 10, "--delta", 1e-6), "--eps0 must be"),
        (("account", "--eps0", 1, "--n", 0, "--delta", 1e-6), "--n must be"),
        (("account", "--eps0", 1, "--n", 1.5, "--delta", 1e-6), "--n must be"),
        (("account", "--eps0", 1, "--n", "many", "--delta", 1e-6), "not a number"),
        (("account", "--eps0", 1, "--n", 10, "--delta", 2), "--delta must be"),
        (("account", "--eps0", 1, "--n", 10, "--epsilon", -1), "--epsilon must be"),
        (("account", "--eps0", 1, "--n", 10, "--order", 1), "--order must be"),
        (("account", "--eps0", 1, "--n", 10, "--alpha", 1.5), "--alpha must be"),
        (("account", "--eps0", 1, "--n", 10), "--delta"),
        (("account", "--eps0", 1, "--n", 10, "--delta", 0.1, "--epsilon", 1), "exactly one"),
        (("account", "--n", 10, "--delta", 0.1), "--eps0 must be"),
        (("account", "--eps0", 1, "--delta", 0.1), "--n"),
        (("account", "--eps0", 1, "--n", 10, "--delta", 0.1, "--theorem", "fermat"), "fermat"),
        (
            ("account", "--eps0", 1, "--n", 10, "--delta", 0.1, "--colluders", 10),
            "--colluders must be",
        ),
        (
            ("account", "--eps0", 1, "--n", 9, "--delta", 0.1, "--minimum-batch", 10),
            "--minimum-batch must be",
        ),
        (("account", "--eps0", 1, "--n", 9, "--delta", 0.1, "--check-in", 0), "--check-in must be"),
        (("account", "--mechanism", "magic", "--n", 10, "--delta", 0.1), "magic"),
        (("account", "--mechanism", "krr", "--eps0", 1, "--n", 10, "--delta", 0.1), "--k must be"),
        (("account", "--eps0", 1, "--k", 3, "--n", 10, "--delta", 0.1), "--k must be"),
        (
            ("account", "--mechanism", "krr", "--eps0", 1, "--k", 1, "--n", 9, "--delta", 0.1),
            "--k must be",
        ),
        (("compare", "--eps0", 1, "--n", 10), "exactly one"),
        (("calibrate", "--epsilon", 0.5, "--delta", 1e-6), "--n must be"),
        (("calibrate", "--n", 9, "--eps0", 1, "--epsilon", 0.5, "--delta", 1e-6), "--n must be"),
        (("calibrate", "--n", 9, "--epsilon", 0, "--delta", 1e-6), "--epsilon must be"),
        ((*LAPLACE, "--delta", 0), "--delta must be"),
        (
            ("refute", "--mechanism", "laplace", "--n", 9, "--epsilon", 1, "--delta", 0.1),
            "--eps0 must be",
        ),
        (("theorems", "fermat"), "fermat"),
        (("reproduce",), "ITEM must be"),
        (("reproduce", "nothing"), "nothing"),
        (("dance",), "dance"),
    ],
)
def test_errors(words: tuple[object, ...], message: str) -> None:
    assert message in bad(*words)


def test_purity_is_needed() -> None:
    words = ("account", "--mechanism", "gaussian", "--sigma", 1, "--n", 10, "--epsilon", 0.1)
    assert "eps0" in bad(*words, "--theorem", "stronger-clones")


# --- channels -------------------------------------------------------------------------------


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "channel.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def ask(path: object) -> tuple[object, ...]:
    return ("account", "--mechanism", "channel", "--channel", path, "--n", 50, "--epsilon", 0.2)


def test_channel(tmp_path: Path) -> None:
    path = write(tmp_path, "0.5,0.25,0.25\n0.25, 0.5, 0.25\r\n\n0.25,0.25,0.5\n")
    data = json.loads(good(*ask(path), "--json").stdout)
    expected = Shuffled(KRR(3, eps0=math.log(2)), 50).delta(0.2)
    assert data["delta"]["upper"] == pytest.approx(expected.upper, rel=1e-3, abs=0.0)
    assert data["eps0"] == pytest.approx(math.log(2))


def test_channel_written_by_a_spreadsheet(tmp_path: Path) -> None:
    """A byte order mark is not a wrong number."""
    good(*ask(write(tmp_path, b"\xef\xbb\xbf0.75,0.25\r\n0.25,0.75\r\n")), "--json")


def test_channel_with_zeros_is_json_without_infinities(tmp_path: Path) -> None:
    data = json.loads(good(*ask(write(tmp_path, "0.5,0.5,0\n0.5,0,0.5\n")), "--json").stdout)
    assert data["eps0"] is None
    assert data["delta"]["upper"] >= 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5,0.5\n0.5,0.4\n", "row 2"),
        ("0.5,0.5\n1.5,-0.5\n", "row 2"),
        ("0.5,0.5\n0.5,nan\n", "row 2"),
        ("0.5,0.5\n0.5,0.25,0.25\n", "row 2"),
        ("a,b\n0.5,0.5\n", "row 1"),
        ("0.5,0.5\n", "two rows"),
        ("", "rows"),
        (b"\xff\xfe\x00\x01", "channel"),
        (b"0.5,0.5\n0.5,\x000.5\n", "row 2"),
    ],
)
def test_bad_channels(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert message in bad(*ask(write(tmp_path, text)))


def test_missing_channel(tmp_path: Path) -> None:
    assert "nowhere.csv" in bad(*ask(tmp_path / "nowhere.csv"))
    assert "channel" in bad(*ask(tmp_path))


# --- plots ----------------------------------------------------------------------------------

DEPLOYMENT = ("--mechanism", "krr", "--k", 4, "--eps0", 1, "--n", 200)


@pytest.mark.parametrize(
    ("command", "suffix"), [("account", "png"), ("compare", "svg"), ("compare", "pdf")]
)
def test_plot(tmp_path: Path, command: str, suffix: str) -> None:
    path = tmp_path / f"picture.{suffix}"
    good(command, *DEPLOYMENT, "--epsilon", 0.2, "--plot", path)
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(start)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "name", ["missing/picture.png", "picture.gif", "picture", "x" * 300 + ".png"]
)
@pytest.mark.parametrize("command", ["account", "compare"])
def test_unwritable_plot(tmp_path: Path, command: str, name: str) -> None:
    assert "plot" in bad(command, *DEPLOYMENT, "--epsilon", 0.2, "--plot", tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_plot_onto_a_folder(tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    bad("account", *DEPLOYMENT, "--epsilon", 0.2, "--plot", tmp_path / "folder.png")
    assert [p.name for p in tmp_path.iterdir()] == ["folder.png"]


def test_plot_where_nothing_can_be_written() -> None:
    assert "plot" in bad("account", *DEPLOYMENT, "--epsilon", 0.2, "--plot", "/proc/picture.png")


def test_what_was_asked_is_shown_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A delta is not proven at a smaller epsilon than the one asked about, nor the other way round."""
    asked = ("--eps0", 2, "--n", 1000)
    assert "at epsilon = 0.1234564999" in good("account", *asked, "--epsilon", 0.1234564999).stdout
    assert "at delta = 1.2345649e-06" in good("account", *asked, "--delta", 1.2345649e-6).stdout
    assert "at delta = 3e-06" in good("account", *asked, "--delta", 3e-6).stdout
    line = ("refute", *asked, "--mechanism", "krr", "--k", 3, "--delta", 0.1)
    assert "delta(0.1234564999)" in good(*line, "--epsilon", 0.1234564999).stdout
    titles: list[str] = []
    monkeypatch.setattr("shuffledp.display.plot.save_figure", lambda *_: None)
    monkeypatch.setattr("matplotlib.figure.Figure.suptitle", lambda _, t, **__: titles.append(t))
    good("account", *asked, "--delta", 1.2345649e-6, "--plot", tmp_path / "x.png")
    assert titles[0].endswith("at delta = 1.2345649e-06")


def test_the_smallest_sigma_is_one_number() -> None:
    words = ("--mechanism", "gaussian", "--n", 1000, "--epsilon", 0.05, "--delta", 1e-6)
    smallest, used = re.findall(r"sigma(?::| =) ([\d.]+)", good("calibrate", *words).stdout)
    assert smallest == used


@pytest.mark.parametrize("mechanism", ["ldp", "gaussian"])
def test_what_was_checked_is_seen_to_be_below(mechanism: str) -> None:
    target = ("--epsilon", 0.02, "--delta", 1e-6, "--n", 10_000, "--mechanism", mechanism)
    (line,) = [x for x in good("calibrate", *target).stdout.splitlines() if "checked" in x]
    shown, aim = re.findall(r"(\S+) <= (\S+) \(", line)[0]
    assert float(shown) < float(aim)


def test_every_status_has_a_colour_of_its_own() -> None:
    assert set(COLOURS) == {status.value for status in Status}
    assert len(set(COLOURS.values())) == len(COLOURS)


def test_the_audit_offers_what_it_takes() -> None:
    shown = good("audit", "--help").stdout
    for option in ("--check-in", "--rounds", "--drawn", "--delta0"):
        assert option not in shown


def test_help_lists_every_command_once_and_cuts_no_summary() -> None:
    page = good("--help").stdout
    for name, command in main.commands.items():
        assert len(re.findall(rf"^  {name} ", page, re.MULTILINE)) == 1
        assert (command.help or "").split("\n\n")[0].split()[-1] in page
    assert "..." not in page.replace("[ARGS]...", "")


def test_a_mistyped_command_is_guessed() -> None:
    found = CliRunner().invoke(main, ["acount"])
    assert found.exit_code == 2
    assert "Did you mean 'account'?" in found.output
