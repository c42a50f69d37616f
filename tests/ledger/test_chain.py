"""Rows altered, files damaged, formats of old: seen and said, never a traceback."""

import hashlib
import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from shuffledp import KRR, LedgerError, ParameterError, Shuffled, ShuffleDPError
from shuffledp.interfaces.cli import main
from shuffledp.ledger import Guarantee, Ledger, planned, renyi
from tests.ledger.ages import aged

DAILY = Shuffled(KRR(16, eps0=1.0), n=10_000)


def _run(store: str, command: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["ledger", command, "--store", store, *arguments])


def _filled(ledger: Ledger) -> list[str]:
    """Three spends; their digests."""
    ledger.create("users", "2", "1e-6")
    ledger.create("others", "1", "1e-6", renyi(order=30.0))
    return [
        str(ledger.spend("users", Guarantee("0.1"), label=f"no {i}", reports=[f"batch {i}"]).digest)
        for i in range(3)
    ]


def _altered(ledger: Ledger, *statements: str) -> None:
    with ledger.store.transaction(write=True) as execute:
        for statement in statements:
            execute(statement)


TABLES = ("releases", "links", "spends", "losses", "rules", "cohorts")
ALTERATIONS = {
    "total": ["UPDATE shuffledp_cohorts SET epsilon = '3' WHERE name = 'users'"],
    "delta": ["UPDATE shuffledp_cohorts SET delta = '0.5' WHERE name = 'users'"],
    "rule": [
        "UPDATE shuffledp_rules SET rule = '{\"name\":\"undeclared\"}' WHERE cohort = 'users'"
    ],
    "created": ["UPDATE shuffledp_cohorts SET created = 'x' WHERE name = 'users'"],
    "first lost": ['UPDATE shuffledp_spends SET lost = \'{"epsilon":"0","delta":"0"}\''],
    "first label": ["UPDATE shuffledp_spends SET label = 'x' WHERE number = 1"],
    "first rounds": ["UPDATE shuffledp_spends SET rounds = 7 WHERE number = 1"],
    "date": ["UPDATE shuffledp_spends SET recorded = 'x' WHERE number = 2"],
    "key": ["UPDATE shuffledp_spends SET key = 'x' WHERE number = 2"],
    "theorem": ["UPDATE shuffledp_spends SET theorem = 'x' WHERE number = 2"],
    "kind": ['UPDATE shuffledp_losses SET description = \'{"epsilon":"0.01","delta":"0"}\''],
    "sum": ["UPDATE shuffledp_losses SET rounds = 1"],
    "reports": ["UPDATE shuffledp_releases SET reports = 'x' WHERE number = 1"],
    "released": ["DELETE FROM shuffledp_releases WHERE number = 1"],
    "middle gone": [
        "DELETE FROM shuffledp_releases WHERE number = 2",
        "DELETE FROM shuffledp_spends WHERE number = 2",
    ],
    "last gone": [
        "DELETE FROM shuffledp_releases WHERE number = 3",
        "DELETE FROM shuffledp_spends WHERE number = 3",
    ],
    "digest": ["UPDATE shuffledp_links SET digest = 'x' WHERE number = 2"],
    "no digest": ["DELETE FROM shuffledp_links WHERE number = 2"],
    "no first digest": ["DELETE FROM shuffledp_links WHERE number = 0"],
}


def test_every_alteration_is_seen(ledger: Ledger, store: str) -> None:
    for name, statements in ALTERATIONS.items():
        _filled(ledger)
        assert not any(found.problems for found in ledger.verify())
        _altered(ledger, *statements)
        users, others = ledger.verify("users", "others")
        assert users.problems, name
        assert not others.problems or name == "no first digest", name  # chains are apart
        if name in ("total", "delta", "rule", "first lost", "last gone"):  # seen at once
            with pytest.raises(LedgerError, match="altered"):
                ledger.spend("users", Guarantee("0.1"))
            assert ledger.spend("others", Guarantee("0.1")).number == 1
        said, data = _run(store, "verify", "users"), _run(store, "verify", "users", "--json")
        assert (said.exit_code, data.exit_code) == (1, 1)
        assert "NOT sound" in said.stdout
        told = json.loads(data.stdout)
        assert not told["sound"]
        assert told["cohorts"] == [users.to_dict()]
        for problem in users.problems:
            assert f"users: PROBLEM: {problem}" in said.stdout
        _altered(ledger, *(f"DELETE FROM shuffledp_{table}" for table in TABLES))


