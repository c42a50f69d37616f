"""Several questions, or a vector in several messages: how ``run`` asks and answers them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shuffledp.errors import ParameterError
from shuffledp.interfaces.cli.collection import bar, crowd, job, pure_budget, recorded, stream
from shuffledp.interfaces.cli.options import print_json

if TYPE_CHECKING:
    from shuffledp.collection.analysis import Estimate
    from shuffledp.collection.pipeline import Question, Questionnaire

_OF_FILE = (
    *("columns", "task", "categories", "from_data", "other", "low", "high", "norm", "messages"),
    *("eps0", "strength"),
)
"""Options that a file of tasks takes the place of."""


@contextmanager
def blamed_on(tasks: str | None) -> Iterator[None]:
    """Columns that are not there were named in the file of tasks, if there is one."""
    try:
        yield
    except ParameterError as error:
        if tasks is None or error.parameter != "column":
            raise
        condition = f"a file whose columns are each {error.condition}"
        raise ParameterError("tasks", condition, error.value) from error


def asked(data: str, tasks: str | None, messages: int | None, **question: Any) -> Questionnaire:
    """What the options describe, calibrated."""
    from shuffledp.collection.pipeline import Question, Questionnaire, questionnaire
    from shuffledp.display.text import progress

    if tasks is None:
        whole = job(data, calibrate=False, **question)
        if whole.task != "vector":
            raise ParameterError("messages", "left out unless the task is vector", messages)
        single = Questionnaire((Question(whole, limit=messages or 1),))
        if question["strength"] is not None:
            raise ParameterError("strength", "left out for several messages", question["strength"])
        if question["eps0"] is not None:
            return single.at_budget(question["eps0"])
        return single.calibrated(lambda names: progress(names, "calibrating"))
    question["messages"] = messages
    for name in _OF_FILE:
        if question[name] not in (None, (), "", False):
            raise ParameterError(name, "left out with --tasks", question[name])
    if question["mechanism"] != "best":
        raise ParameterError("mechanism", "said in the file of --tasks", question["mechanism"])
    if question["epsilon"] is None:
        raise ParameterError("epsilon", "given with --tasks", None)
    shared = {name: question[name] for name in ("epsilon", "delta", "bad_rows")}
    first = questionnaire(tasks, n=1, **shared)  # whatever is wrong with it is said at once
    columns = tuple(dict.fromkeys(name for each in first.questions for name in each.asked.columns))
    users, fewest, _ = crowd(
        data, columns, question["n"], question["minimum"], question["bad_rows"]
    )
    found = questionnaire(tasks, n=fewest, users=users, **shared)
    return found.calibrated(lambda names: progress(names, "calibrating"))


def answer(
    found: Questionnaire,
    data: str,
    *,
    book: Any,
    simulation: int | None,
    memory: int,
    out: str | None,
    plot: str | None,
    as_json: bool,
    simplex: bool,
    non_negative: bool,
) -> None:
    """Collect, then write, draw and print."""
    from shuffledp.collection.pipeline import write_estimates
    from shuffledp.display.estimates import print_answers, save_answers

    with bar("randomizing", found.n) as advance:
        done, answers = found.collect(
            data, stream(simulation), book=book, advance=advance, memory=memory << 20
        )
    if simplex:
        answers = [x.on_simplex() if x.has_frequencies else x for x in answers]
    if non_negative:
        answers = [x.non_negative() if x.has_frequencies else x for x in answers]
    if out is not None:
        write_estimates([each.asked.about for each in done.questions], answers, out)
    if plot is not None:
        save_answers(done, answers, plot)
    if as_json:
        print_json(_described(done, answers))
    else:
        print_answers(done, answers)


def _described(done: Questionnaire, answers: list[Estimate]) -> dict[str, Any]:
    return {
        "n": done.n,
        "messages": len(done.messages),
        "delta": done.delta,
        "shuffled": done.shuffled,
        "simulated": done.simulated,
        "not_covered": done.not_covered,
        "privacy": None if done.proven is None else done.proven.to_dict(),
        "label": done.label,
        "ledger": recorded(),
        "tasks": [
            _of_question(each, found) for each, found in zip(done.questions, answers, strict=True)
        ],
    }


def _of_question(question: Question, found: Estimate) -> dict[str, Any]:
    first = question.messages[0]
    whole = found.to_dict()
    return {
        "task": question.asked.task,
        "columns": list(question.asked.columns),
        "messages": len(question.messages),
        "mechanism": first.described,
        "eps0": pure_budget(first),
        **{name: value for name, value in whole.items() if name not in ("privacy", "label")},
    }
