"""The stand-in for `aws` as the engine sees it: what all resource types have in common."""

# boto3 has no types: its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

import json
import re
from typing import Any, cast

import botocore.exceptions

from daiku_local.plugins import sdk, values
from daiku_local.plugins.aws import cloud as clouds
from daiku_local.plugins.aws import functions, kinds
from daiku_local.plugins.aws.cloud import Cloud, TagRules
from daiku_local.plugins.aws.kind import Kind
from daiku_local.plugins.errors import Failure, NotInitializedError, ProviderError
from daiku_local.plugins.servicer import Difference, Subject
from daiku_local.plugins.values import UNKNOWN, Plain

_AWS_ERRORS = (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError)
_HONOURED_CONFIG = frozenset(
    {"region", "defaultTags", "ignoreTags", "allowedAccountIds", "forbiddenAccountIds"}
)
_HARMLESS_CONFIG = frozenset(
    [
        "version",
        "pluginDownloadURL",
        "skipCredentialsValidation",
        "skipMetadataApiCheck",
        "maxRetries",
        "retryMode",
        "skipRegionValidation",
        "skipRequestingAccountId",
        "s3UsePathStyle",
        "insecure",
        "userAgents",
    ]
)
_OWN_INPUTS = frozenset({"region", "tags", "tagsAll"})


def _decoded(config: Plain) -> Plain:
    """Read the nested values of a provider's configuration, which come as JSON text."""
    result: Plain = {}
    for key, value in config.items():
        nested = isinstance(value, str) and value[:1] in "[{" and value
        result[key] = json.loads(value) if nested else value
    return result


