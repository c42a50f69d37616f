"""shuffledp shuffler: run the service and administer it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shuffledp.display.sentences import say
from shuffledp.errors import ParameterError, ServiceError
from shuffledp.interfaces.cli.group import Group
from shuffledp.interfaces.cli.options import F, json_option, print_json
from shuffledp.interfaces.cli.paths import READ
from shuffledp.labels import counted

if TYPE_CHECKING:
    from shuffledp.service.server.settings import Settings

_CONFIG = "shuffler.toml"
_SAMPLE = """\
# A shuffler. Paths are relative to this file;
# SHUFFLEDP_SHUFFLER_STORE and so on in the environment win.
listen = "127.0.0.1:8572"    # put a proxy with TLS in front
store = "shuffler.db"        # or postgresql://user@host/database
ledger = "ledger.db"         # who pays for releases: shuffledp ledger init
keys = "keys"
outbox = "outbox"            # released batches
token_file = "admin.token"
release_every = 0            # seconds; 0: by command only
"""


def config_option(command: F) -> F:
    """--config."""
    return click.option(
        "--config",
        type=READ,
        envvar="SHUFFLEDP_SHUFFLER_CONFIG",
        default=_CONFIG,
        show_default=True,
        help="TOML file; the environment (SHUFFLEDP_SHUFFLER_STORE ...) wins.",
    )(command)


def _settings(config: str) -> Settings:
    from shuffledp.service.server.settings import Settings

    path = Path(config)
    return Settings.read(None if config == _CONFIG and not path.exists() else path)


@click.group(cls=Group)
def shuffler() -> None:
    """A shuffler that devices report to: run it, open tasks, release batches."""


@shuffler.command()
@click.argument("folder", type=click.Path(file_okay=False))
@json_option
def init(folder: str, as_json: bool) -> None:
    """Make FOLDER with a configuration, a first key, and a token for the administrator."""
    from shuffledp.files import write_whole
    from shuffledp.service.keys import KeyRing
    from shuffledp.service.server.settings import Settings

    place = Path(folder)
    config = place / _CONFIG
    if config.exists():
        raise ParameterError("folder", f"without a {_CONFIG}", folder)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError("folder", "one that can be made", f"{folder} ({error})") from error
    write_whole("folder", config, _SAMPLE.encode(), private=True)
    settings = Settings.read(config, {})
    settings.make_token()
    key = KeyRing(settings.keys).rotate()
    if as_json:
        print_json({"config": str(config), "key": key.id.hex(), "public": key.raw.hex()})
        return
    say(f"{config}: edit it, then `shuffledp shuffler serve --config {config}`")
    say(f"key {key.id.hex()}: {key.raw.hex()}")
    say(
        f"who pays: `shuffledp ledger init COHORT --epsilon ... --delta ... --store"
        f" {place / 'ledger.db'}`"
    )


@shuffler.command()
@config_option
@json_option
def keygen(config: str, as_json: bool) -> None:
    """Make a new current key; the one before stays accepted until it is retired."""
    from shuffledp.service.keys import KeyRing

    key = KeyRing(_settings(config).keys).rotate()
    if as_json:
        print_json({"key": key.id.hex(), "public": key.raw.hex()})
        return
    say(f"current key {key.id.hex()}: {key.raw.hex()}")


@shuffler.command()
@config_option
@json_option
def keys(config: str, as_json: bool) -> None:
    """List the keys; a lost one is said to be lost."""
    from shuffledp.service.keys import KeyRing

    ring = KeyRing(_settings(config).keys)
    lost = {key.hex() for key in ring.lost}
    listed = [{**each, "lost": each["id"] in lost} for each in ring.published()]
    if as_json:
        print_json({"keys": listed})
        return
    for each in listed:
        state = f"{each['state']}, LOST: what is sealed to it cannot be opened"
        say(f"{each['id']}  {each['public']}  {state if each['lost'] else each['state']}")


@shuffler.command()
@click.argument("key")
@click.option("--lose-reports", is_flag=True, help="Even if a task has no other key.")
@config_option
@json_option
def retire(key: str, lose_reports: bool, config: str, as_json: bool) -> None:
    """Destroy the private KEY (its id): reports sealed to it are no longer accepted."""
    from shuffledp.service.keys import KeyRing
    from shuffledp.service.sealing import ID
    from shuffledp.service.store import open_store
    from shuffledp.service.task import Task
    from shuffledp.service.wire import parse_id

    settings = _settings(config)
    key_id = parse_id(key, ID)
    if key_id is None:
        raise ParameterError(
            "key", f"{2 * ID} digits, as `shuffledp shuffler keys` lists them", key
        )
    ring = KeyRing(settings.keys)
    store = open_store(settings.store)
    for each in store.tasks():
        named = {public.id for public in Task.read(each.document, each.id).shuffler}
        others = any(ring.private(name) for name in named - {key_id})
        if key_id in named and not each.ended and not others and not lose_reports:
            raise ParameterError(
                "key",
                f"one that no open task depends on; devices of {each.id.hex()} have no other"
                " (--lose-reports retires it all the same)",
                key,
            )
    store.close()
    ring.retire(key_id)
    if as_json:
        print_json({"retired": key})
        return
    say(f"{key}: retired, its file is destroyed")


@shuffler.command()
@config_option
@json_option
def token(config: str, as_json: bool) -> None:
    """Make a token for the administrator, in a file of mode 0600."""
    path = _settings(config).make_token()
    if as_json:
        print_json({"file": str(path)})
        return
    say(f"{path}: made")


@shuffler.command()
@config_option
@click.option("--listen", help="Address and port, over the configuration.")
def serve(config: str, listen: str | None) -> None:
    """Take reports until asked to end.

    Prints its address once it listens. Logs hold no addresses, names of reports or times.
    """
    from dataclasses import replace

    from shuffledp.service.server.run import serve as run

    settings = _settings(config)
    run(
        settings if listen is None else replace(settings, listen=listen),
        lambda line: click.echo(line, err=True),
    )


url_option: Callable[[F], F] = click.option(
    "--url", help="Address of the running service (default: where the configuration listens)."
)


def _administer(
    config: str, url: str | None, method: str, path: str, body: bytes | None = None
) -> dict[str, Any]:
    from shuffledp.service.client import Client

    settings = _settings(config)
    token = settings.token()
    if token is None:
        hint = "" if Path(config).exists() else f" There is no {config}: --config names another."
        raise ServiceError(
            f"There is no token in {settings.token_file}: `shuffledp shuffler token` makes one,"
            f" which the service reads when it starts.{hint}"
        )
    with Client(url or settings.url, timeout=3600.0) as client:
        return client.administer(token, method, path, body)


@shuffler.command("open")
@click.argument("task", type=READ)
@config_option
@url_option
@json_option
def open_task(task: str, config: str, url: str | None, as_json: bool) -> None:
    """Take reports for TASK, a document made by `shuffledp analyst task`."""
    from shuffledp.service.task import Task

    read = Task.load(task)
    opened = _administer(config, url, "POST", "/admin/tasks", read.document)
    if as_json:
        print_json(opened)
        return
    say(f"task {opened['task']}: open")
    say(f"privacy: {opened['guarantee']}")


@shuffler.command()
@config_option
@url_option
@json_option
def status(config: str, url: str | None, as_json: bool) -> None:
    """Tasks, what waits for them, and what became of their batches."""
    listed = _administer(config, url, "GET", "/admin/tasks")
    if as_json:
        print_json(listed)
        return
    if not listed["tasks"]:
        say("no tasks: `shuffledp shuffler open` takes a document of `analyst task`")
    for each in listed["tasks"]:
        state = "ended" if each["ended"] else "open"
        say(
            f"{each['task']}  {state}: {each['waiting']:,} wait, {each['minimum']:,} to"
            f" {each['largest']:,} are released together  {each['title']}"
        )
        for batch in each["batches"]:
            size = counted(batch["reports"], "report")
            say(f"  batch {batch['batch']}: {size}, {batch['state']}")


@shuffler.command()
@click.argument("task")
@config_option
@url_option
@json_option
def release(task: str, config: str, url: str | None, as_json: bool) -> None:
    """Close a batch of TASK (its id) and write it to the outbox,
    if it is large enough and paid for."""
    from shuffledp.service.wire import TASK_ID, parse_id

    if parse_id(task, TASK_ID) is None:
        raise ParameterError(
            "task", f"{2 * TASK_ID} digits, as `shuffledp shuffler status` lists", task
        )
    released = _administer(config, url, "POST", f"/admin/tasks/{task}/release")
    if as_json:
        print_json(released)
        return
    for each in released["released"]:
        say(f"{each['file']}: {counted(each['reports'], 'report')}")
        if not each["deleted"]:
            say("warning: its reports are not deleted yet: somebody reads the store", err=True)
    say(f"privacy, each batch: {released['guarantee']}")
    say(f"ledger: {released['ledger']}")


@shuffler.command()
@config_option
@json_option
@click.pass_context
def verify(context: click.Context, config: str, as_json: bool) -> None:
    """Read every row of the store, compare it with ledger and keys,
    and say what does not add up; ends with 1 if something does not."""
    from shuffledp.service.server.run import shuffler as made

    mine = made(_settings(config), make=False)
    problems = mine.verify()
    tasks, batches = len(mine.store.tasks()), len(mine.store.batches())
    mine.store.close()
    if as_json:
        print_json(
            {"sound": not problems, "problems": problems, "tasks": tasks, "batches": batches}
        )
    else:
        for each in problems:
            say(f"PROBLEM: {each}")
        seen = f"{counted(tasks, 'task')}, {counted(batches, 'batch')}"
        say(f"{seen}: {'NOT SOUND' if problems else 'sound'}")
    context.exit(1 if problems else 0)