def test_a_kept_digest_tells_of_a_store_rewritten_whole(tmp_path: Path) -> None:
    """The chain alone cannot: whoever writes every row anew has a sound one."""
    store = str(tmp_path / "book.db")
    kept = _filled(Ledger.open(store))
    assert _run(store, "verify", "--digest", kept[0], "--digest", kept[-1]).exit_code == 0
    os.unlink(store)
    forged = Ledger.open(store)
    forged.create("users", "2", "1e-6")
    forged.spend("users", Guarantee("0.1"))
    assert _run(store, "verify").exit_code == 0
    said = _run(store, "verify", "--digest", kept[-1])
    assert said.exit_code == 1
    assert f"no chain holds the digest {kept[-1]}" in said.stdout
    data = json.loads(_run(store, "verify", "--digest", kept[-1], "--json").stdout)
    assert (data["sound"], data["missing_digests"]) == (False, [kept[-1]])


def test_a_ledger_of_the_second_format_is_read_and_never_called_adaptive(
    ledger: Ledger, store: str
) -> None:
    ledger.create("users", "2", "1e-6")
    ledger.spend("users", DAILY, reports=["a"])
    ledger.spend("users", Guarantee("0.1"))
    aged(ledger, 2)
    old = Ledger.open(store)
    before = old.balance("users")
    assert before.rule.name == "undeclared"
    assert not before.to_dict()["adaptive"]
    assert not any(receipt.to_dict()["adaptive"] for receipt in old.history("users"))
    assert "only if all spends were fixed in advance" in before.rule.promise
    assert [receipt.reports for receipt in old.history("users")] == [("a",), ()]
    said, data = _run(store, "verify"), _run(store, "verify", "--json")
    assert (said.exit_code, data.exit_code) == (4, 4)  # nobody is accused of anything
    assert "users: not known: format 2 has no chain yet" in said.stdout
    assert "cannot be told" in said.stdout
    assert "PROBLEM" not in said.stdout
    told = json.loads(data.stdout)
    assert told["sound"] is None
    assert (told["cohorts"][0]["problems"], told["cohorts"][0]["unknown"][:8]) == ([], "format 2")
    assert _run(store, "verify", "--digest", "x").exit_code == 1
    assert _run(store, "verify", "nobody").exit_code == 2
    assert "fixed in advance" in " ".join(_run(store, "show").stdout.split())
    receipt = old.spend("users", Guarantee("0.2"))
    assert (receipt.number, receipt.rule.name) == (3, "undeclared")
    assert receipt.lost["epsilon"] > before.lost["epsilon"]
    assert [found.problems for found in old.verify()] == [()]
    old.create("new", "1", "0")
    assert old.balance("new").rule.name == "sum"
    assert old.balance("users").rule.name == "undeclared"
    with pytest.raises(LedgerError, match="released before"):
        old.spend("users", DAILY, reports=["a", "b"])


def test_making_a_cohort_brings_an_old_ledger_up_too(ledger: Ledger) -> None:
    ledger.create("users", "2", "1e-6")
    ledger.spend("users", Guarantee("0.1"))
    aged(ledger, 1)
    ledger.create("new", "1", "0", planned(Guarantee("0.5")))
    assert [found.problems for found in ledger.verify()] == [(), ()]
    assert ledger.balance("users").rule.name == "undeclared"


