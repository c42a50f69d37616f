"""What the book promises, on both stores."""

import os
import sqlite3
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from shuffledp import (
    KRR,
    LDP,
    BudgetExceededError,
    Channel,
    Gaussian,
    LedgerError,
    ParameterError,
    Repeated,
    Rounds,
    Shuffled,
    Stated,
    UnknownOutcomeError,
)
from shuffledp.ledger import Entry, Guarantee, Ledger, Planned, planned
from tests.cluster import Cluster
from tests.ledger.ages import aged

DAILY = Shuffled(KRR(16, eps0=1.0), n=10_000)


def test_a_spend_is_recorded_and_read_back(ledger: Ledger) -> None:
    ledger.create("users", "2", "1e-6")
    receipt = ledger.spend("users", DAILY, 3, label="Monday, ½ day", key="a")
    assert (receipt.number, receipt.entry.rounds) == (1, 3)
    assert ledger.history("users") == [receipt]
    balance = ledger.balance("users")
    assert balance.lost == receipt.lost
    assert balance.entries == (Entry(DAILY, 3),)
    lost = balance.lost["epsilon"]
    assert Fraction(balance.left["epsilon"]) == 2 - Fraction(lost)
    # three rounds lose more than one, and no more than three times one at a third of the delta
    assert balance.lost["delta"] == Decimal("1e-8")
    once = DAILY.epsilon(1e-8).lower
    apart = DAILY.epsilon(1e-8 / 3.0000001).upper
    assert once < lost <= 3 * Fraction(apart)


def test_several_releases_are_one_spend(ledger: Ledger) -> None:
    other = Shuffled(KRR(4, eps0=2.0), n=10_000)
    both = Rounds([(DAILY, 2), other])
    ledger.create("users", "2", "1e-6")
    receipt = ledger.spend("users", both, label="a survey", key="a")
    assert ledger.history("users") == [receipt]
    assert receipt.entry.description["together"][0].keys() == {"spent", "rounds"}
    again = Rounds([other, (DAILY, 2)])  # in another order, the same
    assert ledger.spend("users", again, label="a survey", key="a") == receipt
    lost = receipt.lost["epsilon"]
    assert both.epsilon(1e-8).lower < lost <= Fraction(both.epsilon(1e-8).upper) * Fraction("1.001")
    assert Entry.of(Rounds([(DAILY, 3)]), 2) == Entry(DAILY, 6)
    ledger.create("year", "2", "1e-6", planned((both, 2)))
    ledger.spend("year", again)
    with pytest.raises(BudgetExceededError, match="is not in the plan"):
        ledger.spend("year", DAILY)
    with pytest.raises(ParameterError, match="protocols only"):
        Entry.of(Rounds([DAILY, Stated(0.1)]), 1)


def test_tenths_add_up_exactly(ledger: Ledger) -> None:
    ledger.create("users", "0.3", "0")
    for _ in range(3):
        ledger.spend("users", Guarantee("0.1"))
    assert 0.1 + 0.1 + 0.1 > 0.3  # what floats would say
    assert ledger.balance("users").left["epsilon"] == 0
    with pytest.raises(BudgetExceededError, match=r"may lose epsilon = 0\.3"):
        ledger.spend("users", Guarantee("1e-29"))
    assert len(ledger.history("users")) == 3


def test_deltas_add_up_exactly(ledger: Ledger) -> None:
    ledger.create("users", "9", "3e-7")
    ledger.spend("users", Guarantee("1", "1e-7"), 3)
    with pytest.raises(BudgetExceededError, match="more delta than its rule allows"):
        ledger.spend("users", Guarantee("1", "1e-30"))
    with pytest.raises(BudgetExceededError, match="nothing is left for shuffled"):
        ledger.spend("users", Shuffled(Gaussian(9.0), 1000))
    assert float(ledger.spend("users", DAILY).lost["epsilon"]) == pytest.approx(4.0)  # pure
    ledger.spend("users", Guarantee("1"))


def test_remaining_is_the_most_that_fits(ledger: Ledger) -> None:
    ledger.create("users", "1", "1e-6")
    ledger.spend("users", Guarantee("0.25", "1e-7"))
    for what in (DAILY, Guarantee("0.1"), Guarantee("0.001", "5e-8")):
        left = ledger.remaining("users", what)
        assert left > 0
        with pytest.raises(BudgetExceededError):
            ledger.spend("users", what, left + 1)
    left = ledger.remaining("users", DAILY)
    ledger.spend("users", DAILY, left)
    assert ledger.remaining("users", DAILY) == 0
    assert ledger.balance("users").lost["epsilon"] <= 1


