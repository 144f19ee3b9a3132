"""ControllerImage: a registry of the stack's own, and the controller's image built into it.

The tag is a digest of what the image is made of, so the same sources are the same image, and tags can be
immutable: what was tried is what runs. Built by BuildKit for both architectures, without root.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pulumi

from daiku_infra.providers import aws, docker_build

_CHECKOUT = Path(__file__).resolve().parents[2]
_PARTS = ("controller", "requirements.lock")
_LEFT_OUT = frozenset({"__pycache__", ".ruff_cache", ".pytest_cache"})
KEPT_IMAGES = 30
"""Images that stay in the registry; older ones go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerImageArgs:
    """What a ControllerImage is made from."""

    cluster_name: str
    """The cluster it is for: the registry's name follows from it."""
    source: str | None = None
    """Folder that holds controller/ and requirements.lock; this checkout when absent."""
    platforms: list[str] = field(default_factory=lambda: ["linux/amd64", "linux/arm64"])
    """Platforms of system nodes that it can run on."""
    build_on_preview: bool = False
    """Build at preview too, to see that it can be built; nothing is pushed then."""
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """Tags that every resource carries."""


class ControllerImage(pulumi.ComponentResource):
    """The controller's image, in a registry of this stack."""

    image: pulumi.Output[str]
    """Reference by digest, once it can be pulled."""
    repository_url: pulumi.Output[str]
    """Where it lies."""

    def __init__(
        self, name: str, args: ControllerImageArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the repository, its rules and the image."""
        super().__init__("daiku:index:ControllerImage", name, None, opts)
        own = pulumi.ResourceOptions(parent=self)
        repository = aws.ecr.Repository(
            name,
            name=f"{args.cluster_name.lower()}/controller",
            image_tag_mutability="IMMUTABLE",
            image_scanning_configuration=aws.ecr.RepositoryImageScanningConfigurationArgs(
                scan_on_push=True
            ),
            force_delete=True,
            tags=args.tags,
            opts=own,
        )
        aws.ecr.LifecyclePolicy(
            name, repository=repository.name, policy=json.dumps(lifecycle()), opts=own
        )
        source = Path(args.source) if args.source else _CHECKOUT
        token = aws.ecr.get_authorization_token_output(
            registry_id=repository.registry_id, opts=pulumi.InvokeOutputOptions(parent=self)
        )
        built = docker_build.Image(
            name,
            context=docker_build.BuildContextArgs(location=str(source)),
            dockerfile=docker_build.DockerfileArgs(location=str(source / "controller/Dockerfile")),
            platforms=[docker_build.Platform(platform) for platform in args.platforms],
            tags=[pulumi.Output.concat(repository.repository_url, ":", fingerprint(source))],
            registries=[
                docker_build.RegistryArgs(
                    address=repository.repository_url,
                    username=token.user_name,
                    password=pulumi.Output.secret(token.password),
                )
            ],
            build_on_preview=args.build_on_preview,
            push=True,
            opts=own,
        )
        self.image = built.ref
        self.repository_url = repository.repository_url
        self.register_outputs({"image": self.image, "repositoryUrl": self.repository_url})


def lifecycle() -> dict[str, object]:
    """Rules of the registry: what nobody names goes after a week, and only the newest images stay."""
    untagged = {
        "rulePriority": 1,
        "description": "images that no tag names",
        "selection": {
            "tagStatus": "untagged",
            "countType": "sinceImagePushed",
            "countUnit": "days",
            "countNumber": 7,
        },
        "action": {"type": "expire"},
    }
    old = {
        "rulePriority": 2,
        "description": "all but the newest",
        "selection": {
            "tagStatus": "any",
            "countType": "imageCountMoreThan",
            "countNumber": KEPT_IMAGES,
        },
        "action": {"type": "expire"},
    }
    return {"rules": [untagged, old]}


def fingerprint(source: Path) -> str:
    """Digest of all that goes into the image: names and contents, in the order of the names.

    Raises:
        FileNotFoundError: `source` lacks one of the parts.
    """
    digest = hashlib.sha256()
    for part in _PARTS:
        for path in _files(source / part):
            digest.update(str(path.relative_to(source)).encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _files(place: Path) -> Iterable[Path]:
    if not place.exists():
        raise FileNotFoundError(
            f"{place} does not exist: the image is built from a checkout; set source to one, or give an "
            f"image that is built already"
        )
    if place.is_file():
        return [place]
    return sorted(
        path for path in place.rglob("*") if path.is_file() and not _LEFT_OUT & set(path.parts)
    )
