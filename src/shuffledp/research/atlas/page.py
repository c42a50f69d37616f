"""The atlas as a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shuffledp.research.atlas.cell import Cell, ClaimedValue
from shuffledp.research.atlas.summary import Line


def page(cells: Sequence[Cell], lines: Sequence[Line]) -> str:
    """Markdown: the picture, what is broken and by which data set, then every theorem."""
    return "\n".join(_paragraphs(cells, lines)) + "\n"


def _paragraphs(cells: Sequence[Cell], lines: Sequence[Line]) -> Iterator[str]:
    claims = sum(line.answered for line in lines)
    broken = [line for line in lines if line.violations]
    yield "# Soundness atlas"
    yield ""
    yield (
        f"Every theorem of the registry, asked at {len(cells)} places: mechanism, budget, number of"
        f" users n, and an epsilon at which a concrete data set leaks a given delta. That makes"
        f" {claims:,} claims. A claim counts as *violated* only if it is below the certified lower"
        " end of what the named data set leaks; a green cell proves nothing."
    )
    yield ""
    alt = "A row per theorem, a block per budget; red cells are violated claims"
    for ending, where in (("svg", "light"), ("dark.svg", "dark")) if broken else ():
        yield from (f"```{{image}} atlas.broken.{ending}", f":alt: {alt}", f":class: only-{where}")
        yield "```"
    yield ""
    yield "Data: {download}`atlas.json`, {download}`atlas.csv`. Made by `shuffledp atlas`."
    yield ""
    yield "## What is broken"
    yield ""
    for line in broken:
        yield from _broken(line)
    yield "## Violated on record"
    yield ""
    yield (
        "The data set kept in the registry for each refuted theorem,"
        " and for each asymptotic one that is"
        " too small at a finite n, computed again just now."
    )
    yield ""
    yield "| theorem | status | data set | claimed | leaked |"
    yield "| --- | --- | --- | ---: | ---: |"
    for line in lines:
        case = line.theorem.refutation
        if case is not None:
            claimed, leaked = line.on_record or (case.claimed, case.leaked)
            label = f"`{line.theorem.id}` | {line.theorem.status.value}"
            yield f"| {label} | {case.dataset} | {claimed:.4g} | {leaked:.4g} |"
    yield ""
    yield "## Every theorem"
    yield ""
    yield f"![{alt}](atlas.png)"
    yield ""
    yield "Ratio: delta claimed (or Rényi divergence of order 4) over the best lower bound."
    yield ""
    yield "| theorem | status | places | violated | smallest ratio | largest ratio |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for line in lines:
        range_ = (
            f"{line.least:.4g} | {line.greatest:.4g}"
            if line.least is not None and line.greatest is not None
            else "no answer | "
        )
        yield (
            f"| `{line.theorem.id}` | {line.theorem.status.value} | {line.answered} |"
            f" {len(line.violations)} | {range_} |"
        )


def _broken(line: Line) -> Iterator[str]:
    yield f"### {line.theorem.id}"
    yield ""
    yield (
        f"{line.theorem.citation}. {line.theorem.status.value};"
        f" violated at {len(line.violations)} of"
        f" {line.answered} places."
    )
    yield ""
    yield "| mechanism | n | asked | claimed | leaked | ratio | data set |"
    yield "| --- | ---: | --- | ---: | ---: | ---: | --- |"
    for cell, claim in line.violations:
        yield _row(cell, claim)
    yield ""


def _row(cell: Cell, claim: ClaimedValue) -> str:
    point = cell.point
    return (
        f"| {point.family.title}, {point.family.parameter} = {point.value:g} | {point.n:,} |"
        f" {claim.question} = {claim.at:g} | {claim.claimed:.3g} | {claim.leaked:.3g} |"
        f" {claim.ratio:.4g} | {claim.dataset} |"
    )