def test_a_key_is_recorded_once(ledger: Ledger) -> None:
    ledger.create("users", "1", "0")
    first = ledger.spend("users", Guarantee("0.4"), label="first", key="release-7")
    assert ledger.spend("users", Guarantee("0.4"), label="again", key="release-7") == first
    assert len(ledger.history("users")) == 1
    with pytest.raises(LedgerError, match="used for another spend"):
        ledger.spend("users", Guarantee("0.4"), 2, key="release-7")
    # the key belongs to its cohort
    ledger.create("others", "1", "0")
    assert ledger.spend("others", Guarantee("0.4"), key="release-7").number == 1


def test_cohorts_are_apart(ledger: Ledger) -> None:
    ledger.create("b", "1", "0")
    ledger.create("a", "2", "1e-9")
    ledger.spend("b", Guarantee("1"))
    assert ledger.cohorts() == ["a", "b"]
    assert ledger.balance("a").lost["epsilon"] == 0
    with pytest.raises(LedgerError, match="exists already"):
        ledger.create("a", "3", "0")
    assert ledger.balance("a").epsilon == 2


def test_repeated_protocols_are_rounds(ledger: Ledger) -> None:
    ledger.create("users", "3", "1e-6")
    ledger.spend("users", DAILY, 5)
    ledger.spend("users", Shuffled(Repeated(DAILY.randomizer, 5), n=DAILY.n), 2)
    assert ledger.balance("users").entries == (Entry(DAILY, 15),)


def test_what_cannot_be_computed_is_refused(ledger: Ledger) -> None:
    ledger.create("users", "100", "1e-6")
    unknown = Shuffled(Channel([[1.0, 0.0], [0.0, 1.0]]), n=1000)  # tells all
    with pytest.raises(LedgerError, match="cannot be computed"):
        ledger.spend("users", unknown)
    with pytest.raises(LedgerError, match="cannot be computed"):
        ledger.remaining("users", unknown)
    assert ledger.history("users") == []


def test_export_holds_everything(ledger: Ledger) -> None:
    ledger.create("users", "5", "1e-6")
    ledger.spend("users", DAILY, 2, label="x")
    data = ledger.export()["cohorts"]
    assert data == [
        ledger.balance("users").to_dict()
        | {"history": [each.to_dict() for each in ledger.history("users")]}
    ]


def test_every_digit_counts(ledger: Ledger) -> None:
    long = "0." + "1" * 30
    ledger.create("users", long, "0")
    with pytest.raises(BudgetExceededError):
        ledger.spend("users", Guarantee(long[:-1] + "2"))
    assert ledger.spend("users", Guarantee(long + "0" * 200)).entry.what == Guarantee(long)
    assert str(ledger.balance("users").lost["epsilon"]) == long
    with pytest.raises(ParameterError):
        Guarantee("0.1" + "0" * 200 + "1")


def test_a_commit_without_an_answer(postgres: Cluster) -> None:
    url = postgres.database("unanswered")
    ledger = Ledger.open(url)
    ledger.create("users", "1", "0")

    def cut_off() -> None:
        with ledger.store.transaction(write=True) as execute:
            execute("UPDATE shuffledp_cohorts SET epsilon = ?", "2")
            (pid,) = execute("SELECT pg_backend_pid()")[0]
            with psycopg.connect(url) as other:
                other.execute("SELECT pg_terminate_backend(%s)", [pid])

    with pytest.raises(UnknownOutcomeError, match="repeat it with the same key"):
        cut_off()
    assert ledger.balance("users").epsilon == 1


@pytest.mark.parametrize(
    "value", [0.1, True, "x", "-1", "nan", "inf", "1e9", "1" * 31, "1e-61", None]
)
def test_amounts_are_exact_decimals(tmp_path: Path, value: object) -> None:
    with pytest.raises(ParameterError, match="exact decimal"):
        Guarantee(value)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'epsilon'"):
        Ledger.open(tmp_path / "x").create("users", value, "0")  # type: ignore[arg-type]
    assert not (tmp_path / "x").exists()


