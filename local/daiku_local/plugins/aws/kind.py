"""What a resource type of the stand-in for `aws` is made of, and the table of all of them.

A type is a class with a token and four verbs in AWS's own words. What all types have in common
(checks, diffs, tags, waiting, errors) is `provider`'s.
"""

from typing import Any, ClassVar, TypeVar

from daiku_local.plugins import values
from daiku_local.plugins.aws.cloud import Cloud, tag_list
from daiku_local.plugins.values import Plain


def names(text: str) -> frozenset[str]:
    """Give the words of `text`."""
    return frozenset(text.split())


class Kind:
    """One resource type: how it is made, seen, changed and removed."""

    fixed: ClassVar[frozenset[str]] = frozenset()
    """Inputs that AWS cannot change: another value is another resource."""
    live: ClassVar[frozenset[str]] = frozenset()
    """Inputs that `update` changes in place. An input that is in neither is refused."""
    ignored: ClassVar[frozenset[str]] = frozenset()
    """Inputs that say how to delete or to wait, and mean nothing to AWS itself."""
    tagged: ClassVar[bool] = False
    """It has tags."""
    named: ClassVar[str] = ""
    """The input that is made from the resource's name when it is not given, such as "name"."""
    delete_first: ClassVar[bool] = False
    """Two of them cannot exist at once, so a replacement deletes before it creates."""

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        """Make it; give its id."""
        raise NotImplementedError

    def preview(self, inputs: Plain) -> Plain:
        """Give what is known before it exists: outputs that are missing are known after.

        Only an output that is given in part needs a word here: its other fields are `UNKNOWN`.
        """
        return inputs

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        """Do what follows the making: attributes, attachments, waiting until it is ready."""

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        """Give its properties, None if it does not exist.

        Args:
            cloud: Where it is.
            identifier: Its id.
            known: Its last known properties: inputs, after `create` only those.
        """
        raise NotImplementedError

    def same(self, name: str, observed: Any, wanted: Any) -> bool:
        """Tell whether what AWS shows for the input `name` is what the program asks for."""
        del name
        return values.covers(observed, wanted)

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        """Set the inputs `changed`, all of them in `live`, to their values in `new`."""

    def retag(
        self, cloud: Cloud, identifier: str, state: Plain, added: Plain, removed: list[str]
    ) -> None:
        """Set the tags `added`, then remove the tags `removed`."""
        raise NotImplementedError

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        """Remove it. What does not exist may raise AWS's not-found error."""
        raise NotImplementedError


class Ec2Kind(Kind):
    """A resource type of EC2, whose tags are all set the same way."""

    tagged = True
    ec2_type: ClassVar[str] = ""
    """EC2's name of the type, for tags given at creation, such as "vpc"."""

    def tag_specifications(self, inputs: Plain) -> dict[str, Any]:
        """Give the argument that tags the resource as it is made, empty without tags."""
        tags = tag_list(inputs.get("tagsAll"))
        if not tags:
            return {}
        return {"TagSpecifications": [{"ResourceType": self.ec2_type, "Tags": tags}]}

    def retag(
        self, cloud: Cloud, identifier: str, state: Plain, added: Plain, removed: list[str]
    ) -> None:
        """Set and remove tags by the id."""
        del state
        if added:
            cloud.ec2.create_tags(Resources=[identifier], Tags=tag_list(added))
        if removed:
            cloud.ec2.delete_tags(Resources=[identifier], Tags=[{"Key": key} for key in removed])


KINDS: dict[str, Kind] = {}
"""Every resource type by its token; filled by the modules that hold them."""

AnyKind = TypeVar("AnyKind", bound=Kind)


def kind(token: str) -> Any:
    """Enter the class below into `KINDS`."""

    def enter(cls: type[AnyKind]) -> type[AnyKind]:
        KINDS[token] = cls()
        return cls

    return enter
