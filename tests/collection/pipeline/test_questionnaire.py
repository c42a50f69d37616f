"""Several questions about one table: answers, the guarantee of all, what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shuffledp import ParameterError, Rounds, Shuffled
from shuffledp.collection.devices import secure, simulation
from shuffledp.collection.pipeline import Job, Question, Questionnaire, questionnaire
from shuffledp.collection.planning import Vector

N = 3000
PROMISE: dict[str, Any] = {"n": N, "epsilon": 2.0, "delta": 1e-6}
RNG = np.random.default_rng(7)
DATA = {
    "pet": RNG.choice(["cat", "dog", "fish"], N, p=[0.5, 0.3, 0.2]).tolist(),
    "age": RNG.uniform(20.0, 60.0, N),
    **{f"x{i}": RNG.uniform(0.2 * i, 1.0, N) for i in range(5)},
}
X = tuple(f"x{i}" for i in range(5))


def _pets(**more: Any) -> Job:
    asked = PROMISE | {"mechanism": "krr", "categories": ("cat", "dog", "fish")} | more
    return Job("histogram", ("pet",), **asked)


def _ages(**more: Any) -> Job:
    asked = PROMISE | {"mechanism": "rounding", "low": 0.0, "high": 100.0} | more
    return Job("mean", ("age",), **asked)


def _vector(**more: Any) -> Job:
    return Job("vector", X, **(PROMISE | {"low": 0.0, "high": 1.0, "mechanism": "best"} | more))


@pytest.fixture(scope="module")
def both() -> Questionnaire:
    return Questionnaire((Question(_pets()), Question(_ages(), weight=2.0))).calibrated()


def test_answers_are_right_and_cost_what_is_said(both: Questionnaire) -> None:
    done, (pets, ages) = both.collect(DATA, secure())
    truth = np.array([DATA["pet"].count(name) / N for name in ("cat", "dog", "fish")])
    assert np.all(np.abs(pets.values - truth) < 5.0 * np.sqrt(pets.variances))
    assert abs(ages.values[0] - DATA["age"].mean()) < 5.0 * np.sqrt(ages.variances[0])
    whole = Rounds([job.protocol for job in both.messages]).epsilon(1e-6)
    assert done.guarantee.upper == whole.upper <= 2.0
    assert done.guarantee.upper > max(job.guarantee.upper for job in done.messages)
    for found in (pets, ages):
        assert found.guarantee == done.guarantee
        assert "PROVEN by composition" in found.label
        assert "2 messages each, shuffled separately and linked by nothing" in found.label
    assert done.about == "histogram of pet; mean of age"


def test_one_spend_before_anything_is_released(both: Questionnaire) -> None:
    booked: list[Questionnaire] = []
    both.collect(DATA, secure(), book=lambda done, _: booked.append(done))
    assert [each.protocol for each in booked] == [both.protocol]
    assert both.protocol.count == 2

    def refuse(_done: Questionnaire, _reports: frozenset[str]) -> None:
        raise ParameterError("ledger", "with enough left", 0)

    with pytest.raises(ParameterError, match="with enough left"):
        both.collect(DATA, secure(), book=refuse)


def test_simulations_and_dropped_rows_are_said(both: Questionnaire) -> None:
    done, (pets, _) = both.collect(DATA, simulation(1))
    assert done.proven is None
    assert pets.guarantee is None
    assert pets.label.startswith("NOT PRIVATE")
    dropping = Questionnaire(
        tuple(
            Question(replace(each.asked, bad_rows="drop", n=N - 100, users=N))
            for each in both.questions
        )
    ).calibrated()
    holes = DATA | {"pet": [None] * 50 + DATA["pet"][50:]}
    done, (pets, ages) = dropping.collect(holes, secure())
    assert (pets.dropped, ages.dropped) == (50, 0)
    assert done.not_covered == ["NOT COVERED: how many rows were dropped"]
    many = DATA | {"pet": [None] * 101 + DATA["pet"][101:]}
    with pytest.raises(ParameterError, match="at least the promised batch of 2900 rows"):
        dropping.collect(many, secure())


def test_what_run_refuses_is_refused(both: Questionnaire) -> None:
    with pytest.raises(ParameterError, match="somebody who is there twice"):
        both.collect({name: [*values, values[0]] for name, values in DATA.items()}, secure())
    with pytest.raises(ParameterError, match="promised batch"):
        both.collect({name: values[:-1] for name, values in DATA.items()}, secure())
    with pytest.raises(ParameterError, match=r"declared categories only \(row 4\)"):
        both.collect(DATA | {"pet": [*DATA["pet"][:3], "yeti", *DATA["pet"][4:]]}, secure())
    with pytest.raises(ParameterError, match="epsilon"):
        Questionnaire((Question(_pets()), Question(_ages(epsilon=1.0))))
    with pytest.raises(ParameterError, match="public values"):
        Questionnaire((Question(_pets(values_from_data=True)),))
    with pytest.raises(ParameterError, match="at least one"):
        Questionnaire(())
    with pytest.raises(ParameterError, match="calibrated first"):
        _ = Questionnaire((Question(_pets()),)).protocol
    loose = replace(both.questions[0].messages[0], strength=12.0)
    cheat = replace(both.questions[0], messages=(loose,))
    with pytest.raises(ParameterError, match="such that epsilon <= 2 holds"):
        replace(both, questions=(cheat, both.questions[1])).collect(DATA, secure())


@pytest.mark.parametrize("sent", [2, 5])
def test_a_vector_in_messages(sent: int) -> None:
    name = f"rounding-x{sent}"
    asked = Questionnaire((Question(_vector(mechanism=name), limit=sent),)).calibrated()
    assert [len(job.columns) for job in asked.messages] == Vector(5).groups(sent)
    assert all(job.mechanism == "rounding" for job in asked.messages)
    _, (found,) = asked.collect(DATA, secure())
    assert found.names == X
    truth = np.array([DATA[name].mean() for name in X])
    assert np.all(np.abs(found.values - truth) < 5.0 * np.sqrt(found.variances))
    strength = asked.messages[0].strength
    fixed = Questionnaire((Question(_vector(mechanism=name), limit=sent),)).at_budget(strength)
    assert fixed.protocol == asked.protocol
    assert fixed.guarantee.upper <= fixed.epsilon <= 2.0
    with pytest.raises(ParameterError, match="mechanism"):
        Questionnaire((Question(_vector(), limit=sent),)).at_budget(strength)
    with pytest.raises(ParameterError, match="mechanism"):
        Questionnaire((Question(_vector(mechanism=name), limit=1),)).calibrated()


def test_a_norm_narrows_the_range_of_each_coordinate() -> None:
    job = _vector(low=-10.0, high=10.0, norm=2.0, mechanism="rounding-x5")
    asked = Questionnaire((Question(job, limit=5),)).calibrated()
    assert {(job.low, job.high) for job in asked.messages} == {(-2.0, 2.0)}
    _, (found,) = asked.collect(DATA, secure())
    assert found.note == "means of coordinates clipped to 2 from the middle of the range"
    assert abs(found.values[0] - DATA["x0"].mean()) < 5.0 * np.sqrt(found.variances[0])


def test_short_vectors_are_turned() -> None:
    d, n = 20, 2000
    rows = np.random.default_rng(5).normal(size=(n, d)) + np.linspace(0.0, 2.0, d)
    rows *= 3.0 / np.linalg.norm(rows, axis=1, keepdims=True)
    names = tuple(f"y{i}" for i in range(d))
    job = Job("vector", names, n, 2.0, 1e-6, low=-5.0, high=5.0, norm=3.0)
    asked = Questionnaire(
        (Question(replace(job, mechanism="turned-rounding-x32"), limit=32),)
    ).calibrated()
    assert len(asked.messages) == 32
    assert asked.protocol.count == 32
    done, (found,) = asked.collect(dict(zip(names, rows.T, strict=True)), secure())
    assert done.columns == names == found.names
    errors = (found.values - rows.mean(axis=0)) / np.sqrt(found.variances)
    assert np.abs(errors).max() < 5.0
    assert 0.5 < np.sqrt(np.mean(errors**2)) < 1.6
    assert "clipped to 3 from the middle" in found.note
    with pytest.raises(ParameterError, match="mechanism"):  # 31 messages are too few
        Questionnaire(
            (Question(replace(job, mechanism="turned-rounding-x32"), limit=31),)
        ).calibrated()


TASKS = """
[[task]]
task = "histogram"
column = "pet"
categories = ["cat", "dog"]
other = "fish"
mechanism = "krr"