def test_bad_input(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match=r"no ledger in .* yet"):
        ledger.spend("users", DAILY)
    with pytest.raises(ParameterError, match="'delta'"):
        ledger.create("users", "1", "1")
    for name in ("", "a\nb", "x" * 201, None):
        with pytest.raises(ParameterError, match="'cohort'"):
            ledger.create(name, "1", "0")  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="unable to open"):
        Ledger.open("/nowhere/book.db").create("users", "1", "0")
    ledger.create("users", "1", "0")
    with pytest.raises(LedgerError, match="no cohort 'user'"):
        ledger.spend("user", DAILY)
    with pytest.raises(LedgerError, match="no cohort 'user'"):
        ledger.balance("user")
    with pytest.raises(ParameterError, match="'rounds'"):
        ledger.spend("users", DAILY, 0)
    with pytest.raises(ParameterError, match="'what'"):
        ledger.spend("users", KRR(2, eps0=1.0))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'key'"):
        ledger.spend("users", DAILY, key="")


def test_a_reader_is_not_kept_waiting(ledger: Ledger) -> None:
    ledger.create("users", "1", "0")
    with ledger.store.transaction(write=True) as execute:
        execute("UPDATE shuffledp_cohorts SET epsilon = ?", "2")
        assert ledger.balance("users").epsilon == 1
    with pytest.raises(LedgerError, match="were altered"):  # by hand, and seen at once
        ledger.balance("users")


def test_a_spender_waits_no_longer_than_told(store: str) -> None:
    ledger = Ledger.open(store)
    ledger.create("users", "1", "0")
    hurried = Ledger.open(store, timeout=0.2)
    with ledger.store.transaction(write=True) as execute:
        execute("UPDATE shuffledp_cohorts SET epsilon = ?", "2")
        with pytest.raises(LedgerError, match=r"cannot be used: .*lock"):
            hurried.spend("users", Guarantee("0.5"))


