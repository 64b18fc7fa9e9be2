"""The page of the REST interface, from the OpenAPI document that the service serves."""

import tempfile
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

_HEAD = """# REST

Made from the OpenAPI document of [`framelane serve`](../serve/README.md), which a service has at `/openapi.json`; here
it is [as a file](openapi.json).

"""


def document() -> Schema:
    """The OpenAPI document of the service."""
    from framelane.serve.api import make_app
    from framelane.serve.service import Service

    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder))
        try:
            found: Schema = make_app(service).openapi()
        finally:
            service.close()
    return found


def rest_page(described: Schema) -> str:
    """The page, as Markdown."""
    parts = [_HEAD, described["info"]["description"], ""]
    for path, methods in described["paths"].items():
        for method, call in methods.items():
            parts += [f"## {method.upper()} {path}", "", _call(call)]
    parts += ["## Objects", ""]
    for name, schema in described["components"]["schemas"].items():
        parts += [f"### {name}", "", schema.get("description", ""), "", _fields(schema), ""]
    return "\n".join(parts)


def _call(call: Schema) -> str:
    parts = [str(call.get("description", call["summary"])), ""]
    if found := call.get("parameters"):
        parts += ["| query | type | |", "|---|---|---|"]
        parts += [f"| `{each['name']}` | {_type(each['schema'])} | {each.get('description', '')} |" for each in found]
        parts.append("")
    for media in call.get("requestBody", {}).get("content", {}).values():
        parts += [f"Takes: {_type(media['schema'])}.", ""]
    parts += ["| answer | | |", "|---|---|---|"]
    for code, answer in call["responses"].items():
        kinds = ", ".join(_answer(kind, media) for kind, media in answer.get("content", {}).items())
        parts.append(f"| {code} | {answer['description']} | {kinds} |")
    return "\n".join(parts) + "\n"


def _answer(kind: str, media: Schema) -> str:
    if kind == "application/json" and media.get("schema"):
        return _type(media["schema"])
    return f"`{kind}`"


def _fields(schema: Schema) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"]) + "."
    rows = ["| field | type | |", "|---|---|---|"]
    for name, each in schema.get("properties", {}).items():
        needed = "needed. " if name in schema.get("required", ()) else ""
        rows.append(f"| `{name}` | {_type(each)} | {needed}{' '.join(each.get('description', '').split())} |")
    return "\n".join(rows)


def _type(schema: Schema) -> str:
    """A type in words, with its bounds; a link where it is an object of this page."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for joined in ("anyOf", "oneOf", "allOf"):
        if joined in schema:
            return " or ".join(_type(each) for each in schema[joined])
    if "enum" in schema or "const" in schema:
        values: list[Any] = schema.get("enum") or [schema["const"]]
        return ", ".join(f"`{value}`" for value in values)
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"array of {_type(schema.get('items', {}))}"
    names = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {schema[key]}" for key, sign in names.items() if key in schema]
    return " ".join([kind, ", ".join(bounds)]).strip()
