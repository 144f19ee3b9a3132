"""The stand-in for `docker-build` as the engine sees it: an image that is judged, and pushed, but not built.

A laptop world has no container builder. What can be known without one is checked as the builder would: that
context and Dockerfile are there, that tags are references, that platforms exist. A pushed image is put in the
world's ECR under its tags, with a digest of what it would be made of; its layers are not there.
"""

# ruff: noqa: ARG002 - the engine's verbs carry more than this needs
# boto3 has no types: its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import botocore.exceptions

from daiku_local.plugins import sdk, values
from daiku_local.plugins.aws import cloud as clouds
from daiku_local.plugins.aws.kind import names
from daiku_local.plugins.errors import Failure, ProviderError
from daiku_local.plugins.servicer import Difference, Subject
from daiku_local.plugins.values import UNKNOWN, Plain

IMAGE: Final = "docker-build:index:Image"
PLATFORMS: Final = frozenset(
    {"linux/amd64", "linux/arm64", "linux/arm", "linux/386", "linux/ppc64le", "linux/s390x"}
)
_HONOURED: Final = names(
    "buildArgs buildOnPreview context dockerfile labels network platforms push registries tags target"
)
_REGISTRY: Final = re.compile(r"\d{12}\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com/([^:@]+):([\w.-]+)")


class DockerBuildProvider:
    """Serves images to the engine."""

    def __init__(self) -> None:
        self.version = sdk.version("docker-build")

    def check_config(self, config: Plain) -> list[Failure]:
        """Take any configuration: it says where a builder is, and there is none."""
        return []

    def diff_config(self, old: Plain, new: Plain) -> Difference:
        """Never replace."""
        return Difference(paths=dict(values.changes(old, new)))

    def configure(self, config: Plain) -> None:
        """Take no notice."""

    def check(
        self, subject: Subject, old: Plain, new: Plain, seed: bytes
    ) -> tuple[Plain, list[Failure]]:
        """Judge what a builder would."""
        if subject.type != IMAGE:
            raise ProviderError(
                f"the stand-in for docker-build knows no {subject.type}, only {IMAGE}"
            )
        shape = sdk.shape_of("docker_build", subject.type)
        inputs = {key: value for key, value in new.items() if value is not None}
        failures = [*sdk.check("docker_build", shape, inputs), *_failures(inputs)]
        return inputs, failures

    def diff(self, subject: Subject, *, old: Plain, new: Plain, state: Plain) -> Difference:
        """Compare inputs, and what the context holds now; a password that is new is no change."""
        paths = {
            path: kind
            for path, kind in values.changes(old, new)
            if not re.fullmatch(r"registries\[\d+\]\.password", path)
        }
        if not values.has_unknown(new) and state.get("contextHash") not in {None, _digest(new)}:
            paths["contextHash"] = "update"
        return Difference(paths=paths)

    def preview_create(self, subject: Subject, inputs: Plain) -> Plain:
        """Give the inputs: a digest is known after."""
        return {**inputs, "ref": UNKNOWN, "digest": UNKNOWN, "contextHash": UNKNOWN}

    def create(self, subject: Subject, inputs: Plain, timeout: float) -> tuple[str, Plain]:
        """Put it in the registry under each of its tags."""
        content = _digest(inputs)
        manifest = _manifest(content)
        digest = f"sha256:{hashlib.sha256(manifest.encode()).hexdigest()}"
        tags: list[str] = inputs.get("tags") or []
        if inputs["push"]:
            for tag in tags:
                digest = _push(subject, tag, manifest)
        outputs = {
            **inputs,
            "contextHash": content,
            "digest": digest,
            "ref": f"{tags[0]}@{digest}" if tags else "",
        }
        return content, outputs

    def read(
        self, subject: Subject, identifier: str, inputs: Plain, state: Plain
    ) -> tuple[Plain, Plain] | None:
        """Give it as it was made: an image does not change."""
        return inputs, state

    def preview_update(self, subject: Subject, *, old: Plain, new: Plain, state: Plain) -> Plain:
        """Give what is known before it is built."""
        return self.preview_create(subject, new)

    def update(
        self,
        subject: Subject,
        identifier: str,
        *,
        old: Plain,
        new: Plain,
        state: Plain,
        timeout: float,
    ) -> Plain:
        """Build and push again."""
        return self.create(subject, new, timeout)[1]

    def delete(self, subject: Subject, identifier: str, state: Plain, timeout: float) -> None:
        """Leave it to its registry, as the real plugin does."""

    def invoke(self, token: str, arguments: Plain) -> Plain:
        """Refuse: it has no functions."""
        raise ProviderError(f"the stand-in for docker-build knows no function {token}")