def test_threads_and_forks_may_share_a_ledger(ledger: Ledger) -> None:
    ledger.create("users", "1", "0")
    child = os.fork()
    if child == 0:
        ledger.spend("users", Guarantee("0.1"))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    threads = [
        threading.Thread(target=ledger.spend, args=("users", Guarantee("0.1"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.balance("users").lost["epsilon"] == Decimal("0.5")


def test_a_newer_format_is_refused(ledger: Ledger) -> None:
    ledger.create("users", "1", "0")
    with ledger.store.transaction(write=True) as execute:
        execute("INSERT INTO shuffledp_ledger (version) VALUES (?)", 4)
    with pytest.raises(LedgerError, match="format 4"):
        ledger.balance("users")


def test_another_file_is_not_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.open(path).cohorts()
    path.write_text("no database at all, but long enough to be read as a header")
    with pytest.raises(LedgerError, match="not a database"):
        Ledger.open(path).cohorts()


def test_a_server_that_may_forget_is_refused(postgres: Cluster) -> None:
    url = postgres.database("careless")
    Ledger.open(url).create("users", "1", "0")
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        try:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
            _until(postgres, "off")
            with pytest.raises(LedgerError, match="fsync off"):
                Ledger.open(url).spend("users", Guarantee("0.1"))
        finally:
            connection.execute("ALTER SYSTEM RESET fsync")
            connection.execute("SELECT pg_reload_conf()")
            _until(postgres, "on")
    assert Ledger.open(url).history("users") == []


def _until(postgres: Cluster, value: str) -> None:
    """New sessions see a reloaded setting a moment later."""
    for _ in range(1000):
        with psycopg.connect(postgres.url("postgres")) as connection:
            row = connection.execute("SHOW fsync").fetchone()
        if row == (value,):
            return
    raise AssertionError("the setting was not reloaded")


def test_passwords_are_never_shown(postgres: Cluster) -> None:
    url = f"postgresql://nobody:s3cret@127.0.0.1:{postgres.port}/nowhere"
    ledger = Ledger.open(url)
    assert "s3cret" not in ledger.store.name
    with pytest.raises(LedgerError) as caught:
        ledger.cohorts()
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None
    for wrong in ("postgresql://u:s3cret@[bad/x?nonsense=1", "postgersql://u:s3cret@host/x"):
        with pytest.raises(ParameterError) as other:
            Ledger.open(wrong)
        assert "s3cret" not in str(other.value)


def test_what_is_proven_is_the_total(ledger: Ledger) -> None:
    ledger.create("users", "1", "1e-6")
    assert ledger.spend("users", Guarantee("0.1")).theorem == "filter-sum"
    said = ledger.balance("users").to_dict()
    assert (said["status"], said["direction"], said["theorem"]) == ("PROVEN", "UPPER", "filter-sum")
    assert ledger.remaining("users", Shuffled(LDP(eps0=50.0), n=2)) == 0


def test_stated_guarantees_and_protocols_compose_together(ledger: Ledger) -> None:
    protocol = Shuffled(LDP(1.0), n=100_000)
    kinds = (protocol, 10), (Guarantee("0.01", "1e-12"), 200)
    rule = ledger.create("users", "5", "1e-6", planned(*kinds)).rule
    assert isinstance(rule, Planned)
    together = Rounds([(protocol, 10), (Stated(0.01, 1e-12), 200)]).guaranteed(delta=1e-6)
    assert float(rule.loses) == pytest.approx(together.value, rel=1e-9, abs=0.0)
    assert float(rule.loses) < Rounds([(protocol, 10)]).guaranteed(delta=1e-6).value + 2


def test_without_delta_pure_budgets_add_up(ledger: Ledger) -> None:
    ledger.create("users", "1", "0")
    assert float(ledger.spend("users", Shuffled(LDP(0.1), 1000), rounds=2).lost["epsilon"]) == (
        pytest.approx(0.2, rel=1e-12, abs=0.0)
    )
    ledger.spend("users", Guarantee("0.3"))
    with pytest.raises(BudgetExceededError):
        ledger.spend("users", Shuffled(LDP(0.6), 1000))
    with pytest.raises(BudgetExceededError, match="nothing is left"):
        ledger.spend("users", Shuffled(Gaussian(9.0), 1000))


def test_reports_are_released_once_or_again_in_the_same_company(ledger: Ledger) -> None:
    for name in ("users", "others"):
        ledger.create(name, "2", "1e-6")
    first = ledger.spend("users", DAILY, reports=["a", "b"])
    assert ledger.spend("users", DAILY, reports=["b", "a", "a"]) == first
    assert ledger.spend("users", DAILY, reports=["c"]).number == 2
    for company in (["a"], ["a", "b", "late"], ["b", "c"], ["late", "c"]):
        with pytest.raises(LedgerError, match=r"released before \(users #"):
            ledger.spend("users", DAILY, reports=company)
    with pytest.raises(LedgerError, match="another spend"):
        ledger.spend("users", Guarantee("0.1"), reports=["c"])
    with pytest.raises(LedgerError, match="released before, by 'users'"):
        ledger.spend("others", DAILY, reports=["c"])
    for wrong in ([""], "batch", 5, None):
        with pytest.raises(ParameterError, match="reports"):
            ledger.spend("users", DAILY, reports=wrong)  # type: ignore[arg-type]
    assert [ledger.balance(name).spends for name in ("users", "others")] == [2, 0]
    assert ledger.spend("others", DAILY, reports=["late"]).number == 1  # nothing was half recorded


def test_a_key_holds_for_the_same_reports_only(ledger: Ledger) -> None:
    ledger.create("users", "2", "1e-6")
    first = ledger.spend("users", DAILY, key="k", reports=["a"])
    again = ledger.spend("users", DAILY, key="k", reports=["a"])
    assert (again, first.repeated, again.repeated) == (first, False, True)
    for other in (["b"], ["a", "b"], []):
        with pytest.raises(LedgerError, match="'k' was used for other reports"):
            ledger.spend("users", DAILY, key="k", reports=other)
    assert [receipt.reports for receipt in ledger.history("users")] == [("a",)]
    assert ledger.export()["cohorts"][0]["history"][0]["reports"] == ["a"]
    assert ledger.spend("users", DAILY, reports=["b"]).number == 2


def test_a_refused_spend_releases_no_reports(ledger: Ledger) -> None:
    ledger.create("users", "0.001", "1e-6")
    ledger.create("rich", "2", "1e-6")
    with pytest.raises(BudgetExceededError):
        ledger.spend("users", DAILY, reports=["a"])
    assert ledger.spend("rich", DAILY, reports=["a"]).number == 1


def test_a_ledger_of_the_first_format_is_read_and_learns_about_reports(
    ledger: Ledger, store: str
) -> None:
    ledger.create("users", "2", "1e-6")
    ledger.spend("users", DAILY)
    aged(ledger, 1)
    assert ledger.balance("users").spends == 1
    ledger.spend("users", DAILY, reports=["a"])
    assert Ledger.open(store).balance("users").spends == 2
    with pytest.raises(LedgerError, match="released before"):
        ledger.spend("users", DAILY, reports=["a", "b"])
