"""Headers that keep the page to itself, on every answer."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' blob: data:; object-src 'none'; base-uri 'none';"
        b" form-action 'self'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
KEPT = (b"cache-control", b"no-cache")
"""For files: kept, but asked for anew."""
NOT_KEPT = (b"cache-control", b"no-store")
"""For answers: what was asked stays nowhere."""


class Headers:
    """Adds them, also to refusals and errors; must come before all other middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", []))
                file = any(name == b"etag" for name, _ in given)
                message["headers"] = [*given, *HEADERS, KEPT if file else NOT_KEPT]
            await send(message)

        await self.app(scope, receive, with_headers)
