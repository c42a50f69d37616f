"""The command line, as people use it: from keys to estimates."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shuffledp.interfaces.cli import main
from shuffledp.ledger import Ledger
from shuffledp.service.server.settings import Settings


def run(*arguments: str, code: int = 0, **more: Any) -> str:
    result = CliRunner().invoke(main, list(arguments), **more)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


def answer(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--json"))
    return found


@contextmanager
def serving(config: Path) -> Iterator[str]:
    """`shuffledp shuffler serve` in a process of its own; its address."""
    command = [sys.executable, "-m", "shuffledp", "shuffler", "serve", "--config", str(config)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        line = server.stderr.readline()
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)\n", line)
        assert found, line + server.stderr.read()
        yield found[1]
    finally:
        server.terminate()
        _, rest = server.communicate(timeout=120)
    assert server.returncode == -signal.SIGTERM
    assert re.fullmatch(r"(INFO: .*\n)*", rest), rest


@pytest.fixture
def config(tmp_path: Path) -> Path:
    run("shuffler", "init", str(tmp_path / "s"))
    path = tmp_path / "s" / "shuffler.toml"
    path.write_text(path.read_text().replace("8572", "0"))
    Ledger.open(tmp_path / "s" / "ledger.db").create("people", "5", "1e-3")
    return path


def _task(tmp_path: Path, config: Path, *more: str) -> Path:
    """A task that is open now."""
    if not (tmp_path / "analyst.key").exists():
        run("analyst", "keygen", "--out", str(tmp_path / "analyst.key"))
    listed = answer("shuffler", "keys", "--config", str(config))["keys"]
    out = tmp_path / "task.json"
    run(
        *("analyst", "task", "--title", "Which?", "--task", "histogram"),
        *("--categories", "A,B,C", "--epsilon", "2", "--delta", "1e-6", "--mechanism", "krr"),
        *("--minimum", "10", "--largest", "1000", "--expires", "+1d", "--cohort", "people"),
        *("--key", str(tmp_path / "analyst.key.pub"), "--shuffler-key", listed[0]["public"]),
        *("--out", str(out), *more),
    )
    return out


def test_from_keys_to_estimates(tmp_path: Path, config: Path) -> None:
    task = _task(tmp_path, config)
    shared = ("--config", str(config))
    with serving(config) as url:
        opened = answer("shuffler", "open", str(task), *shared, "--url", url)["task"]
        address = f"{url}/v1/tasks/{opened}"
        for value in "AABBBBCCCC":
            said = run("report", "--task", address, "--value", "-", input=f"{value}\n")
        assert "PROVEN" in said
        run("report", "--task", address, "--value", "Z", code=2)
        assert "10 wait" in run("shuffler", "status", *shared, "--url", url)
        (released,) = answer("shuffler", "release", opened, *shared, "--url", url)["released"]
        assert "never released" in run("shuffler", "release", opened, *shared, "--url", url, code=3)
    assert "sound" in run("shuffler", "verify", *shared)
    out = tmp_path / "reports.parquet"
    batch, key = released["file"], str(tmp_path / "analyst.key")
    assert answer("analyst", "open", batch, "--key", key, "--out", str(out))["reports"] == 10
    apart = answer("analyze", str(out))
    at_once = answer("collect", batch, "--key", key, "--out", str(tmp_path / "estimates.csv"))
    assert at_once == apart | {"schema": "collect/1"}
    assert at_once["reports"] == 10
    assert (tmp_path / "estimates.csv").exists()
    (config.parent / "ledger.db").unlink()
    Ledger.open(config.parent / "ledger.db").create("people", "5", "1e-3")
    assert "never charged" in run("shuffler", "verify", *shared, code=1)
    run("analyst", "keygen", "--out", str(tmp_path / "other.key"))
    refused = run("collect", batch, "--key", str(tmp_path / "other.key"), code=2)
    assert "nobody can open the batch" in refused


def test_keys_in_turn(tmp_path: Path, config: Path) -> None:
    shared = ("--config", str(config))
    first = answer("shuffler", "keys", *shared)["keys"][0]
    task = _task(tmp_path, config)
    with serving(config) as url:
        run("shuffler", "open", str(task), *shared, "--url", url)
    second = answer("shuffler", "keygen", *shared)
    refused = run("shuffler", "retire", first["id"], *shared, code=2)
    assert "no open task depends" in refused
    assert "not current" in run("shuffler", "retire", second["key"], *shared, code=2)
    run("shuffler", "retire", first["id"], *shared, "--lose-reports")
    listed = answer("shuffler", "keys", *shared)["keys"]
    assert [each["state"] for each in listed] == ["current", "retired"]
    (config.parent / "keys" / f"{second['key']}.pem").unlink()
    assert "LOST" in run("shuffler", "keys", *shared)
    assert f"key {second['key']}: lost" in run("shuffler", "verify", *shared, code=1)
    assert "16 digits" in run("shuffler", "retire", "zz", *shared, code=2)


def test_what_is_missing_is_said(tmp_path: Path, config: Path) -> None:
    shared = ("--config", str(config))
    run("shuffler", "init", str(tmp_path / "s"), code=2)
    run("shuffler", "token", *shared, code=2)
    url = ("--url", "http://127.0.0.1:1")
    assert "No shuffler answers" in run("shuffler", "status", *shared, *url, code=2)
    assert "cannot be used" in run("shuffler", "verify", *shared, code=2)
    assert not (config.parent / "shuffler.db").exists()
    (config.parent / "admin.token").unlink()
    assert "no token" in run("shuffler", "status", *shared, *url, code=2)
    run("shuffler", "token", *shared)
    assert (config.parent / "admin.token").stat().st_mode & 0o777 == 0o600
    assert "64 digits" in run("shuffler", "release", "zz", *shared, *url, code=2)
    key = tmp_path / "a.key"
    run("analyst", "keygen", "--out", str(key))
    run("analyst", "keygen", "--out", str(key), code=2)
    run("shuffler", "status", "--config", str(tmp_path / "none.toml"), code=2)
    run("report", "--task", "http://127.0.0.1:1/v1/tasks/x", "--value", "1", code=2)
    assert "is not like" in run(
        *("analyst", "task", "--title", "x", "--task", "mean", "--expires", "soon"), code=2
    )


def test_secrets_are_on_no_command_line() -> None:
    """No option takes a private key or a token: files and the environment do."""
    for group in ("shuffler", "analyst"):
        commands = main.commands[group].commands  # type: ignore[attr-defined]
        options = {option.name for each in commands.values() for option in each.params}
        assert not options & {"token", "password", "secret", "private"}


def _read(text: str, path: Path, **environment: str) -> Settings:
    path.write_text(text)
    return Settings.read(path, {f"SHUFFLEDP_SHUFFLER_{k}": v for k, v in environment.items()})


def test_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.toml"
    found = _read('store = "a.db"\nrelease_every = 60\n', path, BODY="2048", KEYS="/keys")
    assert found.store == str(tmp_path / "a.db")
    assert (found.release_every, found.body, found.keys) == (60.0, 2048, "/keys")
    url = "postgresql://user@host/database"
    assert _read(f'store = "{url}"\n', path).store == url
    assert _read('listen = "[::]:80"\n', path).address == ("::", 80)
    assert _read('listen = "[::]:80"\n', path).url == "http://[::1]:80"
    assert Settings.read(None, {}).store.startswith(os.getcwd())
    token = tmp_path / "admin.token"
    token.write_text("short")
    monkeypatch.delenv("SHUFFLEDP_SHUFFLER_TOKEN", raising=False)
    with pytest.raises(ValueError, match="mode 0600"):
        _read("", path).token()
    token.chmod(0o600)
    with pytest.raises(ValueError, match="at least 32"):
        _read("", path).token()
    monkeypatch.setenv("SHUFFLEDP_SHUFFLER_TOKEN", "x" * 40)
    assert _read("", path).token() == "x" * 40


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("store = 1", {}),
        ("stroe = 'a'", {}),
        ("store = 'a'\nstore = 'b'", {}),
        ("listen = 'nowhere'", {}),
        ("listen = 'host:99999'", {}),
        ("body = true", {}),
        ("body = 0", {}),
        ("patience = 0", {}),
        ("[table]", {}),
        ("", {"BODY": "many"}),
        ("= nonsense", {}),
    ],
)
def test_settings_that_are_refused(tmp_path: Path, text: str, environment: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="parameter must be"):
        _read(text, tmp_path / "a.toml", **environment)