[[task]]
task = "vector"
columns = ["x0", "x1"]
low = 0
high = 1
weight = 3
"""


def _file(folder: Path, text: str) -> Path:
    path = folder / "tasks.toml"
    path.write_text(text)
    return path


def test_a_file_of_tasks(tmp_path: Path) -> None:
    found = questionnaire(_file(tmp_path, TASKS), **PROMISE)
    pets, vector = found.questions
    assert pets.asked == _pets(other="fish")
    assert (vector.asked.columns, vector.limit, vector.weight) == (("x0", "x1"), 2, 3.0)
    assert vector.asked.mechanism == "best"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"at least one \[\[task\]\]"),
        ("[task]\ntask = 'mean'", r"at least one \[\[task\]\]"),
        ("x = 1", r"\[\[task\]\] and nothing else"),
        ("[[task]]\n[[", "a file in TOML"),
        ("[[task]]\ncolumn = 'a'", "task 1 has 'task' one of histogram.*Got None"),
        ("[[task]]\ntask = 'meen'\ncolumn = 'a'", "did you mean mean"),
        ("[[task]]\ntask = 'mean'\ncolum = 'a'", "did you mean column"),
        ("[[task]]\ntask = 'mean'\ncolumn = 'a'\nlow = 0", "'high' given for 'mean'"),
        ("[[task]]\ntask = 'mean'\ncolumn = 'a'\nlow = 1\nhigh = 0", "'high' a number above low"),
        ("[[task]]\ntask = 'mean'\ncolumn = 'a'\nlow = 'x'\nhigh = 0", "'low' a number"),
        ("[[task]]\ntask = 'histogram'\ncolumn = 'a'", "'categories' given"),
        ("[[task]]\ntask = 'histogram'\ncolumn = 'a'\ncategories = ['b']", "at least two"),
        ("[[task]]\ntask = 'histogram'\ncategories = ['b', 'c']", "'column' given"),
        ("[[task]]\ntask = 'heavy-hitters'\ncolumn = 'a'\nbins = 3", "'bins' left out"),
        ("[[task]]\ntask = 'heavy-hitters'\ncolumn = 'a'\nweight = 0", "'weight' a finite"),
        ("[[task]]\ntask = 'heavy-hitters'\ncolumn = 'a'\nmechanism = 'krr'", "'mechanism' one of"),
        (TASKS.replace('"x1"', '"x0"'), "task 2 has 'columns' each given once"),
        (TASKS.replace("weight = 3", "messages = 0"), "'messages' an integer"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        questionnaire(_file(tmp_path, text), **PROMISE)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="can be read"):
        questionnaire(tmp_path / "none.toml", **PROMISE)


def test_what_is_wrong_with_the_promise_is_not_the_file(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"The 'delta' parameter"):
        questionnaire(_file(tmp_path, TASKS), **(PROMISE | {"delta": 2.0}))


def test_the_protocol_is_a_round_for_every_message(both: Questionnaire) -> None:
    kinds = {protocol for protocol, _ in both.protocol.entries}
    assert kinds == {Shuffled(job.device.randomizer, N) for job in both.messages}
