"""The provider's gRPC service: requests of the engine in, calls of this package's plain functions, answers out.

What isn't here (components, parameters, schemas, attaching) answers UNIMPLEMENTED, which the engine takes.
Source of the contract: pulumi/proto/pulumi/provider.proto.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import provider_pb2

from localazure.kubernetes_plugin import objects, releases, values
from localazure.kubernetes_plugin.api import Api, ApiError, UnreachableError
from localazure.kubernetes_plugin.changes import changes
from localazure.kubernetes_plugin.cluster import Cluster, NoMatchError
from localazure.kubernetes_plugin.engine_log import EngineLog
from localazure.kubernetes_plugin.kinds import Kind, kind_of, token_of
from localazure.kubernetes_plugin.objects import named
from localazure.kubernetes_plugin.releases import Releases
from localazure.kubernetes_plugin.resources import ExistsError, Resources
from localazure.kubernetes_plugin.settings import Settings, configuration_problems, read_settings, replacing
from localazure.kubernetes_plugin.values import received, sent
from localazure.kubernetes_plugin.waiter import Waiting
from localazure.plugin.answers import answering_errors, diff_response
from localazure.plugin.base import Plugin, autonaming, configured, texts
from localazure.plugin.errors import State
from localazure.plugin.installation import how_to_have
from localazure.plugin.wire import Properties, from_struct, has_unknown, is_unknown, opened, to_struct

_FORGET = 'rerunning the operation with the PULUMI_K8S_DELETE_UNREACHABLE environment variable set to "true"'

_answers_errors = answering_errors(ApiError, UnreachableError, NoMatchError, ExistsError, LookupError, ValueError)


class Work(NamedTuple):
    """What a configured provider works with."""

    settings: Settings
    cluster: Cluster
    resources: Resources
    releases: Releases


class Provider(Plugin):
    """`kubernetes` for any API server. `api`: its client; `stopping` and `clock`: what waiting goes by."""

    package = "pulumi-kubernetes"

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        log: EngineLog | None = None,
        *,
        api: Callable[..., Api] = Api,
        stopping: threading.Event | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(environment, stopping)
        self._log = log or EngineLog()
        self._api, self._clock = api, clock
        self._warned = threading.Event()
        self._work: Work | None = None

    # The plugin and its configuration

    def CheckConfig(self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext) -> provider_pb2.CheckResponse:  # noqa: N802, ARG002
        configuration = {key: value for key, value in from_struct(request.news).items() if not has_unknown(value)}
        problems = configuration_problems(texts(configuration), self._environment)
        failures = [provider_pb2.CheckFailure(reason=problem) for problem in problems]
        return provider_pb2.CheckResponse(inputs=request.news, failures=failures)

    @_answers_errors
    def DiffConfig(self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext) -> provider_pb2.DiffResponse:  # noqa: N802, ARG002
        old, new = from_struct(request.old_inputs) or from_struct(request.olds), from_struct(request.news)
        changed = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
        some = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=some, diffs=changed, replaces=replacing(old, new, changed))

    @_answers_errors
    def Configure(self, request: provider_pb2.ConfigureRequest, context: grpc.ServicerContext) -> provider_pb2.ConfigureResponse:  # noqa: N802, ARG002
        self._work = self._work_of(read_settings(configured(request), self._environment))
        return provider_pb2.ConfigureResponse(supportsPreview=True, supports_autonaming_configuration=True, acceptSecrets=True)

    # Planning

    @_answers_errors
    def Check(self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext) -> provider_pb2.CheckResponse:  # noqa: N802, ARG002
        marked = sent(from_struct(request.news, keep_secrets=True))
        inputs, old = values.with_data(opened(marked)), opened(sent(from_struct(request.olds)))
        if token_of(request.urn) == releases.TYPE:
            return self._checked_release(request, inputs, old)
        kind = kind_of(token_of(request.urn), inputs)
        inputs = named(inputs, old, request.urn.split("::")[-1], request.randomSeed, autonaming(request))
        if not objects.namespace(inputs) and not is_unknown(inputs.get("metadata")) and self._cluster.namespaced(kind):
            inputs["metadata"] = {**objects.metadata(inputs), "namespace": self._configured.settings.namespace}
        if objects.metadata(inputs).get("generateName") and not objects.name(inputs):
            raise ValueError("the `.metadata.generateName` field is not supported in Server-Side Apply mode")
        return provider_pb2.CheckResponse(inputs=to_struct(received(values.with_secrets_of(inputs, marked))))

    @_answers_errors
    def Diff(self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext) -> provider_pb2.DiffResponse:  # noqa: N802, ARG002
        new = opened(sent(from_struct(request.news)))
        if token_of(request.urn) == releases.TYPE:
            return diff_response(releases.changed(opened(sent(from_struct(request.old_inputs))), new))
        before = values.kept(from_struct(request.olds), from_struct(request.old_inputs))
        kind = kind_of(token_of(request.urn), new)
        found = changes(kind, before.inputs, new, before.live, namespaced=self._cluster.namespaced(kind))
        return diff_response(found)

    # Doing

    @_answers_errors
    def Create(self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext) -> provider_pb2.CreateResponse:  # noqa: N802, ARG002
        marked = from_struct(request.properties, keep_secrets=True)
        if token_of(request.urn) == releases.TYPE:
            if request.preview:
                return provider_pb2.CreateResponse(properties=request.properties)
            released = self._released(request.urn, marked)
            return provider_pb2.CreateResponse(id=released.id, properties=to_struct(released.outputs))
        kind = kind_of(token_of(request.urn), opened(marked))
        if request.preview:
            return provider_pb2.CreateResponse(properties=to_struct(self._tried_create(kind, marked)))
        self._must_answer()
        try:
            made = self._configured.resources.create(request.urn, kind, marked, request.timeout)
        except NoMatchError as error:
            raise ValueError(
                f'creation of resource "{request.urn}" with kind {kind} failed because the Kubernetes API server reported that '
                f"the apiVersion for this resource does not exist. Verify that any required CRDs have been created: {error}"
            ) from None
        except (ApiError, ExistsError, UnreachableError) as error:
            raise ValueError(
                f'resource "{request.urn}" was not successfully created by the Kubernetes API server: {error}'
            ) from None
        return provider_pb2.CreateResponse(id=made.id, properties=to_struct(made.outputs))

    @_answers_errors
    def Read(self, request: provider_pb2.ReadRequest, context: grpc.ServicerContext) -> provider_pb2.ReadResponse:  # noqa: N802, ARG002
        if self._cluster.unreachable:
            return self._read_unreachable(request)
        if token_of(request.urn) == releases.TYPE:
            there = self._configured.releases.there(opened(from_struct(request.properties)))
            return provider_pb2.ReadResponse(id=request.id if there else "", properties=request.properties, inputs=request.inputs)
        inputs = from_struct(request.inputs, keep_secrets=True)
        olds = from_struct(request.properties, keep_secrets=True)
        kind = kind_of(token_of(request.urn), opened(inputs) or opened(olds))
        try:
            found = self._configured.resources.read(kind, request.id, inputs, olds)
        except NoMatchError:
            found = None  # its definition is gone, and it with it
        if found is None:
            return provider_pb2.ReadResponse(id="")
        return provider_pb2.ReadResponse(id=found.id, properties=to_struct(found.outputs), inputs=to_struct(found.inputs))

    @_answers_errors
    def Update(self, request: provider_pb2.UpdateRequest, context: grpc.ServicerContext) -> provider_pb2.UpdateResponse:  # noqa: N802, ARG002
        marked, olds = from_struct(request.news, keep_secrets=True), from_struct(request.olds, keep_secrets=True)
        if token_of(request.urn) == releases.TYPE:
            if request.preview:
                return provider_pb2.UpdateResponse(properties=request.news)
            return provider_pb2.UpdateResponse(properties=to_struct(self._released(request.urn, marked, olds).outputs))
        kind = kind_of(token_of(request.urn), opened(marked))
        if request.preview:
            return provider_pb2.UpdateResponse(properties=to_struct(self._tried_update(kind, marked, olds)))
        self._must_answer()
        try:
            made = self._configured.resources.update(request.urn, kind, marked, olds, request.timeout)
        except (ApiError, UnreachableError, NoMatchError) as error:
            raise ValueError(f'update of resource "{request.urn}" failed: {error}') from None
        return provider_pb2.UpdateResponse(properties=to_struct(made.outputs))

    @_answers_errors
    def Delete(self, request: provider_pb2.DeleteRequest, context: grpc.ServicerContext) -> Empty:  # noqa: N802, ARG002
        olds = from_struct(request.properties, keep_secrets=True)
        if self._cluster.unreachable:
            self._log.warning(request.urn, f"configured Kubernetes cluster is unreachable: {self._cluster.unreachable}")
            if "deleteUnreachable" not in self._configured.settings.on:
                raise ValueError(
                    "configured Kubernetes cluster is unreachable. If the cluster was deleted, you can remove this resource from "
                    f"Pulumi state by {_FORGET}"
                )
            self._log.info(request.urn, "the object is removed only from the stack's state (deleteUnreachable)")
            return Empty()
        if token_of(request.urn) == releases.TYPE:
            self._configured.releases.delete(opened(olds))
            return Empty()
        kind = kind_of(token_of(request.urn), values.kept(olds).live)
        try:
            self._configured.resources.delete(request.urn, kind, request.id, olds, request.timeout)
        except NoMatchError:
            return Empty()  # its definition is gone, and it with it
        return Empty()

    @_answers_errors
    def Invoke(self, request: provider_pb2.InvokeRequest, context: grpc.ServicerContext) -> provider_pb2.InvokeResponse:  # noqa: N802, ARG002
        _refuse(request.tok)

    @_answers_errors
    def Construct(self, request: provider_pb2.ConstructRequest, context: grpc.ServicerContext) -> provider_pb2.ConstructResponse:  # noqa: N802, ARG002
        _refuse(request.type)

    # What the methods share

    def _checked_release(
        self, request: provider_pb2.CheckRequest, inputs: Properties, old: Properties
    ) -> provider_pb2.CheckResponse:
        inputs = releases.checked(
            inputs, old, request.urn.split("::")[-1], request.randomSeed, self._configured.settings.namespace
        )
        failures = [provider_pb2.CheckFailure(reason=each) for each in self._release_problems(inputs)]
        return provider_pb2.CheckResponse(inputs=to_struct(inputs), failures=failures)

    def _release_problems(self, inputs: Properties) -> list[str]:
        return releases.problems(inputs, self._environment)

    def _released(self, urn: str, marked: Properties, olds: Properties | None = None) -> State:
        self._must_answer()
        return self._configured.releases.apply(urn, opened(sent(marked)), opened(olds) if olds else None)

    def _work_of(self, settings: Settings) -> Work:
        """Nothing is asked of the cluster yet: many a plan needs nothing of it."""
        cluster = Cluster(self._api(settings.access) if settings.access else None, settings.problem)
        waiting = Waiting(cluster, self._stopping, self._log.status, self._clock)
        return Work(settings, cluster, Resources(waiting, settings), Releases(waiting, self._environment))

    def _tried_create(self, kind: Kind, marked: Properties) -> Properties:
        """What would be created. The inputs where only doing it could tell: with unknowns, without the namespace or the kind."""
        self._warn_once()
        if has_unknown(opened(marked)) or not self._cluster.has(kind):
            return marked
        try:
            return self._configured.resources.try_create(kind, marked)
        except ExistsError:
            return marked  # it may be what this object replaces
        except ApiError as error:
            if error.missing_namespace or error.status == 403:
                return marked
            raise

    def _tried_update(self, kind: Kind, marked: Properties, olds: Properties) -> Properties:
        self._warn_once()
        if has_unknown(opened(marked)) or not self._cluster.has(kind):
            return marked
        try:
            return self._configured.resources.try_update(kind, marked, olds)
        except ApiError as error:
            if error.status == 403:
                return marked
            raise

    def _read_unreachable(self, request: provider_pb2.ReadRequest) -> provider_pb2.ReadResponse:
        self._log.warning(request.urn, f"configured Kubernetes cluster is unreachable: {self._cluster.unreachable}")
        if "deleteUnreachable" in self._configured.settings.on:
            self._log.info(request.urn, "the object is removed only from the stack's state (deleteUnreachable)")
            return provider_pb2.ReadResponse(id="")
        raise ValueError(
            "failed to read resource state due to unreachable cluster. If the cluster was deleted, you can remove this resource "
            f"from Pulumi state by {_FORGET}"
        )

    def _warn_once(self) -> None:
        """A plan is made without the cluster as the real provider makes one, but not without a word."""
        if self._cluster.unreachable and not self._warned.is_set():
            self._warned.set()
            self._log.warning("", f"configured Kubernetes cluster is unreachable: {self._cluster.unreachable}")

    def _must_answer(self) -> None:
        if self._cluster.unreachable:
            raise ValueError(f"configured Kubernetes cluster is unreachable: {self._cluster.unreachable}")

    @property
    def _configured(self) -> Work:
        if self._work is None:
            raise ValueError("the provider was asked to work before it was configured")
        return self._work

    @property
    def _cluster(self) -> Cluster:
        return self._configured.cluster


def _refuse(token: str) -> NoReturn:
    raise LookupError(
        f"'{token}' is not implemented by this stand-in of pulumi-kubernetes, which has objects of the API, and "
        f"of Helm the releases of JobSet and Kueue (no YAML files or Kustomize); {how_to_have('kubernetes')}"
    )
