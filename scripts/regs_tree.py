"""Read an elaborated SystemRDL map into the driver's registers."""

from collections.abc import Iterator

from systemrdl.node import AddrmapNode, FieldNode, Node, RegfileNode, RegNode
from systemrdl.rdltypes.builtin_enums import AccessType, OnWriteType

from framelane.driver.registers.register import Access, Field, Register
from regs_text import Group

VALUE = "value"
"""Name of a field that is all of its register, which describes it."""


def groups_of(top: AddrmapNode, prefix: str = "") -> tuple[Group, ...]:
    """The registers that the RTL holds, then those of each table; ValueError where a description is missing.

    The names of all begin with `prefix`.
    """
    block = held(top)
    own = _table(block) if block.is_array else _group(block, prefix, 1, 0)
    return (own, *(_table(table, prefix) for table in _tables(top)))


def held(top: AddrmapNode) -> AddrmapNode:
    """The part of a map that the generated RTL holds: its only addrmap, or all of it where it has none."""
    (block,) = [node for node in top.children(unroll=False) if isinstance(node, AddrmapNode)] or [top]
    return block


def _tables(top: AddrmapNode) -> Iterator[RegfileNode]:
    for place in top.children(unroll=False):
        if isinstance(place, RegfileNode):
            yield from (node for node in place.children(unroll=False) if isinstance(node, RegfileNode))


def _table(table: AddrmapNode | RegfileNode, prefix: str = "") -> Group:
    count, stride = (table.n_elements, table.array_stride or 0) if table.is_array else (1, 0)
    name = f"{table.inst_name}[]." if table.is_array else f"{table.inst_name}."
    return _group(table, prefix + name, count, stride)


def _group(block: AddrmapNode | RegfileNode, prefix: str, count: int, stride: int) -> Group:
    nodes = (node for node in block.children(unroll=False) if isinstance(node, RegNode))
    registers = tuple(_register(node, prefix, count, stride) for node in nodes)
    return Group(_text(block, "name"), _text(block, "desc"), registers)


def _register(node: RegNode, prefix: str, count: int, stride: int) -> Register:
    return Register(
        name=prefix + node.inst_name,
        offset=node.raw_absolute_address,
        width=node.get_property("regwidth"),
        fields=tuple(_field(field) for field in node.fields()),
        count=count,
        stride=stride,
        description=_text(node, "desc"),
    )


def _field(node: FieldNode) -> Field:
    described = node.parent if node.inst_name == VALUE else node
    reset = node.get_property("reset")
    value = reset if isinstance(reset, int) else 0
    return Field(node.inst_name, node.lsb, node.width, _access(node), value, _text(described, "desc"))


def _access(node: FieldNode) -> Access:
    if node.get_property("singlepulse"):
        return "pulse"
    if node.get_property("onwrite") is OnWriteType.woclr:
        return "w1c"
    return "r" if node.get_property("sw") is AccessType.r else "rw"


def _text(node: Node, what: str) -> str:
    text = node.get_property(what) if what in node.list_properties() else None
    if not text:
        raise ValueError(f"{node.get_path()} has no {what}: give it one in its RDL")
    return " ".join(text.split())
