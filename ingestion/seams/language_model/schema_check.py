"""Checking a reply against the part of JSON Schema that our requests use. A server's word that it did is not enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def broken_rule(value: Any, schema: Mapping[str, Any], path: str = "$") -> str:
    """The place and name of the first rule that `value` breaks, empty if it meets the schema.

    Knows type, enum, properties, required, additionalProperties (as a boolean), items, minItems, maxItems, minLength, maxLength,
    minimum, maximum. Raises `ValueError` for any other rule, so that none is passed over in silence.
    """
    unknown = set(schema) - _KNOWN
    if unknown:
        raise ValueError(f"rules that are not checked: {sorted(unknown)}")
    kinds = schema.get("type", list(_TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is(value, kind) for kind in kinds):
        return f"{path} type"
    if "enum" in schema and value not in schema["enum"]:
        return f"{path} enum"
    if isinstance(value, dict):
        return _object(value, schema, path)
    if isinstance(value, list):
        return _array(value, schema, path)
    return _size(value, schema, path)


_KNOWN = frozenset(
    """type enum properties required additionalProperties items minItems maxItems minLength maxLength minimum maximum title
    description""".split()
)


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool) and kind in ("integer", "number"):
        return False
    return isinstance(value, _TYPES[kind])


def _object(value: dict, schema: Mapping[str, Any], path: str) -> str:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            return f"{path}.{name} required"
    if schema.get("additionalProperties") is False and set(value) - set(properties):
        return f"{path} additionalProperties"
    for name, inner in properties.items():
        if name in value and (rule := broken_rule(value[name], inner, f"{path}.{name}")):
            return rule
    return ""


def _array(value: list, schema: Mapping[str, Any], path: str) -> str:
    if len(value) < schema.get("minItems", 0):
        return f"{path} minItems"
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        return f"{path} maxItems"
    for index, item in enumerate(value):
        if "items" in schema and (rule := broken_rule(item, schema["items"], f"{path}[{index}]")):
            return rule
    return ""


def _size(value: Any, schema: Mapping[str, Any], path: str) -> str:
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            return f"{path} minLength"
        if "maxLength" in schema and len(value) > schema["maxLength"]:
            return f"{path} maxLength"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if "minimum" in schema and value < schema["minimum"]:
            return f"{path} minimum"
        if "maximum" in schema and value > schema["maximum"]:
            return f"{path} maximum"
    return ""
