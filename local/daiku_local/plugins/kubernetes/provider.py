"""The stand-in for `kubernetes` as the engine sees it: objects by server-side apply."""

# ruff: noqa: ARG002 - the engine's verbs carry more than an API server needs

import secrets
import time
from typing import Final, cast

import yaml

from daiku_local.plugins import sdk, values
from daiku_local.plugins.errors import Failure, NotInitializedError, ProviderError
from daiku_local.plugins.kubernetes import awaiting, objects, outputs
from daiku_local.plugins.kubernetes.client import (
    ApiError,
    Client,
    Resource,
    UnreachableError,
)
from daiku_local.plugins.servicer import Difference, Subject
from daiku_local.plugins.values import Plain

ARRIVAL_SECONDS: Final = 15.0
"""How long to wait for the CustomResourceDefinition or Namespace that the program also makes."""

_SWITCHES: Final = frozenset(
    {"deleteUnreachable", "enableConfigMapMutable", "enablePatchForce", "enableSecretMutable"}
) | {"skipUpdateUnreachable", "upsertExistingObjects"}
_HONOURED: Final = _SWITCHES | {"kubeconfig", "context", "namespace", "enableServerSideApply"}
_HARMLESS: Final = frozenset(
    [
        "version",
        "pluginDownloadURL",
        "kubeClientSettings",
        "suppressDeprecationWarnings",
        "suppressHelmHookWarnings",
        "helmReleaseSettings",
        "clusterIdentifier",
    ]
)
_REFUSED_GROUPS: Final = ("helm.sh/", "kustomize", "yaml")


_DECODE: Final = "kubernetes:yaml:decode"