@pytest.mark.parametrize("stamp", [1, 2])
def test_a_stamp_of_an_older_format_is_not_believed(ledger: Ledger, store: str, stamp: int) -> None:
    """It would hide the chain, and the next spend would begin another."""
    kept = _filled(ledger)
    _altered(
        ledger,
        "DELETE FROM shuffledp_ledger",
        f"INSERT INTO shuffledp_ledger (version) VALUES ({stamp})",
    )
    wrong = f"stamped as format {stamp}, and has rows of format 3"
    for attempt in (
        lambda: ledger.spend("users", Guarantee("0.1")),
        lambda: ledger.create("new", "1", "0"),
        lambda: ledger.balance("users"),
        ledger.export,
    ):
        with pytest.raises(LedgerError, match=wrong):
            attempt()
    said = _run(store, "verify", "--digest", kept[-1])
    assert said.exit_code == 1
    assert wrong in said.stdout
    assert "no chain holds" not in said.stdout
    assert json.loads(_run(store, "verify", "--json").stdout)["sound"] is False


def test_a_stamp_that_is_gone_is_not_made_anew(ledger: Ledger) -> None:
    _filled(ledger)
    _altered(ledger, "DELETE FROM shuffledp_ledger")
    for attempt in (
        lambda: ledger.create("new", "1", "0"),
        lambda: ledger.spend("users", Guarantee("0.1")),
        ledger.verify,
    ):
        with pytest.raises(LedgerError, match="has format None"):
            attempt()


def test_an_old_ledger_keeps_the_numbers_it_wrote(ledger: Ledger) -> None:
    """Older versions wrote 5E+1 for 50: other text, of which digests are made."""
    ledger.create("users", "50", "1e-6")
    ledger.spend("users", Guarantee("20"))
    old = '{"delta":"0","epsilon":"2E+1"}'
    kind = hashlib.sha256(old.encode()).hexdigest()
    _altered(
        ledger,
        "UPDATE shuffledp_cohorts SET epsilon = '5E+1'",
        f"INSERT INTO shuffledp_losses (cohort, digest, description, rounds)"
        f" VALUES ('users', '{kind}', '{old}', 1)",
        f"UPDATE shuffledp_spends SET digest = '{kind}'",
        f"DELETE FROM shuffledp_losses WHERE digest <> '{kind}'",
    )
    aged(ledger, 2)
    ledger.spend("users", Guarantee("20"))
    assert [found.problems for found in ledger.verify()] == [()]
    assert ledger.balance("users").to_dict()["epsilon"] == "50"
    ledger.spend("users", Guarantee("1"))
    assert [found.problems for found in ledger.verify()] == [()]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_files_are_for_their_owner_alone(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        ledger = Ledger.open(tmp_path / "book.db")
        ledger.create("users", "1", "0")
        with ledger.store.transaction(write=True) as execute:
            execute("SELECT 1")
            ledger.balance("users")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert {"book.db", "book.db-wal", "book.db-shm"} == set(modes)
    assert set(modes.values()) == {0o600}


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_an_empty_file_becomes_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.touch(0o644)
    Ledger.open(path).create("users", "1", "0")
    assert _mode(path) == 0o600
    path.chmod(0o640)  # what the owner then allows is the owner's
    Ledger.open(path).create("others", "1", "0")
    assert _mode(path) == 0o640


@pytest.mark.parametrize("content", [b"x", b"a note that is kept\n", b"x" * 511])
def test_what_a_short_file_holds_is_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "book.db"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="not a database"):
        Ledger.open(path).create("users", "1", "0")
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="a database of another program"):
        Ledger.open(path).create("users", "1", "0")
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["theirs.db"]


def test_a_ledger_under_two_names_is_refused(tmp_path: Path) -> None:
    """Each hard link has a log of its own: two could both spend the last of a budget."""
    first, second = tmp_path / "a.db", tmp_path / "b.db"
    ledger = Ledger.open(first)
    ledger.create("users", "0.3", "0")
    with ledger.store.transaction(write=False) as execute:  # the log is kept while it is open
        execute("SELECT 1 FROM shuffledp_cohorts")
        os.link(first, second)
        for path in (first, second):
            for attempt in (
                lambda p=path: Ledger.open(p).spend("users", Guarantee("0.2")),
                lambda p=path: Ledger.open(p).balance("users"),
                lambda p=path: Ledger.open(p).create("others", "1", "0"),
            ):
                with pytest.raises(LedgerError, match="2 hard links"):
                    attempt()
    second.unlink()
    second.symlink_to(first)
    assert ledger.spend("users", Guarantee("0.2")).number == 1
    with pytest.raises(LedgerError, match="may lose epsilon"):
        Ledger.open(second).spend("users", Guarantee("0.2"))


