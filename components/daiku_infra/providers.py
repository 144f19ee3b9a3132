"""The generated SDKs of the providers, imported in one place, each part when it is first used.

They are large: together they take longer to import than everything else here, and a program that makes
a network needs few of them. On import they warn of classes of their own that nobody here uses. Those
warnings would stop a program or a test that runs with warnings as errors, and tell nobody anything.

Annotations that name a class of theirs are written in quotes, or they would be its first use.
"""

import importlib
import types
import typing
import warnings


class Quietly:
    """A package that is imported when an attribute of it is first asked for, without its warnings."""

    def __init__(self, package: str) -> None:
        """Import nothing yet."""
        self._package = package

    def __getattr__(self, name: str) -> object:
        """The package's attribute; a submodule is loaded here and now, while nobody listens.

        Raises:
            AttributeError: The package has no such attribute.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            found = getattr(importlib.import_module(self._package), name)
            if isinstance(found, types.ModuleType):
                # A submodule loads itself when a name without underscores is first looked for in it.
                getattr(found, "anything", None)
        setattr(self, name, found)
        return found


if typing.TYPE_CHECKING:
    import pulumi_aws as aws
    import pulumi_docker_build as docker_build
    import pulumi_eks as eks
    import pulumi_kubernetes as kubernetes
else:
    aws = Quietly("pulumi_aws")
    docker_build = Quietly("pulumi_docker_build")
    eks = Quietly("pulumi_eks")
    kubernetes = Quietly("pulumi_kubernetes")

__all__ = ["aws", "docker_build", "eks", "kubernetes"]