class KubernetesProvider:
    """Serves `kubernetes` resources from the API server that the kubeconfig names."""

    def __init__(self) -> None:
        self.version = sdk.version("kubernetes")
        self._config: Plain = {}
        self._made: Client | None = None

    def check_config(self, config: Plain) -> list[Failure]:
        """Refuse what the stand-in cannot honour."""
        shape = sdk.provider_shape("kubernetes")
        failures: list[Failure] = []
        for key in config.keys() - _HONOURED - _HARMLESS:
            if key in shape.nested:
                reason = "is not honoured by the stand-in for kubernetes: leave it out"
            else:
                reason = f"is no configuration of kubernetes{sdk.nearest(key, shape.nested)}"
            failures.append(Failure(path=key, reason=reason))
        if config.get("enableServerSideApply") in ("false", False):
            reason = "must be true: the stand-in for kubernetes applies server-side only"
            failures.append(Failure(path="enableServerSideApply", reason=reason))
        return failures

    def diff_config(self, old: Plain, new: Plain) -> Difference:
        """Never replace: a kubeconfig may change and still name the same cluster."""
        return Difference(paths=dict(values.changes(old, new)))

    def configure(self, config: Plain) -> None:
        """Keep the configuration; the API server is asked when the first object needs it."""
        self._config = config

    def _on(self, switch: str) -> bool:
        return self._config.get(switch) in ("true", True)

    def client(self) -> Client:
        """The API server that the kubeconfig names; connected when it is first needed."""
        if self._made is None:
            self._made = Client(self._config.get("kubeconfig"), self._config.get("context"))
        return self._made

    @property
    def may_forget(self) -> bool:
        """What is in a cluster that does not answer may be given up."""
        return self._on("deleteUnreachable")

    @property
    def namespace(self) -> str:
        """Where objects are whose program names no namespace."""
        return str(self._config.get("namespace") or self.client().namespace)

    def check(
        self, subject: Subject, old: Plain, new: Plain, seed: bytes
    ) -> tuple[Plain, list[Failure]]:
        """Fill in apiVersion, kind, name and namespace."""
        api_version, kind = objects.api_of(subject.type)
        if kind.endswith(("Patch", "List")) or api_version.startswith(_REFUSED_GROUPS):
            raise ProviderError(
                f"the stand-in for kubernetes knows no {subject.type}; it knows single objects of "
                f"any kind; use the real plugin or leave it out of the local stack"
            )
        inputs: Plain = {"apiVersion": api_version, "kind": kind, **objects.without_nulls(new)}
        failures = [
            Failure(
                path=key, reason=f"must be {wanted!r} for {subject.type}, and is {inputs[key]!r}"
            )
            for key, wanted in (("apiVersion", api_version), ("kind", kind))
            if inputs[key] != wanted
        ]
        inputs = objects.named(subject, old, inputs, seed)
        meta = objects.metadata(inputs)
        if meta and "namespace" not in meta:
            resource = self._resource_if_reachable(api_version, kind)
            if resource is not None and resource.namespaced:
                inputs["metadata"] = {**meta, "namespace": self.namespace}
        return inputs, failures

    def _resource_if_reachable(self, api_version: str, kind: str) -> Resource | None:
        try:
            return self.client().resource(api_version, kind)
        except UnreachableError:
            return None

    def diff(self, subject: Subject, *, old: Plain, new: Plain, state: Plain) -> Difference:
        """Compare inputs; a field that Kubernetes cannot change forces a replacement."""
        del subject, state
        mutable = {
            kind
            for kind, switch in (
                ("ConfigMap", "enableConfigMapMutable"),
                ("Secret", "enableSecretMutable"),
            )
            if self._on(switch)
        }
        paths = dict(values.changes(self._placed(old), self._placed(new)))
        replaces = frozenset(
            path for path in paths if objects.replaces(old, new, path, mutable=frozenset(mutable))
        )
        before, after = objects.metadata(old), objects.metadata(new)
        same_place = all(before.get(key) == after.get(key) for key in ("name", "namespace"))
        return Difference(
            paths=paths,
            replaces=replaces,
            delete_first=same_place and not objects.is_true(new, objects.AUTONAMED),
        )

    def _placed(self, inputs: Plain) -> Plain:
        """Give inputs without the default namespace: its absence means the same."""
        meta = objects.metadata(inputs)
        if meta.get("namespace") != self.namespace:
            return inputs
        rest = {key: value for key, value in meta.items() if key != "namespace"}
        return {**inputs, "metadata": rest}

    def _address(self, inputs: Plain, *, wait: bool) -> tuple[Resource, str]:
        """Give where the object of `inputs` is; with `wait`, wait for its kind to be served."""
        client, deadline = self.client(), time.monotonic() + (ARRIVAL_SECONDS if wait else 0)
        api_version, kind = inputs["apiVersion"], inputs["kind"]
        while (resource := client.resource(api_version, kind)) is None:
            if time.monotonic() >= deadline:
                raise ApiError(
                    404,
                    {
                        "reason": "NoMatch",
                        "message": f"the API server knows no kind {kind!r} in {api_version}: its "
                        f"CustomResourceDefinition must come first (depends_on)",
                    },
                )
            time.sleep(0.5)
        meta = inputs["metadata"]
        namespace = meta.get("namespace") or (self.namespace if resource.namespaced else None)
        return resource, resource.url(namespace, meta["name"])

    def _force(self, inputs: Plain) -> bool:
        return self._on("enablePatchForce") or objects.is_true(inputs, "pulumi.com/patchForce")

    def _refuse_existing(self, subject: Subject, path: str, inputs: Plain) -> None:
        if self._on("upsertExistingObjects") or self._force(inputs):
            return
        if self.client().get(path) is not None:
            raise ProviderError(
                f"{outputs.told(subject, inputs)} exists already: take it over with `pulumi import`, or "
                f'with the annotation pulumi.com/patchForce: "true"'
            )

    def preview_create(self, subject: Subject, inputs: Plain) -> Plain:
        """Ask the API server what would come of it, where it can tell yet."""
        if values.has_unknown(inputs) or "name" not in objects.metadata(inputs):
            return inputs
        try:
            _, path = self._address(inputs, wait=False)
            self._refuse_existing(subject, path, inputs)
            result = self.client().apply(
                path, outputs.body(inputs), manager="pulumi-kubernetes", force=True, dry_run=True
            )
        except UnreachableError:
            return inputs
        except ApiError as error:
            if error.status == 404:  # its Namespace or definition comes with the same update
                return inputs
            raise ProviderError(f"previewing {outputs.told(subject, inputs)}: {error}") from error
        return outputs.unknown_yet(outputs.of(result, ""))

    def create(self, subject: Subject, inputs: Plain, timeout: float) -> tuple[str, Plain]:
        """Apply it, then wait until it is what was asked for."""
        manager = f"pulumi-kubernetes-{secrets.token_hex(4)}"
        if "name" not in objects.metadata(inputs):
            raise ProviderError(f"{subject} needs metadata.name: generateName is not served here")
        try:
            resource, path = self._address(inputs, wait=True)
            self._refuse_existing(subject, path, inputs)
            result = self._apply_patiently(path, inputs, manager)
        except ProviderError as error:
            raise ProviderError(f"creating {outputs.told(subject, inputs)}: {error}") from error
        return objects.identifier(result), self._settled(
            subject, (resource, path), result, manager=manager, timeout=timeout
        )

    def _apply_patiently(self, path: str, inputs: Plain, manager: str) -> Plain:
        """Apply; wait a moment for a Namespace that the program makes at the same time."""
        deadline = time.monotonic() + ARRIVAL_SECONDS
        while True:
            try:
                return self.client().apply(
                    path, outputs.body(inputs), manager=manager, force=self._force(inputs)
                )
            except ApiError as error:
                if error.status != 404 or time.monotonic() > deadline:
                    raise
            time.sleep(0.5)

    def _settled(
        self,
        subject: Subject,
        where: tuple[Resource, str],
        applied: Plain,
        *,
        manager: str,
        timeout: float,
    ) -> Plain:
        resource, path = where
        seconds = awaiting.seconds_for(applied, timeout)
        try:
            final = awaiting.ready(self.client(), resource, path, applied, seconds)
        except ProviderError as error:
            current = self.client().get(path) or applied
            raise NotInitializedError(
                f"{outputs.told(subject, applied)} was applied, but {error}",
                identifier=objects.identifier(applied),
                outputs=outputs.of(current, manager),
            ) from error
        return outputs.of(final, manager)

    def read(
        self, subject: Subject, identifier: str, inputs: Plain, state: Plain
    ) -> tuple[Plain, Plain] | None:
        """Look at it again. What only controllers wrote since is no change of the resource."""
        api_version, kind = objects.api_of(subject.type)
        client = self.client()
        try:
            resource = client.resource(api_version, kind)
            if resource is None:
                return None
            namespace, name = objects.split(identifier)
            path = resource.url(namespace or self.namespace, name)
            live = client.get(path)
            if live is None:
                return None
            manager = str(state.get(outputs.MANAGER) or f"pulumi-kubernetes-{secrets.token_hex(4)}")
            if not inputs:
                return outputs.imported(live), outputs.of(live, manager)
            fresh = self._drifted(path, inputs, live, manager)
        except ApiError as error:
            raise ProviderError(f"reading {outputs.told(subject, inputs)}: {error}") from error
        if fresh == inputs and objects.substance(live) == objects.substance(state):
            return inputs, {**state, outputs.MANAGER: manager}
        return fresh, outputs.of(live, manager)

    def _drifted(self, path: str, inputs: Plain, live: Plain, manager: str) -> Plain:
        """Give `inputs` as the object has them.

        The server itself tells whether they differ: where applying them again would change
        nothing, they do not, however they are written ("1000m" or "1").
        """
        again = self.client().apply(
            path, outputs.body(inputs), manager=manager, force=True, dry_run=True
        )
        if objects.substance(again) == objects.substance(live):
            return inputs
        return cast("Plain", outputs.overlaid(inputs, live, again))

    def preview_update(self, subject: Subject, *, old: Plain, new: Plain, state: Plain) -> Plain:
        """Ask the API server what would come of it, where everything is known."""
        if values.has_unknown(new):
            return {**state, **new}
        try:
            _, path = self._address(new, wait=False)
            manager = str(state.get(outputs.MANAGER) or "pulumi-kubernetes")
            result = self.client().apply(
                path, outputs.body(new), manager=manager, force=self._force(new), dry_run=True
            )
        except UnreachableError:
            return {**state, **new}
        except ApiError as error:
            raise ProviderError(
                f"previewing {outputs.told(subject, new)}: {outputs.remedied(error)}"
            ) from error
        return outputs.of(result, manager)

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
        """Apply the new inputs; what the program says no longer goes, since nobody else says it."""
        manager = str(state.get(outputs.MANAGER) or f"pulumi-kubernetes-{secrets.token_hex(4)}")
        try:
            resource, path = self._address(new, wait=True)
            result = self.client().apply(
                path, outputs.body(new), manager=manager, force=self._force(new)
            )
        except UnreachableError:
            if self._on("skipUpdateUnreachable"):
                return state
            raise
        except ApiError as error:
            raise ProviderError(
                f"updating {outputs.told(subject, new)}: {outputs.remedied(error)}"
            ) from error
        return self._settled(subject, (resource, path), result, manager=manager, timeout=timeout)

    def delete(self, subject: Subject, identifier: str, state: Plain, timeout: float) -> None:
        """Delete it and what it owns; wait until it is gone."""
        api_version, kind = objects.api_of(subject.type)
        try:
            client = self.client()
            resource = client.resource(api_version, kind)
            if resource is None:  # its definition is gone, and every object of it
                return
            namespace, name = objects.split(identifier)
            path = resource.url(namespace or self.namespace, name)
            policy = objects.annotation(state, "pulumi.com/deletionPropagationPolicy")
            body = {"propagationPolicy": (policy or "foreground").title()}
            if client.get(path) is None:
                return
            client.call("DELETE", path, body=body)
            if not objects.is_true(state, "pulumi.com/skipAwait"):
                awaiting.gone(client, path, awaiting.seconds_for(state, timeout))
        except UnreachableError as error:
            if not self.may_forget:
                raise ProviderError(
                    f"{error}; if the cluster is gone for good, set deleteUnreachable on the "
                    f"provider"
                ) from error
        except ApiError as error:
            if error.status != 404:
                raise ProviderError(f"deleting {outputs.told(subject, state)}: {error}") from error
        except awaiting.FailedError as error:
            raise ProviderError(f"deleting {outputs.told(subject, state)}: {error}") from error

    def invoke(self, token: str, arguments: Plain) -> Plain:
        """Give the result of a function."""
        if token == _DECODE:
            text = str(arguments.get("text") or "")
            return {"result": [document for document in yaml.safe_load_all(text) if document]}
        raise ProviderError(
            f"the stand-in for kubernetes knows no function {token}; it knows: "
            f"{_DECODE}; use the real plugin or leave it out of the local stack"
        )