class AwsProvider:
    """Serves `aws` resources from the world's AWS."""

    def __init__(self) -> None:
        self.version = sdk.version("aws")
        self._tags = TagRules()
        self._region = clouds.DEFAULT_REGION
        self._clouds: dict[str, Cloud] = {}

    def check_config(self, config: Plain) -> list[Failure]:
        """Refuse what the stand-in cannot honour: credentials, other endpoints, unknown keys."""
        shape = sdk.provider_shape("aws")
        failures: list[Failure] = []
        for key in config.keys() - _HONOURED_CONFIG - _HARMLESS_CONFIG:
            if key in shape.nested:
                reason = "means a real account, and the stand-in for aws has none: leave it out"
            else:
                reason = f"is no configuration of aws{sdk.nearest(key, shape.nested)}"
            failures.append(Failure(path=key, reason=reason))
        return failures

    def diff_config(self, old: Plain, new: Plain) -> Difference:
        """Replace the provider when its region changes."""
        paths = dict(values.changes(old, new))
        return Difference(paths=paths, replaces=frozenset(paths) & {"region"})

    def configure(self, config: Plain) -> None:
        """Take the region and the tags, and make sure of the account."""
        given = _decoded(config)
        ignored = given.get("ignoreTags") or {}
        self._tags = TagRules(
            default=(given.get("defaultTags") or {}).get("tags") or {},
            ignored_keys=frozenset(ignored.get("keys") or ()),
            ignored_prefixes=tuple(ignored.get("keyPrefixes") or ()),
        )
        region = given.get("region")
        self._region = region if isinstance(region, str) else clouds.DEFAULT_REGION
        allowed, forbidden = given.get("allowedAccountIds"), given.get("forbiddenAccountIds") or ()
        cloud = self._cloud(self._region)
        clouds.require_answer(cloud.endpoint)
        clouds.require_credentials()
        if (allowed and cloud.account not in allowed) or cloud.account in forbidden:
            raise ProviderError(
                f"the laptop world's account is {cloud.account}; allowedAccountIds is {allowed!r}, "
                f"forbiddenAccountIds is {list(forbidden)!r}"
            )

    def _cloud(self, region: Any) -> Cloud:
        name = region if isinstance(region, str) else self._region
        if name not in self._clouds:
            self._clouds[name] = Cloud(name, self._tags)
        return self._clouds[name]

    def check(
        self, subject: Subject, old: Plain, new: Plain, seed: bytes
    ) -> tuple[Plain, list[Failure]]:
        """Fill in name, region and default tags; refuse what is unknown or not honoured."""
        kind = kinds.of(subject.type)
        shape = sdk.shape_of("aws", subject.type)
        # What an import read back has all tags, which this method adds.
        new = {key: value for key, value in new.items() if key != "tagsAll" or not kind.tagged}
        failures = list(sdk.check("aws", shape, new))
        honoured = kind.fixed | kind.live | kind.ignored | _OWN_INPUTS
        for name in sorted(new.keys() & shape.nested.keys() - honoured):
            if new[name] is not None:
                reason = "is not honoured by the stand-in for aws: leave it out of the local stack"
                failures.append(Failure(path=name, reason=reason))
        inputs = {key: value for key, value in new.items() if value is not None}
        if kind.named and kind.named not in inputs:
            inputs[kind.named] = _auto_name(kind, subject, old, new, seed)
        if "region" in shape.nested:
            inputs.setdefault("region", self._region)
        if kind.tagged:
            tags = inputs.get("tags") or {}
            inputs["tagsAll"] = tags if tags is UNKNOWN else {**self._tags.default, **tags}
        return inputs, failures

    def diff(self, subject: Subject, *, old: Plain, new: Plain, state: Plain) -> Difference:
        """Compare inputs as AWS would; a fixed input that changes forces a replacement."""
        del state
        kind = kinds.of(subject.type)
        paths: dict[str, str] = {}
        replaces: set[str] = set()
        for key in sorted(old.keys() | new.keys()):
            if values.equivalent(old.get(key), new.get(key)):
                continue
            here = dict(values.changes(old.get(key), new.get(key), key))
            paths |= here
            if key in kind.fixed or key == "region":
                replaces |= here.keys()
        taken = bool(kind.named) and old.get(kind.named) == new.get(kind.named)
        return Difference(
            paths=paths,
            replaces=frozenset(replaces),
            # Two of one name cannot be; one made here is another one after the replacement.
            delete_first=kind.delete_first or (taken and not _is_auto_name(kind, subject, new)),
        )

    def preview_create(self, subject: Subject, inputs: Plain) -> Plain:
        """Give the inputs: everything else is known after."""
        return kinds.of(subject.type).preview(inputs)

    def create(self, subject: Subject, inputs: Plain, timeout: float) -> tuple[str, Plain]:
        """Make it, then wait until AWS shows it."""
        del timeout
        kind, cloud = kinds.of(subject.type), self._cloud(inputs.get("region"))
        try:
            identifier = clouds.eventually(lambda: kind.create(cloud, inputs))
        except _AWS_ERRORS as error:
            raise clouds.explain(error, f"creating {subject}") from error
        try:
            clouds.eventually(lambda: kind.settle(cloud, identifier, inputs))
            observed = clouds.until(
                lambda: kind.read(cloud, identifier, inputs),
                lambda answer: answer is not None,
                what=f"{subject} was made as {identifier!r}, but cannot be seen",
                seconds=clouds.SETTLING_SECONDS,
            )
        except (ProviderError, *_AWS_ERRORS) as error:
            reason = str(clouds.explain(error, f"after creating {subject} as {identifier!r}"))
            raise NotInitializedError(reason, identifier=identifier, outputs=inputs) from error
        return identifier, self._outputs(kind, inputs, observed or {})

    def _outputs(self, kind: Kind, inputs: Plain, observed: Plain) -> Plain:
        """Join inputs and what AWS shows; where both say the same, the inputs' form is kept."""
        outputs = {key: value for key, value in observed.items() if value is not None}
        if kind.tagged:
            outputs["tagsAll"] = self._tags.owned(outputs.get("tagsAll") or {})
        for key, value in inputs.items():
            if key not in outputs or values.equivalent(outputs[key], value):
                outputs[key] = value
        return outputs

    def read(
        self, subject: Subject, identifier: str, inputs: Plain, state: Plain
    ) -> tuple[Plain, Plain] | None:
        """Look at it again; without inputs (an import), take them from what is seen."""
        kind = kinds.of(subject.type)
        cloud = self._cloud(inputs.get("region") or state.get("region"))
        try:
            observed = clouds.found(lambda: kind.read(cloud, identifier, {**state, **inputs}))
        except _AWS_ERRORS as error:
            raise clouds.explain(error, f"reading {subject} ({identifier})") from error
        except KeyError as error:
            raise ProviderError(
                f"{subject} cannot be found by its id {identifier!r} alone: the stand-in for aws "
                f"also needs {error}, which only a resource that it made has"
            ) from error
        if observed is None:
            return None
        if kind.tagged:
            seen = observed["tagsAll"] = self._tags.owned(observed.get("tagsAll") or {})
            asked = inputs.get("tags") or {}
            defaults = self._tags.default
            observed["tags"] = {
                key: value
                for key, value in seen.items()
                if key in asked or defaults.get(key) != value
            } or None
        honoured = kind.fixed | kind.live | _OWN_INPUTS
        if not inputs:
            inputs = {"region": cloud.region} | {
                key: value for key, value in observed.items() if key in honoured and value
            }
        drifted = {
            key: observed[key]
            for key in (inputs.keys() | ({"tags"} & observed.keys())) & observed.keys()
            if not kind.same(key, observed[key], inputs.get(key))
        }
        fresh = {**inputs, **drifted}
        return {k: v for k, v in fresh.items() if v is not None}, self._outputs(
            kind, fresh, observed
        )

    def preview_update(self, subject: Subject, *, old: Plain, new: Plain, state: Plain) -> Plain:
        """Give the state with the inputs that change."""
        del subject
        outputs = {key: value for key, value in state.items() if key in new or key not in old}
        for key, value in new.items():
            before = outputs.get(key)
            if values.equivalent(old.get(key), value) and before is not None:
                continue
            both = isinstance(before, dict) and isinstance(value, dict)
            outputs[key] = {**cast("Plain", before), **value} if both else value
        return outputs

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
        """Change tags and live inputs in place."""
        del timeout
        kind, cloud = kinds.of(subject.type), self._cloud(new.get("region"))
        changed = {
            key
            for key in old.keys() | new.keys()
            if key in kind.live and not values.equivalent(old.get(key), new.get(key))
        }
        try:
            if kind.tagged:
                before, after = cast("Plain", state.get("tagsAll") or {}), new.get("tagsAll") or {}
                added = {key: value for key, value in after.items() if before.get(key) != value}
                removed = sorted(before.keys() - after.keys())
                if added or removed:
                    kind.retag(cloud, identifier, state, added, removed)
            kind.update(cloud, identifier, {**state, **_cleared(old, new), **new}, changed)
            kind.settle(cloud, identifier, new)
            observed = kind.read(cloud, identifier, {**state, **new})
        except _AWS_ERRORS as error:
            raise clouds.explain(error, f"updating {subject} ({identifier})") from error
        if observed is None:
            raise ProviderError(
                f"{subject} ({identifier}) is gone: run `pulumi refresh`, then `pulumi up`"
            )
        return self._outputs(kind, new, observed)

    def delete(self, subject: Subject, identifier: str, state: Plain, timeout: float) -> None:
        """Remove it, waiting for what still uses it to go."""
        del timeout
        kind, cloud = kinds.of(subject.type), self._cloud(state.get("region"))
        try:
            clouds.released(lambda: kind.delete(cloud, identifier, state))
        except _AWS_ERRORS as error:
            raise clouds.explain(error, f"deleting {subject} ({identifier})") from error

    def invoke(self, token: str, arguments: Plain) -> Plain:
        """Give the result of a function."""
        function = functions.of(token)
        try:
            return function(self._cloud(arguments.get("region")), arguments)
        except _AWS_ERRORS as error:
            raise clouds.explain(error, f"calling {token}") from error


def _cleared(old: Plain, new: Plain) -> Plain:
    """Give None for every input that is given no longer, so that `update` can clear it."""
    return dict.fromkeys(old.keys() - new.keys())


def _is_auto_name(kind: Kind, subject: Subject, inputs: Plain) -> bool:
    name = str(inputs.get(kind.named))
    return bool(inputs.get(f"{kind.named}Prefix")) or bool(
        re.fullmatch(rf"{re.escape(subject.name)}-[0-9a-f]{{7}}", name)
    )


def _auto_name(kind: Kind, subject: Subject, old: Plain, new: Plain, seed: bytes) -> str:
    """Make a name that stays the same over updates: the resource's name and seven hex digits."""
    if kept := old.get(kind.named):
        return str(kept)
    prefix = new.get(f"{kind.named}Prefix")
    return f"{prefix}{seed.hex()[:12]}" if prefix else f"{subject.name}-{seed.hex()[:7]}"