def _failures(inputs: Plain) -> Iterator[Failure]:
    """Say what a builder would refuse in what is known of the inputs."""
    for name in sorted(inputs.keys() - _HONOURED):
        yield Failure(path=name, reason="is not honoured by the stand-in for docker-build")
    context, file = _at(inputs, "context"), _at(inputs, "dockerfile")
    if isinstance(context, str) and not Path(context).is_dir():
        yield Failure(path="context.location", reason=f"{context} is no folder")
    if isinstance(file, str) and not Path(file).is_file():
        yield Failure(path="dockerfile.location", reason=f"{file} does not exist")
    for index, platform in enumerate(inputs.get("platforms") or ()):
        if platform is not UNKNOWN and platform not in PLATFORMS:
            reason = f"{platform!r} is none of {', '.join(sorted(PLATFORMS))}"
            yield Failure(path=f"platforms[{index}]", reason=reason)
    if inputs.get("push") and not inputs.get("tags"):
        yield Failure(path="tags", reason="are needed to push: they say where to")
    for index, tag in enumerate(inputs.get("tags") or ()):
        if tag is not UNKNOWN and inputs.get("push") and not _REGISTRY.fullmatch(tag):
            reason = f"{tag!r} is no tag in an ECR repository, and the laptop world has no other"
            yield Failure(path=f"tags[{index}]", reason=reason)


def _at(inputs: Plain, name: str) -> Any:
    where = inputs.get(name)
    return where.get("location") if isinstance(where, dict) else None


def _digest(inputs: Plain) -> str:
    """Digest of Dockerfile, platforms and arguments; the program's own tag tells contexts apart."""
    file = _at(inputs, "dockerfile")
    made_of: dict[str, Any] = {
        name: inputs.get(name) for name in ("buildArgs", "labels", "platforms", "tags", "target")
    }
    if isinstance(file, str):
        made_of["dockerfile"] = Path(file).read_text()
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()


def _manifest(content: str) -> str:
    """An image of no layers, told from others by its configuration."""
    kind = "application/vnd.oci.image"
    config = {"mediaType": f"{kind}.config.v1+json", "size": 0, "digest": f"sha256:{content}"}
    manifest = {"schemaVersion": 2, "mediaType": f"{kind}.manifest.v1+json", "config": config}
    return json.dumps({**manifest, "layers": []}, sort_keys=True)


def _push(subject: Subject, tag: str, manifest: str) -> str:
    """Put a manifest under a tag; its digest."""
    match = _REGISTRY.fullmatch(tag)
    if match is None:
        raise ProviderError(f"{subject}: {tag!r} is no tag in an ECR repository")
    region, repository, name = match.groups()
    ecr = clouds.Cloud(region).client("ecr")
    try:
        answer = ecr.put_image(
            repositoryName=repository,
            imageManifest=manifest,
            imageDigest=f"sha256:{hashlib.sha256(manifest.encode()).hexdigest()}",
            imageTag=name,
        )
    except botocore.exceptions.ClientError as error:
        if error.response["Error"]["Code"] == "ImageAlreadyExistsException":
            [found] = ecr.describe_images(repositoryName=repository, imageIds=[{"imageTag": name}])[
                "imageDetails"
            ]
            return str(found["imageDigest"])
        raise clouds.explain(error, f"pushing {subject} to {tag}") from error
    return str(answer["image"]["imageId"]["imageDigest"])
