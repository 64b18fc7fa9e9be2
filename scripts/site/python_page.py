"""The page of the public names of Python, from their sources: signatures, fields, docstrings."""

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

from plain_text import cell, markdown

PACKAGES = ("receiver", "calibration", "source", "driver", "serve", "control")
_HEAD = """# Python, name by name

Made from the sources: signatures, shapes, units and errors of all public names. [From Python](api.md) shows how they
are used.
"""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_page() -> str:
    """The page, as Markdown."""
    parts = [_HEAD]
    for package in PACKAGES:
        module = importlib.import_module(f"framelane.{package}")
        parts += [f"## framelane.{package}\n", markdown(module.__doc__ or "")]
        for name in sorted(module.__all__):
            parts += [f"### {name}\n", *_described(getattr(module, name))]
    return "\n".join(parts)


def _described(thing: Any) -> Iterator[str]:
    node = ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]
    if isinstance(node, Function):
        yield from _function(node)
    if isinstance(node, ast.ClassDef):
        yield _docstring(node)
        yield from _fields(node)
        for member in node.body:
            if isinstance(member, Function) and (member.name == "__init__" or not member.name.startswith("_")):
                yield from _function(member)


def _function(node: Function) -> Iterator[str]:
    """A function with its docstring; a property is named alone."""
    decorators = {ast.unparse(each) for each in node.decorator_list}
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    if decorators & {"property", "cached_property", "functools.cached_property"}:
        yield f"```python\n{node.name}: {ast.unparse(node.returns) if node.returns else 'Any'}\n```\n"
    else:
        word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        yield f"```python\n{word} {node.name}{_arguments(node.args)}{returns}\n```\n"
    yield _docstring(node)


def _arguments(arguments: ast.arguments) -> str:
    """In one line where they are short, else one on each."""
    whole = ast.unparse(arguments).removeprefix("self, ").removeprefix("self").removeprefix("cls, ")
    if len(whole) <= 80:
        return f"({whole})"
    call = ast.parse(f"def f({whole}): ...").body[0]
    assert isinstance(call, ast.FunctionDef)
    found = call.args
    lines, given = [], [*found.posonlyargs, *found.args]
    defaults: list[ast.expr | None] = [*[None] * (len(given) - len(found.defaults)), *found.defaults]
    lines += [_argument(each, default) for each, default in zip(given, defaults, strict=True)]
    if found.vararg:
        lines.append(f"*{ast.unparse(found.vararg)}")
    elif found.kwonlyargs:
        lines.append("*")
    lines += [_argument(each, default) for each, default in zip(found.kwonlyargs, found.kw_defaults, strict=True)]
    if found.kwarg:
        lines.append(f"**{ast.unparse(found.kwarg)}")
    return "(\n" + "".join(f"    {line},\n" for line in lines) + ")"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default else "")


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """A table of the fields of a class, or of the members of an enum, with the strings below them."""
    rows = []
    for member, below in zip(node.body, [*node.body[1:], ast.Pass()], strict=True):
        said = ""
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            said = below.value.value
        match member:
            case ast.AnnAssign(target=ast.Name(id=name)):
                default = f"`{ast.unparse(member.value)}`" if member.value else ""
                rows.append((name, f"`{ast.unparse(member.annotation)}`", default, said))
            case ast.Assign(targets=[ast.Name(id=name)]):
                rows.append((name, "", f"`{ast.unparse(member.value)}`", said))
    found = [row for row in rows if not row[0].startswith("_") and row[0] != "model_config"]
    if found:
        yield "| field | type | default | |\n|---|---|---|---|"
        yield from (f"| `{name}` | {' | '.join(cell(each) for each in others)} |" for name, *others in found)
        yield ""


def _docstring(node: Function | ast.ClassDef) -> str:
    return markdown(ast.get_docstring(node) or "") + "\n"
