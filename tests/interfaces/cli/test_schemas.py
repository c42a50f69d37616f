"""Every answer in JSON has a schema, names it, and fits it; manual pages are there for all commands."""

import json
import shlex
from pathlib import Path
from typing import Any

import click
import jsonschema_rs
import pytest
from click.testing import CliRunner

from shuffledp.interfaces.cli import main
from shuffledp.interfaces.cli.examples import EXAMPLES
from shuffledp.interfaces.cli.schema import schemas
from tests.interfaces.cli.schemas import SESSION, answers, commands

LONG = ("plan --task mean", "audit", "plan --task histogram", "account --mechanism gaussian")
"""Whose schemas are compared among the slow tests."""
SHORT = [line for line in SESSION.splitlines() if not line.startswith(LONG)]


def test_every_command_has_one() -> None:
    assert set(commands()) - {"schema"} == set(schemas())
    listed = CliRunner().invoke(main, ["schema"]).stdout.split("\n")
    assert "ledger show" in listed
    whole = json.loads(CliRunner().invoke(main, ["schema", "--json"]).stdout)
    assert whole == schemas()
    unknown = CliRunner().invoke(main, ["schema", "acount"])
    assert unknown.exit_code == 2
    assert "did you mean account?" in unknown.stderr


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(SHORT, id="short"),
        pytest.param(SESSION.splitlines(), id="all", marks=pytest.mark.slow),
    ],
)
def test_answers_fit(lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seen = set()
    for name, answer in answers(lines):
        shown = CliRunner().invoke(main, ["schema", *name.split()]).stdout
        whole: dict[str, Any] = json.loads(shown)
        jsonschema_rs.validator_for(whole).validate(answer)
        assert answer["schema"] == f"{name}/1"
        with pytest.raises(jsonschema_rs.ValidationError):
            jsonschema_rs.validator_for(whole).validate(answer | {"schema": 1})
        seen.add(name)
    assert len(seen) > 20


def test_every_help_ends_with_examples_that_can_be_typed() -> None:
    assert set(commands()) <= set(EXAMPLES)
    for name, lines in EXAMPLES.items():
        shown = CliRunner().invoke(main, [*name.split(), "--help"]).stdout
        for line in lines:
            assert line.startswith(name)
            assert f"  shuffledp {line}" in shown
            words = shlex.split(line)[len(name.split()) :]
            command: click.Command = main
            for part in name.split():
                assert isinstance(command, click.Group)
                command = command.commands[part]
            command.make_context(name, words)  # an option or value that is not known fails here


def test_manual_pages(tmp_path: Path) -> None:
    folder = tmp_path / "man"
    result = CliRunner().invoke(main, ["manual", str(folder)])
    assert result.exit_code == 0, result.output
    names = {path.name for path in folder.iterdir()}
    assert {"shuffledp.1", "shuffledp-plan.1", "shuffledp-ledger-spend.1"} <= names
    assert {f"shuffledp-{name.replace(' ', '-')}.1" for name in commands()} <= names
    page = (folder / "shuffledp-plan.1").read_text()
    assert page.startswith('.TH "SHUFFLEDP\\-PLAN"')
    assert "\\-\\-max\\-eps0" in page
    for path in folder.iterdir():  # nothing that man would take for a request of its own
        requests = {line.split()[0] for line in path.read_text().splitlines() if line[:1] == "."}
        assert requests <= {".TH", ".SH", ".B", ".BR", ".PP", ".TP", ".nf", ".fi"}, path
