"""shuffledp report: what one device does."""

from __future__ import annotations

import sys

import click

from shuffledp.display.sentences import say
from shuffledp.errors import NOT_SHOWN, ParameterError
from shuffledp.interfaces.cli.options import json_option, print_json
from shuffledp.interfaces.cli.paths import READ


@click.command()
@click.option(
    "--task", "url", required=True, help="Address of the task, https://host/v1/tasks/<digits>."
)
@click.option(
    "--value",
    required=True,
    help="What this person holds; several numbers are separated by commas. -: read it from stdin,"
    " where no list of processes shows it.",
)
@click.option("--document", type=READ, help="The task's document, if it is at hand.")
@click.option(
    "--relay",
    help="Send through this Oblivious HTTP relay: the shuffler does not see this machine's address."
    " Needs --document, as fetching it would show the address.",
)
@click.option(
    "--attempts",
    type=click.IntRange(1, 100),
    default=8,
    show_default=True,
    help="How often to try before giving up.",
)
@json_option
def report(
    url: str, value: str, document: str | None, relay: str | None, attempts: int, as_json: bool
) -> None:
    """Randomize one person's value on this machine, seal it twice, and send it.

    The guarantee of the task is computed here before anything is sent; a second report of the same
    person is a second round.
    """
    from shuffledp.service import Device
    from shuffledp.service.client import Client, ObliviousClient, split_task
    from shuffledp.service.task import Task

    base, task_id = split_task(url)
    if relay is not None and document is None:
        raise ParameterError("document", "given with --relay", "none")
    task = None if document is None else Task.load(document)
    if task is not None and task.id != task_id:
        raise ParameterError("document", f"of the task {task_id.hex()}", task.id.hex())
    with (
        ObliviousClient(relay, base, task.shuffler[0], attempts=attempts)
        if relay is not None and task is not None
        else Client(base, attempts=attempts)
    ) as client:
        task = client.task(task_id) if task is None else task
        given = sys.stdin.readline().rstrip("\n") if value == "-" else value
        client.send(Device(task).report(_typed(task.job.task, given)))
    if as_json:
        print_json({"task": task_id.hex(), "title": task.title, "guarantee": task.said})
        return
    say(f"reported: {task.title}")
    say(f"privacy: {task.said}")


def _typed(question: str, text: str) -> str | float | list[float]:
    """As the question has it."""
    if question in ("histogram", "heavy-hitters"):
        return text
    try:
        numbers = [float(each) for each in text.split(",")]
    except ValueError:
        raise ParameterError("value", "numbers", NOT_SHOWN) from None
    if question == "vector":
        return numbers
    if len(numbers) != 1:
        raise ParameterError("value", "one number", NOT_SHOWN)
    return numbers[0]
