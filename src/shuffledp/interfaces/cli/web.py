"""shuffledp web: the calculator page."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any

import click

from shuffledp.errors import MissingExtraError

_BACKLOG = 1024
"""Connections that wait in the kernel until they are accepted."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8571,
    show_default=True,
    help="Port to listen on; 0: any that is free.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="Processes that compute.",
)
@click.option(
    "--deadline",
    type=click.FloatRange(0.1, 3600.0),
    default=10.0,
    show_default=True,
    help="Seconds a question may take.",
)
def web(host: str, port: int, workers: int, deadline: float) -> None:
    """Serve the calculator: slide n and eps0, see the guarantee.

    Listens on this machine only unless --host says otherwise. Nothing about visitors is logged.
    """
    try:
        import uvicorn

        from shuffledp.interfaces.web.api import application
        from shuffledp.interfaces.web.connections import connection_class, most_connections
    except ImportError as error:
        raise MissingExtraError("web", "The calculator page") from error
    hosts = {"localhost", "127.0.0.1", "[::1]", host}
    if host in ("0.0.0.0", "::"):
        hosts = {"*"}
    most = most_connections()
    queue = min(256, max(most // 2, 1))
    app = application(workers=workers, deadline=deadline, queue=queue, hosts=sorted(hosts))
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=connection_class(most),
        ws="none",
        backlog=max(most // 8, 1),  # how many are accepted before the first of them is seen
        access_log=False,
        log_level="error",
        proxy_headers=False,
        server_header=False,
    )
    listening = config.bind_socket()
    # an answer goes out at once; connections inherit this
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    shown = f"[{host}]" if ":" in host else host

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            listening.listen(_BACKLOG)
            address = f"http://{shown}:{listening.getsockname()[1]}/"
            click.echo(f"{address}  (Ctrl+C ends it)", err=True)

    with suppress(KeyboardInterrupt):  # that is how it ends
        Announcing(config).run([listening])
