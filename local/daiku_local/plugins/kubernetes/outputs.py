"""Objects as the outputs of resources, and in words."""

from typing import Any, Final, cast

from daiku_local.plugins.kubernetes import objects
from daiku_local.plugins.kubernetes.client import ApiError
from daiku_local.plugins.servicer import Subject
from daiku_local.plugins.values import UNKNOWN, Plain, Secret

MANAGER: Final = "__fieldManager"
"""Output that keeps the field manager of an object, as the real plugin's state does."""


def told(subject: Subject, inputs: Plain) -> str:
    """Name an object for a person."""
    meta = objects.metadata(inputs)
    where = f" in namespace {meta['namespace']!r}" if meta.get("namespace") else ""
    return f"{inputs.get('kind', subject.type)} {meta.get('name', subject.name)!r}{where}"


def remedied(error: ApiError) -> str:
    """Say what to do about a conflict of field managers."""
    if error.status != 409:
        return str(error)
    return (
        f"{error}; another field manager set these fields: leave them to it (ignore_changes), or "
        f'take them over with the annotation pulumi.com/patchForce: "true"'
    )


def body(inputs: Plain) -> Plain:
    """Give what is applied: a program may copy an object with its status, which is not its own."""
    return {key: value for key, value in inputs.items() if key != "status"}


def of(obj: Plain, manager: str) -> Plain:
    """Give an object as outputs: without the field managers' book-keeping, secrets kept secret."""
    meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    outputs = {**obj, "metadata": meta, MANAGER: manager or None}
    if obj.get("kind") == "Secret":
        for key in ("data", "stringData"):
            if key in outputs:
                outputs[key] = Secret(outputs[key])
    return outputs


def unknown_yet(outputs: Plain) -> Plain:
    """Mark what only the real creation will tell; a dry run makes it up."""
    metadata = {**outputs["metadata"], **dict.fromkeys(objects.SERVER_METADATA, UNKNOWN)}
    result = {**outputs, "metadata": metadata, "status": UNKNOWN}
    if outputs.get("kind") == "Service" and isinstance(outputs.get("spec"), dict):
        made_up = dict.fromkeys({"clusterIP", "clusterIPs"} & outputs["spec"].keys(), UNKNOWN)
        result["spec"] = {**outputs["spec"], **made_up}
    return result


def imported(live: Plain) -> Plain:
    """Give the inputs that would make the object `live`."""
    inputs = objects.substance(live)
    inputs.pop("status", None)
    return inputs


def overlaid(inputs: Any, live: Any, again: Any) -> Any:
    """Give `inputs` with `live`'s values where applying them again would change something."""
    if live == again:
        return inputs
    if isinstance(inputs, dict) and isinstance(live, dict) and isinstance(again, dict):
        mine, theirs, wanted = cast("Plain", inputs), cast("Plain", live), cast("Plain", again)
        fields = {
            key: overlaid(value, theirs.get(key), wanted.get(key)) for key, value in mine.items()
        }
        return {key: value for key, value in fields.items() if value is not None}
    return cast("Any", live)
