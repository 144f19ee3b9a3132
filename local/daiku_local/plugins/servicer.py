"""The provider protocol over gRPC, for providers that are written with plain values.

The Pulumi SDK has such a layer (`pulumi.provider.experimental`), but a diff there does not see the
old inputs, values that are not known arrive as magic strings, every error carries a traceback, and
a resource that exists but is not ready cannot be told from one that does not exist. So the engine
is answered here, on the SDK's own protocol classes. Component providers (`eks`) use the SDK's.
"""

# ruff: noqa: D102, N802 - the methods of Servicer are the engine's

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportIncompatibleMethodOverride=false

import asyncio
import concurrent.futures
import functools
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import grpc
import grpc.aio
from google.protobuf import any_pb2, empty_pb2
from pulumi.runtime import proto
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc, status_pb2

from daiku_local.plugins import lifeline, values
from daiku_local.plugins.errors import Failure, NotInitializedError, ProviderError
from daiku_local.plugins.values import Plain

CHANNEL_OPTIONS = [("grpc.max_receive_message_length", 400 << 20)]
"""A stack's largest message, in bytes, as the engine itself allows it."""
CONCURRENT_CALLS = 32
"""Resources that are worked on at a time; the engine itself asks for at most 16 by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The resource that a request is about."""

    urn: str
    """Its name in the stack."""

    @property
    def type(self) -> str:
        """Type token, such as `aws:ec2/vpc:Vpc`."""
        return self.urn.split("::")[2].rsplit("$", 1)[-1]

    @property
    def name(self) -> str:
        """Logical name in the program."""
        return self.urn.split("::", 3)[3]

    def __str__(self) -> str:
        return f"{self.type} {self.name!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What an update of a resource would change."""

    paths: dict[str, str] = field(default_factory=dict[str, str])
    """Property path to "add", "delete" or "update"."""
    replaces: frozenset[str] = frozenset()
    """Those of the paths that force a replacement."""
    delete_first: bool = False
    """The old one must go before the new one can come."""


class Provider(Protocol):
    """What a stand-in plugin knows to do. Every method may block; they run in threads."""

    version: str

    def check_config(self, config: Plain) -> list[Failure]:
        """Judge the provider's own configuration."""
        ...

    def configure(self, config: Plain) -> None:
        """Take the configuration; called once, before any of the below."""
        ...

    def diff_config(self, old: Plain, new: Plain) -> Difference:
        """Compare two configurations of the provider."""
        ...

    def check(
        self, subject: Subject, old: Plain, new: Plain, seed: bytes
    ) -> tuple[Plain, list[Failure]]:
        """Fill in what is left open in the inputs `new`, and judge them."""
        ...

    def diff(self, subject: Subject, *, old: Plain, new: Plain, state: Plain) -> Difference:
        """Compare old and new inputs."""
        ...

    def preview_create(self, subject: Subject, inputs: Plain) -> Plain:
        """Give the outputs that are known before the resource exists."""
        ...

    def create(self, subject: Subject, inputs: Plain, timeout: float) -> tuple[str, Plain]:
        """Make the resource; give its id and outputs. `timeout` in seconds, 0 is the default one."""
        ...

    def read(
        self, subject: Subject, identifier: str, inputs: Plain, state: Plain
    ) -> tuple[Plain, Plain] | None:
        """Give the resource's inputs and outputs as they are, None if it is gone."""
        ...

    def preview_update(self, subject: Subject, *, old: Plain, new: Plain, state: Plain) -> Plain:
        """Give the outputs that are known before the update."""
        ...

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
        """Change the resource in place; give its outputs."""
        ...

    def delete(self, subject: Subject, identifier: str, state: Plain, timeout: float) -> None:
        """Remove the resource; one that is gone already is no error."""
        ...

    def invoke(self, token: str, arguments: Plain) -> Plain:
        """Give the result of a function."""
        ...


