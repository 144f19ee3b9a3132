"""The components for programs in any Pulumi language: `python -m daiku_infra ENGINE_ADDRESS`.

Pulumi reads the schema from the components' own annotations and docstrings, but hands arguments over
as plain dicts. Here they become the dataclasses that the components take, and back.
"""

import dataclasses
import inspect
import json
import sys
import types
import typing
from typing import Any

import pulumi
from pulumi.provider import main as serve
from pulumi.provider.experimental import schema
from pulumi.provider.experimental.analyzer import (
    ComponentDefinition,
    PropertyDefinition,
    TypeDefinition,
)
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.experimental.util import camel_case

import daiku_infra

PACKAGE = "daiku"
"""Name of the Pulumi package: a Vpc is a daiku:index:Vpc."""
VERSION = "0.1.0"
"""Version of the Pulumi package."""
COMPONENTS: list[type[pulumi.ComponentResource]] = [
    daiku_infra.Environment,
    daiku_infra.Vpc,
    daiku_infra.VpcEndpoints,
    daiku_infra.FlowLogs,
    daiku_infra.ExistingVpc,
    daiku_infra.Cluster,
    daiku_infra.ClusterAccess,
    daiku_infra.SystemNodeGroup,
    daiku_infra.NodeSecurityGroup,
    daiku_infra.NodeRole,
    daiku_infra.InterruptionQueue,
    daiku_infra.ControllerPolicy,
    daiku_infra.ServiceAccountRole,
    daiku_infra.Autoscaler,
    daiku_infra.NodePools,
    daiku_infra.ControllerImage,
    daiku_infra.Platform,
]
"""What the package offers."""


class Provider(ComponentProvider):
    """Makes components on behalf of programs in other languages."""

    def __init__(self) -> None:
        """Read the schema; what has a default in Python may be left out in every language."""
        super().__init__(COMPONENTS, PACKAGE, None, VERSION)
        for name, definition in self._component_defs.items():
            _free_defaults(_args_type(self._components[name]), definition.inputs)
        for definition in self._type_defs.values():
            _free_defaults(definition.python_type, definition.properties)
        described = schema.generate_schema(
            PACKAGE, VERSION, None, self._component_defs, self._type_defs, self._dependencies
        )
        self.schema = json.dumps(described.to_json())

    def map_inputs(self, inputs: Any, component_def: ComponentDefinition) -> Any:
        """Give the component's arguments as the dataclass that it takes."""
        values = super().map_inputs(inputs, component_def)
        return build(_args_type(self._components[component_def.name]), values)

    def map_complex_output(self, instance_val: Any, type_def: TypeDefinition) -> Any:
        """Give a dataclass among the outputs in the words of the schema."""
        if not dataclasses.is_dataclass(instance_val):
            return super().map_complex_output(instance_val, type_def)
        names = [field.name for field in dataclasses.fields(instance_val)]
        fields = {name: getattr(instance_val, name) for name in names}
        return super().map_complex_output(fields, type_def)


def build(expected: Any, value: Any) -> Any:
    """Make what an annotation promises out of dicts and lists.

    Args:
        expected: A dataclass, a list of them, either of these or None; anything else is left alone.
        value: What Pulumi handed over.
    """
    if typing.get_origin(expected) in {typing.Union, types.UnionType}:
        for option in typing.get_args(expected):
            if option is not types.NoneType and value is not None:
                value = build(option, value)
        return value
    if typing.get_origin(expected) is list and isinstance(value, list):
        [item_type] = typing.get_args(expected)
        return [build(item_type, item) for item in typing.cast("list[Any]", value)]
    if (
        isinstance(expected, type)
        and dataclasses.is_dataclass(expected)
        and isinstance(value, dict)
    ):
        types_by_name = {field.name: field.type for field in dataclasses.fields(expected)}
        given = typing.cast("dict[str, Any]", value)
        return expected(**{name: build(types_by_name[name], item) for name, item in given.items()})
    return value


def main() -> None:
    """Serve until the engine hangs up."""
    serve(Provider(), sys.argv[1:])


def _args_type(component: type[pulumi.ComponentResource]) -> Any:
    """The dataclass that a component takes."""
    return inspect.get_annotations(component.__init__)["args"]


def _free_defaults(python_type: Any, properties: dict[str, PropertyDefinition]) -> None:
    """Mark what has a default as optional. Pulumi's analyzer knows only of None."""
    if not dataclasses.is_dataclass(python_type):
        return
    for field in dataclasses.fields(python_type):
        required = field.default is field.default_factory is dataclasses.MISSING
        if not required:
            properties[camel_case(field.name)].optional = True


if __name__ == "__main__":
    main()
