"""Single faults in Python: an operator, a constant, a condition, an order or a statement of one line changed.

Found in the syntax tree, so that annotations, docstrings and decorators stay; the texts of messages do, too. A protocol
has no faults: nothing of it runs.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mutations import Mutation

COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
COMPUTED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
OTHERS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "reversed": "list"}
"""Functions, and what is called in their place."""
MASK = 0xFF
"""From here on a number whose bits are all ones is a mask: it loses its highest bit."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Columns of one line, from 1 and from 0, in characters."""

    number: int
    start: int
    stop: int


class _Finder:
    """Faults of one source."""

    def __init__(self, block: str, source: str) -> None:
        self._block = block
        self._lines = source.splitlines()
        self._tree = ast.parse(source)
        self._parents = {child: node for node in ast.walk(self._tree) for child in ast.iter_child_nodes(node)}

        self._functions = [node for node in ast.walk(self._tree) if isinstance(node, ast.FunctionDef)]

    def all(self) -> Iterator[Mutation]:
        """All of them, in the order of the tree."""
        yield from self._visit(self._tree)

    def _visit(self, node: ast.AST) -> Iterator[Mutation]:
        if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):  # before 3.12 the first has no places
            return
        if isinstance(node, ast.ClassDef) and any(isinstance(b, ast.Name) and b.id == "Protocol" for b in node.bases):
            return
        yield from self._of(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases", "type_params", "msg"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self._visit(child)

    def _of(self, node: ast.AST) -> Iterator[Mutation]:
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for left, right, compared in zip(operands, operands[1:], node.ops, strict=False):
                    yield from self._between(left, right, *COMPARED[type(compared)])
            case ast.BinOp() if type(node.op) in COMPUTED:
                yield from self._between(node.left, node.right, *COMPUTED[type(node.op)])
            case ast.BoolOp():
                words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from self._between(left, right, *words)
            case ast.AugAssign() if type(node.op) in COMPUTED:
                sign, other = COMPUTED[type(node.op)]
                yield from self._between(node.target, node.value, f"{sign}=", "=")
                yield from self._between(node.target, node.value, f"{sign}=", f"{other}=")
                yield from self._dropped(node)
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                yield from self._replaced("condition", node, self._text(node.operand))
            case ast.If() | ast.IfExp():
                yield from self._replaced("condition", node.test, f"not ({self._text(node.test)})")
            case ast.comprehension():
                for test in node.ifs:
                    yield from self._replaced("condition", test, "True")
            case ast.Constant():
                yield from self._constant(node)
            case ast.Call(func=ast.Name(id=name)) if name in OTHERS:
                yield from self._called(node, name)
            case ast.Tuple(elts=[one, two], ctx=ast.Load()) if not isinstance(self._parents[node], ast.Subscript):
                yield from self._swapped(one, two)
            case ast.Return() | ast.Continue() | ast.Break() | ast.Raise() | ast.Delete():
                yield from self._dropped(node)
            case ast.Expr(value=ast.Call() | ast.YieldFrom() | ast.Yield()):
                yield from self._dropped(node)
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
                yield from self._dropped(node)

    def _constant(self, node: ast.Constant) -> Iterator[Mutation]:
        match node.value:
            case bool():
                yield from self._replaced("constant", node, str(not node.value))
            case int() if node.value >= MASK and not node.value & node.value + 1:
                yield from self._replaced("constant", node, hex(node.value >> 1))
            case int():
                yield from self._replaced("constant", node, str(node.value + 1))
                if node.value:
                    yield from self._replaced("constant", node, str(node.value - 1))
            case "little" | "big":
                yield from self._replaced("constant", node, '"big"' if node.value == "little" else '"little"')

    def _called(self, node: ast.Call, name: str) -> Iterator[Mutation]:
        if OTHERS[name] != "list":
            yield from self._replaced("order", node.func, OTHERS[name])
        elif node.args:
            text = self._text(node.args[0])
            yield from self._replaced("order", node, f"list({text})" if text else "")

    def _swapped(self, one: ast.expr, two: ast.expr) -> Iterator[Mutation]:
        first, second = self._span(one), self._span(two)
        if first and second and first.number == second.number:
            between = self._lines[first.number - 1][first.stop : second.start]
            text = f"{self._text(two)}{between}{self._text(one)}"
            yield from self._at("order", _Span(first.number, first.start, second.stop), text)

    def _dropped(self, node: ast.stmt) -> Iterator[Mutation]:
        """Without the statement. The last return of a function without a value says nothing."""
        if not (isinstance(node, ast.Return) and isinstance(self._parents[node], ast.FunctionDef)):
            yield from self._replaced("statement", node, "pass")

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[Mutation]:
        """The operator `old` between two operands becomes `new`."""
        if left.end_lineno is None or left.end_col_offset is None:
            return
        edge = r"\b" if old[0].isalpha() else ""
        for number in range(left.end_lineno, right.lineno + 1):
            line = self._lines[number - 1]
            start = self._column(number, left.end_col_offset) if number == left.end_lineno else 0
            stop = self._column(number, right.col_offset) if number == right.lineno else len(line)
            pattern = edge + re.escape(old).replace(r"\ ", r"\s+") + edge
            if match := re.search(pattern, line[start:stop].partition("#")[0]):
                span = _Span(number, start + match.start(), start + match.end())
                kind = "condition" if new in ("and", "or") else "operator"
                yield from self._at(kind, span, new)
                return

    def _replaced(self, kind: str, node: ast.expr | ast.stmt, text: str) -> Iterator[Mutation]:
        span = self._span(node)
        if span and text:
            yield from self._at(kind, span, text)

    def _at(self, kind: str, span: _Span, text: str) -> Iterator[Mutation]:
        line = self._lines[span.number - 1]
        new = line[: span.start] + text + line[span.stop :]
        if new != line and self._is_python(span.number, new):
            yield Mutation(self._block, span.number, kind, line, new)

    def _is_python(self, number: int, new: str) -> bool:
        """Whether the function around a line is one with `new` in its place: an operand may need parentheses now."""
        around = [node for node in self._functions if node.lineno <= number <= (node.end_lineno or 0)]
        node = max(around, key=lambda each: each.lineno, default=None)
        first, last = (node.lineno, node.end_lineno) if node else (1, len(self._lines))
        lines = [*self._lines[first - 1 : number - 1], new, *self._lines[number:last]]
        if node and node.col_offset:
            lines = ["if True:", *lines]
        try:
            ast.parse("\n".join(lines))
        except SyntaxError:
            return False
        return True

    def _span(self, node: ast.expr | ast.stmt) -> _Span | None:
        """Where it is, if it is on one line."""
        if node.end_lineno != node.lineno or node.end_col_offset is None:
            return None
        start, stop = (self._column(node.lineno, offset) for offset in (node.col_offset, node.end_col_offset))
        return _Span(node.lineno, start, stop)

    def _text(self, node: ast.expr) -> str:
        """Its source; empty where it has several lines."""
        span = self._span(node)
        return self._lines[span.number - 1][span.start : span.stop] if span else ""

    def _column(self, number: int, offset: int) -> int:
        """The place in the line of an offset in bytes."""
        return len(self._lines[number - 1].encode()[:offset].decode())


def every(block: str, source: str) -> Iterator[Mutation]:
    """All single faults of a source, in its order, each once."""
    yield from sorted(dict.fromkeys(_Finder(block, source).all()), key=lambda m: m.number)