def _initialization_failure(error: NotInitializedError, request: Any) -> bytes:
    given = request.news if hasattr(request, "news") else request.properties
    outputs = values.keep_secrets(values.encode_all(error.outputs), given)
    failure = provider_pb2.ErrorResourceInitFailed(
        id=error.identifier, properties=outputs, reasons=[str(error)]
    )
    detail = any_pb2.Any()
    detail.Pack(failure)
    code = grpc.StatusCode.UNKNOWN.value[0]
    return status_pb2.Status(code=code, message=str(error), details=[detail]).SerializeToString()


def _answering(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Turn the errors of a provider into gRPC errors that hold the message and nothing else."""

    @functools.wraps(method)
    async def answer(self: "Servicer", request: Any, context: Any) -> Any:
        try:
            return await method(self, request, context)
        except NotInitializedError as error:
            context.set_trailing_metadata(
                (("grpc-status-details-bin", _initialization_failure(error, request)),)
            )
            await context.abort(grpc.StatusCode.UNKNOWN, str(error))
        except ProviderError as error:
            await context.abort(grpc.StatusCode.UNKNOWN, str(error))

    return answer


_KINDS = {
    ("add", False): provider_pb2.PropertyDiff.ADD,
    ("add", True): provider_pb2.PropertyDiff.ADD_REPLACE,
    ("delete", False): provider_pb2.PropertyDiff.DELETE,
    ("delete", True): provider_pb2.PropertyDiff.DELETE_REPLACE,
    ("update", False): provider_pb2.PropertyDiff.UPDATE,
    ("update", True): provider_pb2.PropertyDiff.UPDATE_REPLACE,
}


def _diff_response(difference: Difference) -> provider_pb2.DiffResponse:
    """Give the wire form of a difference."""
    some = provider_pb2.DiffResponse.DIFF_SOME if difference.paths else None
    return provider_pb2.DiffResponse(
        changes=some or provider_pb2.DiffResponse.DIFF_NONE,
        diffs=sorted({path.split(".")[0].split("[")[0] for path in difference.paths}),
        replaces=sorted(difference.replaces),
        deleteBeforeReplace=difference.delete_first,
        hasDetailedDiff=True,
        detailedDiff={
            path: provider_pb2.PropertyDiff(
                kind=_KINDS[kind, path in difference.replaces], inputDiff=True
            )
            for path, kind in difference.paths.items()
        },
    )


def _failures(failures: list[Failure]) -> list[provider_pb2.CheckFailure]:
    return [provider_pb2.CheckFailure(property=f.path, reason=f.reason) for f in failures]


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Serves one provider to the engine; methods are those of the engine's protocol."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def GetPluginInfo(self, _request: Any, _context: Any) -> proto.PluginInfo:
        return proto.PluginInfo(version=self._provider.version)

    async def GetSchema(self, _request: Any, _context: Any) -> provider_pb2.GetSchemaResponse:
        return provider_pb2.GetSchemaResponse(schema="{}")

    async def Cancel(self, _request: Any, _context: Any) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    @_answering
    async def Construct(self, request: Any, _context: Any) -> provider_pb2.ConstructResponse:
        raise ProviderError(
            f"{request.type} is a component that only the real plugin constructs: use its resources "
            f"one by one, or leave it out of the local stack"
        )

    @_answering
    async def Call(self, request: Any, _context: Any) -> provider_pb2.CallResponse:
        raise ProviderError(f"the stand-in knows no method {request.tok}")

    @_answering
    async def CheckConfig(self, request: Any, _context: Any) -> provider_pb2.CheckResponse:
        config = values.decode_all(request.news)
        failures = await asyncio.to_thread(self._provider.check_config, config)
        return provider_pb2.CheckResponse(inputs=request.news, failures=_failures(failures))

    @_answering
    async def DiffConfig(self, request: Any, _context: Any) -> provider_pb2.DiffResponse:
        old, new = values.decode_all(request.old_inputs), values.decode_all(request.news)
        return _diff_response(self._provider.diff_config(old, new))

    @_answering
    async def Configure(self, request: Any, _context: Any) -> provider_pb2.ConfigureResponse:
        await asyncio.to_thread(self._provider.configure, values.decode_all(request.args))
        return provider_pb2.ConfigureResponse(supportsPreview=True, acceptSecrets=True)

    @_answering
    async def Invoke(self, request: Any, _context: Any) -> provider_pb2.InvokeResponse:
        arguments = values.decode_all(request.args)
        result = await asyncio.to_thread(self._provider.invoke, request.tok, arguments)
        # `return` is no name in Python.
        fields: dict[str, Any] = {"return": values.encode_all(result)}
        return provider_pb2.InvokeResponse(**fields)

    @_answering
    async def Check(self, request: Any, _context: Any) -> provider_pb2.CheckResponse:
        subject = Subject(urn=request.urn)
        old, new = values.decode_all(request.olds), values.decode_all(request.news)
        inputs, failures = await asyncio.to_thread(
            self._provider.check, subject, old, new, request.randomSeed
        )
        return provider_pb2.CheckResponse(
            inputs=values.keep_secrets(values.encode_all(inputs), request.news),
            failures=_failures(failures),
        )

    @_answering
    async def Diff(self, request: Any, _context: Any) -> provider_pb2.DiffResponse:
        subject = Subject(urn=request.urn)
        old, new = values.decode_all(request.old_inputs), values.decode_all(request.news)
        state = values.decode_all(request.olds)
        return _diff_response(
            await asyncio.to_thread(self._provider.diff, subject, old=old, new=new, state=state)
        )

    @_answering
    async def Create(self, request: Any, _context: Any) -> provider_pb2.CreateResponse:
        subject, inputs = Subject(urn=request.urn), values.decode_all(request.properties)
        if request.preview:
            outputs = await asyncio.to_thread(self._provider.preview_create, subject, inputs)
            return provider_pb2.CreateResponse(
                properties=values.keep_secrets(values.encode_all(outputs), request.properties)
            )
        identifier, outputs = await asyncio.to_thread(
            self._provider.create, subject, inputs, request.timeout
        )
        return provider_pb2.CreateResponse(
            id=identifier,
            properties=values.keep_secrets(values.encode_all(outputs), request.properties),
        )

    @_answering
    async def Read(self, request: Any, _context: Any) -> provider_pb2.ReadResponse:
        subject = Subject(urn=request.urn)
        inputs, state = values.decode_all(request.inputs), values.decode_all(request.properties)
        found = await asyncio.to_thread(self._provider.read, subject, request.id, inputs, state)
        if found is None:
            return provider_pb2.ReadResponse(id="")
        return provider_pb2.ReadResponse(
            id=request.id,
            inputs=values.keep_secrets(values.encode_all(found[0]), request.inputs),
            properties=values.keep_secrets(
                values.encode_all(found[1]), request.properties, request.inputs
            ),
        )

    @_answering
    async def Update(self, request: Any, _context: Any) -> provider_pb2.UpdateResponse:
        subject, state = Subject(urn=request.urn), values.decode_all(request.olds)
        old, new = values.decode_all(request.old_inputs), values.decode_all(request.news)
        if request.preview:
            outputs = await asyncio.to_thread(
                self._provider.preview_update, subject, old=old, new=new, state=state
            )
        else:
            outputs = await asyncio.to_thread(
                self._provider.update,
                subject,
                request.id,
                old=old,
                new=new,
                state=state,
                timeout=request.timeout,
            )
        properties = values.keep_secrets(values.encode_all(outputs), request.news)
        return provider_pb2.UpdateResponse(properties=properties)

    @_answering
    async def Delete(self, request: Any, _context: Any) -> empty_pb2.Empty:
        subject, state = Subject(urn=request.urn), values.decode_all(request.properties)
        await asyncio.to_thread(self._provider.delete, subject, request.id, state, request.timeout)
        return empty_pb2.Empty()


async def _serve(provider: Provider) -> None:
    loop = asyncio.get_running_loop()
    loop.set_default_executor(concurrent.futures.ThreadPoolExecutor(CONCURRENT_CALLS))
    server = grpc.aio.server(options=CHANNEL_OPTIONS)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(provider), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    # The engine reads the port from the first line of the output, then connects.
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await server.wait_for_termination()


def serve(provider: Provider) -> None:
    """Serve `provider` to the engine that started this process, until it ends the process."""
    lifeline.follow_engine()
    asyncio.run(_serve(provider))
