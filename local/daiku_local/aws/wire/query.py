# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Parameters of the EC2 and query protocols: from `A.1.B=c` to nested dictionaries.

The form is first read into a tree by its dots and then walked along the operation's description,
so that the time is that of the form's length. (A CreateFleet of 180 overrides has 900 entries;
looking each member up by prefix, as moto does, takes 0.4 s of it.)
"""

import base64
import urllib.parse
from typing import Any

Tree = dict[str, Any]


def tree(body: str) -> Tree:
    """The form as nested dictionaries of strings; list positions are keys, from "1"."""
    root: Tree = {}
    for key, value in urllib.parse.parse_qsl(body, keep_blank_values=True):
        node = root
        *parents, leaf = key.split(".")
        for part in parents:
            child = node.get(part)
            if not isinstance(child, dict):
                child = node[part] = {}
            node = child
        node[leaf] = value
    return root


def parameters(shape: Any, node: Tree, *, ec2: bool) -> dict[str, Any]:
    """The members of the input shape that the tree holds, under the API's names.

    Args:
        shape: botocore's input shape of the operation, None if it takes nothing.
        node: What `tree` gave.
        ec2: Names and lists as the EC2 protocol has them, not the query protocol.
    """
    return {} if shape is None else _structure(shape, node, ec2=ec2)


def _structure(shape: Any, node: Tree, *, ec2: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, member in shape.members.items():
        child = node.get(_wire_name(member, name, ec2=ec2))
        if child is not None:
            found[name] = _value(member, child, ec2=ec2)
    return found


def _wire_name(shape: Any, name: str, *, ec2: bool) -> str:
    traits: dict[str, str] = shape.serialization
    if not ec2:
        return traits.get("name", name)
    if "queryName" in traits:
        return traits["queryName"]
    wire = traits.get("name", name)
    return wire[:1].upper() + wire[1:]


def _value(shape: Any, node: Any, *, ec2: bool) -> Any:
    kind: str = shape.type_name
    if kind == "structure":
        return _structure(shape, node, ec2=ec2) if isinstance(node, dict) else {}
    if kind == "list":
        return _list(shape, node, ec2=ec2)
    return _scalar(kind, str(node))


def _list(shape: Any, node: Any, *, ec2: bool) -> list[Any]:
    if not isinstance(node, dict):
        return []
    if not ec2 and not shape.serialization.get("flattened"):
        node = node.get(shape.member.serialization.get("name", "member"), {})
    positions = sorted((key for key in node if key.isdigit()), key=int)
    return [_value(shape.member, node[position], ec2=ec2) for position in positions]


def _scalar(kind: str, text: str) -> Any:
    if kind in ("integer", "long"):
        return int(text)
    if kind in ("float", "double"):
        return float(text)
    if kind == "boolean":
        return text.lower() == "true"
    if kind == "blob":
        return base64.b64decode(text)
    return text
