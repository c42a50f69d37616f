"""All small changes of a file that could make an answer wrong."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

_PARTNERS = [
    ("up", "down"),
    ("upper", "lower"),
    ("delta_upper", "delta_lower"),
    ("max", "min"),
    ("maximum", "minimum"),
    ("argmax", "argmin"),
    ("ceil", "floor"),
    ("any", "all"),
    ("first", "second"),
    ("low", "high"),
]
_SWAPPED = {a: b for pair in _PARTNERS for a, b in (pair, pair[::-1])}
_UNCHARGED = {"all_orders", "roundings"}
"""Functions that charge for errors: mutants charge nothing."""
_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_SHIFTED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_OPPOSITE: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


@dataclass(frozen=True)
class Mutant:
    """One change: which file, where, and what it says before and after."""

    path: str
    line: int
    function: str
    """Qualified name; empty outside of functions."""
    before: str
    after: str
    start: int
    end: int
    """Of what is replaced, in bytes."""
    earlier: int = 0
    """How often the function says the same before."""

    @property
    def id(self) -> str:
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        again = f" ({self.earlier + 1})" if self.earlier else ""
        return f"{self.path} {self.function or '<module>'}: {before} => {after}{again}"

    def applied(self, source: bytes) -> bytes:
        """The file with the change."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def mutants(path: str, source: bytes, boundaries: bool) -> list[Mutant]:
    """Every change of this file; ``boundaries``: of < to <= as well."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[tuple[int, int, str], Mutant] = {}
    said: Counter[str] = Counter()
    for node, function in _places(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = source[start:end].decode()
        for changed in _changes(node, boundaries):
            after = ast.unparse(changed)
            after = f"({after})" if isinstance(node, ast.expr) else after
            mutant = Mutant(path, node.lineno, function, before, after, start, end)
            if (start, end, after) not in found:
                found[start, end, after] = replace(mutant, earlier=said[mutant.id])
                said[mutant.id] += 1
    return list(found.values())


_Node = ast.expr | ast.stmt


_DECISIONS = ast.Name | ast.Attribute | ast.Call | ast.BoolOp


class _Decision(ast.expr):
    """What an if asks, apart from its parts."""

    _fields = ("value",)
    value: ast.expr


def _places(tree: ast.Module) -> Iterator[tuple[_Node, str]]:
    """Code that computes or decides, with the function it stands in."""

    def walk(node: ast.AST, function: str, scope: str) -> Iterator[tuple[_Node, str]]:
        if isinstance(node, ast.ClassDef):
            for child in node.body:
                yield from walk(child, function, f"{scope}{node.name}.")
            return
        if isinstance(node, ast.FunctionDef):
            name = f"{scope}{node.name}"
            if node.name not in ("__str__", "__repr__"):
                for child in [*node.args.defaults, *node.body]:
                    yield from walk(child, name, f"{name}.<locals>.")
            return
        if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
            return
        if not function and not isinstance(node, ast.Module | ast.Assign | ast.If):
            return  # registrations, types
        if isinstance(node, ast.Raise):
            yield node, function
            return  # what it says is not counted here
        if isinstance(node, ast.expr | ast.stmt):
            yield node, function
        if isinstance(node, ast.If | ast.IfExp) and isinstance(node.test, _DECISIONS):
            yield ast.copy_location(_Decision(node.test), node.test), function
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "slice", "decorator_list") or (
                name == "func" and isinstance(value, ast.Name)
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child, function, scope)

    yield from walk(tree, "", "")


def _changes(node: _Node, boundaries: bool) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=[op]):
            for table in (_NEGATED, _SHIFTED) if boundaries else (_NEGATED,):
                if type(op) in table:
                    yield ast.Compare(node.left, [table[type(op)]()], node.comparators)
        case ast.Compare(ops=[_, _], comparators=[middle, right]):
            yield ast.Compare(node.left, node.ops[:1], [middle])
            yield ast.Compare(middle, node.ops[1:], [right])
        case ast.BinOp(op=op) if not isinstance(node.left, ast.Constant | ast.JoinedStr):
            if type(op) in _OPPOSITE:
                yield ast.BinOp(node.left, _OPPOSITE[type(op)](), node.right)
            if isinstance(op, ast.Add | ast.Sub | ast.Mult):
                yield node.left
        case ast.BinOp(op=ast.Add()):
            yield ast.BinOp(node.left, ast.Sub(), node.right)
            yield node.right
        case ast.BinOp(op=ast.Sub()):
            yield ast.BinOp(node.left, ast.Add(), node.right)
        case ast.AugAssign(op=op):
            yield ast.Pass()
            if type(op) in _OPPOSITE:
                yield ast.AugAssign(node.target, _OPPOSITE[type(op)](), node.value)
        case ast.BoolOp(op=op):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.USub() | ast.Not()) if not isinstance(node.operand, ast.Constant):
            yield node.operand
        case ast.Call(func=ast.Name(id=name)):
            if name in _SWAPPED:
                yield ast.Call(ast.Name(_SWAPPED[name]), node.args, node.keywords)
            if name in _UNCHARGED:
                yield ast.Constant(0.0) if name == "roundings" else node.args[0]
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in _SWAPPED:
            yield ast.Attribute(node.value, _SWAPPED[name])
        case _Decision(value=test):
            yield ast.UnaryOp(ast.Not(), test)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