def test_exports_are_their_owners_alone(tmp_path: Path) -> None:
    store = str(tmp_path / "book.db")
    _filled(Ledger.open(store))
    files = tmp_path / "b.json", tmp_path / "b.csv"
    done = _run(store, "export", "--json-file", str(files[0]), "--csv-file", str(files[1]))
    assert done.exit_code == 0
    assert [_mode(path) for path in files] == [0o600, 0o600]


FIELDS = {
    "epsilon": "UPDATE shuffledp_cohorts SET epsilon = 'abc'",
    "no epsilon": "UPDATE shuffledp_cohorts SET epsilon = ''",
    "negative": "UPDATE shuffledp_cohorts SET epsilon = '-1'",
    "blob": "UPDATE shuffledp_cohorts SET epsilon = x'00ff'",
    "delta": "UPDATE shuffledp_cohorts SET delta = 'NaN'",
    "created": "UPDATE shuffledp_cohorts SET created = x'00'",
    "name": "UPDATE shuffledp_cohorts SET name = x'00'",
    "rule": "UPDATE shuffledp_rules SET rule = '{'",
    "no rule": "DELETE FROM shuffledp_rules",
    "rule of numbers": "UPDATE shuffledp_rules SET rule = '[1]'",
    "rule unheard of": 'UPDATE shuffledp_rules SET rule = \'{"name":"best"}\'',
    "rule with more": 'UPDATE shuffledp_rules SET rule = \'{"name":"sum","x":1}\'',
    "rule deep": "UPDATE shuffledp_rules SET rule = '" + "[" * 100_000 + "'",
    "lost": "UPDATE shuffledp_spends SET lost = 'abc'",
    "lost nan": 'UPDATE shuffledp_spends SET lost = \'{"epsilon":"NaN","delta":"0"}\'',
    "lost infinite": 'UPDATE shuffledp_spends SET lost = \'{"epsilon":"Infinity","delta":"0"}\'',
    "lost other": 'UPDATE shuffledp_spends SET lost = \'{"epsilon":"0"}\'',
    "lost list": 'UPDATE shuffledp_spends SET lost = \'{"epsilon":[],"delta":{}}\'',
    "rounds": "UPDATE shuffledp_spends SET rounds = 1.5",
    "number": "UPDATE shuffledp_spends SET number = 'x'",
    "label": "UPDATE shuffledp_spends SET label = x'00'",
    "key": "UPDATE shuffledp_spends SET key = x'00'",
    "recorded": "UPDATE shuffledp_spends SET recorded = 5",
    "description": "UPDATE shuffledp_losses SET description = '{}'",
    "description list": "UPDATE shuffledp_losses SET description = '[]'",
    "description number": "UPDATE shuffledp_losses SET description = '7'",
    "description blob": "UPDATE shuffledp_losses SET description = x'00'",
    "reports": "UPDATE shuffledp_releases SET reports = x'00'",
    "release": "UPDATE shuffledp_releases SET number = 'x'",
    "digest": "UPDATE shuffledp_links SET digest = x'00'",
    "link": "UPDATE shuffledp_links SET number = 'x' WHERE number = 0",
    "version": "UPDATE shuffledp_ledger SET version = 99",
    "no version": "DELETE FROM shuffledp_ledger",
    "no table": "DROP TABLE shuffledp_links",
    "no column": "ALTER TABLE shuffledp_spends RENAME COLUMN lost TO found",
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_damaged_field_is_said(tmp_path: Path, name: str) -> None:
    store = str(tmp_path / "book.db")
    ledger = Ledger.open(store)
    ledger.create("users", "2", "1e-6")
    ledger.spend("users", Guarantee("0.1"), key="k", reports=["a"])
    connection = sqlite3.connect(store)
    with connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(FIELDS[name])
    connection.close()
    codes = _all_commands(store)
    assert codes["verify"] in (1, 2)
    assert codes["spend"] == 2 or name in ("reports", "release", "description")
    if name == "epsilon":
        said = _run(store, "show").stderr
        assert "holds 'abc' as the epsilon of the cohort 'users'" in said


def _all_commands(store: str) -> dict[str, int]:
    """Every command ends in order, with one line where it cannot do its work."""
    codes = {}
    for command, *arguments in (
        ["verify"],
        ["verify", "--json"],
        ["show"],
        ["show", "users", "--epsilon", "0.1"],
        ["export"],
        ["spend", "users", "--epsilon", "0.1", "--key", "k"],
        ["spend", "users", "--epsilon", "0.1"],
        ["init", "new", "--epsilon", "1", "--delta", "0"],
    ):
        result = _run(store, command, *arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            command,
            result.exception,
        )
        assert result.exit_code in (0, 1, 2)
        if result.exit_code == 2:
            assert result.stderr.startswith("Error: "), result.stderr
        codes[command] = result.exit_code
    return codes


def _text_file(path: Path) -> None:
    path.write_text("no database at all, but long enough to be read as a header" * 9)


def _truncated(path: Path) -> None:
    ledger = Ledger.open(path)
    _filled(ledger)
    size = path.stat().st_size
    with path.open("rb+") as file:
        file.truncate(size // 2 + 100)


def _overwritten(path: Path) -> None:
    _filled(Ledger.open(path))
    with path.open("rb+") as file:
        file.seek(4096 + 50)
        file.write(os.urandom(20_000))


def _foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE shuffledp_ledger (version TEXT)")
    connection.execute("CREATE TABLE shuffledp_cohorts (x)")
    connection.commit()
    connection.close()


def _folder(path: Path) -> None:
    path.mkdir()


def _closed_folder(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path.write_bytes(b"")
    path.chmod(0)


@pytest.mark.parametrize(
    "make", [_text_file, _truncated, _overwritten, _foreign, _folder, _closed_folder, Path.touch]
)
def test_files_that_are_no_ledgers(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "book.db"
    make(path)
    for command in (["show"], ["verify"], ["export"], ["spend", "users", "--epsilon", "0.1"]):
        result = _run(str(path), *command)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert result.exit_code in (1, 2), result.output
    made = _run(str(path), "init", "users", "--epsilon", "1", "--delta", "0")
    assert made.exception is None or isinstance(made.exception, SystemExit)


@pytest.mark.parametrize("store", ["", "a\0b", None, 5])
def test_stores_that_are_no_paths(store: object) -> None:
    with pytest.raises(ParameterError, match="'store'"):
        Ledger.open(store)  # type: ignore[arg-type]


def test_folders_nobody_may_enter(tmp_path: Path) -> None:
    too_long = tmp_path / ("x" * 300) / "book.db"
    below_a_file = tmp_path / "file" / "book.db"
    (tmp_path / "file").write_text("")
    for path in (too_long, below_a_file, tmp_path / ("y" * 300)):
        for attempt in (Ledger.open(path).cohorts, lambda p=path: Ledger.open(p).create("u", 1, 0)):
            with pytest.raises(ShuffleDPError):
                attempt()


def test_a_copy_goes_on_as_another_book(tmp_path: Path) -> None:
    """Two branches of one chain: kept digests tell which is whose."""
    first = Ledger.open(tmp_path / "a.db")
    first.create("users", "1", "0")
    shutil.copy(tmp_path / "a.db", tmp_path / "b.db")
    second = Ledger.open(tmp_path / "b.db")
    ours = first.spend("users", Guarantee("0.1"))
    theirs = second.spend("users", Guarantee("0.2"))
    assert ours.digest != theirs.digest
    assert _run(str(tmp_path / "b.db"), "verify", "--digest", str(ours.digest)).exit_code == 1
