"""Speed of the calculator's HTTP interface under load, on this machine.

    python bench/web.py [--json]

Wants: 100 users at once, 20 questions each, no error, p99 <= 1 s on 2 cores. The users look at 40
deployments; an answer once computed is remembered, so most questions find one (``fresh`` counts
those that do not).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
import urllib.request

USERS, QUESTIONS, DEPLOYMENTS = 100, 20, 40


def main() -> None:
    command = [sys.executable, "-m", "shuffledp", "web", "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    found = re.match(r"(http://\S+)/", server.stderr.readline())
    assert found
    times: list[float] = []
    errors: list[str] = []

    def user(number: int) -> None:
        for step in range(QUESTIONS):
            n = 1000 + 1000 * ((7 * number + step) % DEPLOYMENTS)
            start = time.perf_counter()
            try:
                address = f"{found[1]}/api/account?eps0=2&n={n}&delta=1e-6"
                with urllib.request.urlopen(address, timeout=60) as reply:
                    json.load(reply)
            except OSError as error:
                errors.append(str(error))
            times.append(time.perf_counter() - start)

    with urllib.request.urlopen(f"{found[1]}/api/account?eps0=1&n=10&delta=0.1") as warm:
        warm.read()
    began = time.perf_counter()
    users = [threading.Thread(target=user, args=(number,)) for number in range(USERS)]
    for each in users:
        each.start()
    for each in users:
        each.join()
    total = time.perf_counter() - began
    server.terminate()
    server.wait()
    ranked = sorted(times)
    result = {
        "requests": len(times),
        "fresh": DEPLOYMENTS,
        "errors": len(errors),
        "requests_per_second": len(times) / total,
        "p50": ranked[len(ranked) // 2],
        "p99": ranked[int(0.99 * len(ranked))],
        "slowest": ranked[-1],
    }
    if "--json" in sys.argv:
        print(json.dumps(result, indent=2))
        return
    for name, value in result.items():
        print(f"{name:20} {value:.4g}")


if __name__ == "__main__":
    main()
