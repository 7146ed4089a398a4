"""Create, read, update and delete one object, and try each out without doing it.

An object that is there although the operation failed raises `PartialError` with what is known of it: the engine keeps it, and the
next `up` completes it.
"""

from localazure.kubernetes_plugin import objects, values
from localazure.kubernetes_plugin.api import ApiError
from localazure.kubernetes_plugin.cluster import Cluster
from localazure.kubernetes_plugin.kinds import Kind
from localazure.kubernetes_plugin.objects import Object
from localazure.kubernetes_plugin.settings import Settings
from localazure.kubernetes_plugin.values import live_inputs, received, sent
from localazure.kubernetes_plugin.waiter import NotReadyError, Waiting, check_for, reasons, retried, until_gone, until_ready
from localazure.plugin.errors import PartialError, State
from localazure.plugin.wire import UNKNOWN, Properties, opened

_RETRIES_S = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # while what an object needs doesn't exist yet
_LEGACY_MANAGERS = ("kubectl", "before-first-apply", "pulumi-kubernetes", "pulumi-resource-kubernetes")
_CONFLICT_HELP = (
    "https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/"
    "#handle-field-conflicts-on-existing-resources"
)
_NOT_INPUTS = (  # annotations
    "deployment.kubernetes.io/revision",
    objects.LAST_APPLIED,
    "deprecated.daemonset.template.generation",
)


class ExistsError(Exception):
    """An object of that name is there already."""


class Resources:
    """The operations, for one provider configuration."""

    def __init__(self, waiting: Waiting, settings: Settings) -> None:
        self._waiting = waiting
        self._cluster: Cluster = waiting.cluster
        self._settings = settings

    # Creating

    def create(self, urn: str, kind: Kind, marked: Properties, timeout_s: float) -> State:
        """The object when it is ready. ApiError, NoMatchError, ExistsError: it doesn't exist. PartialError: it is, not ready."""
        inputs = opened(sent(marked))
        check_for(self._cluster, kind, inputs)  # what it is to wait for can be read, or nothing is made
        manager = values.manager_for(inputs)
        live = retried(
            self._waiting,
            urn,
            _RETRIES_S,
            lambda: self._applied_new(kind, inputs, manager, dry_run=False),
            lambda error: error.status != 404 and not _account_missing(error),
        )
        return self._awaited(urn, kind, marked, inputs, live, manager, timeout_s, created=True)

    def try_create(self, kind: Kind, marked: Properties) -> Properties:
        """What the object would be. ApiError, ExistsError."""
        inputs = opened(sent(marked))
        manager = values.manager_for(inputs)
        live = self._applied_new(kind, inputs, manager, dry_run=True)
        shown = {key: value for key, value in live.items() if key != "status"}
        # A dry run makes these up; the object that will be has others.
        unknown = dict.fromkeys(("uid", "resourceVersion", "creationTimestamp"), UNKNOWN)
        shown["metadata"] = {**{k: v for k, v in objects.metadata(live).items() if k != "managedFields"}, **unknown}
        return values.outputs(marked, shown, manager)

    def _applied_new(self, kind: Kind, inputs: Object, manager: str, *, dry_run: bool) -> Object:
        path = self._cluster.path_of(kind, inputs)
        if "upsertExistingObjects" not in self._settings.on and self._cluster.api.find(path) is not None:
            plural = self._cluster.resource(kind).plural
            group = f"{plural}.{kind.group}" if kind.group else plural
            raise ExistsError(f'{group} "{objects.name(inputs)}" already exists')
        return self._applied(path, inputs, manager, dry_run=dry_run, is_new=True)

    # Updating

    def update(self, urn: str, kind: Kind, marked: Properties, old: Properties, timeout_s: float) -> State:
        """The object when it is as asked. PartialError: it is there, and isn't."""
        before, inputs = values.kept(old), opened(sent(marked))
        check_for(self._cluster, kind, inputs)
        manager = values.manager_for(inputs, before.manager)
        path = self._cluster.path_of(kind, inputs)
        live = self._cluster.api.find(path)
        if live is None:
            gone = f'"{objects.identity(inputs)}" is not in the cluster any more; `pulumi refresh` tells the stack'
            raise ApiError(404, "NotFound", gone)
        try:
            applied = self._applied(path, inputs, manager, dry_run=False)
        except ApiError as error:
            # Kept as if it had been done: the failure beside the state makes the next `up` try again.
            own = objects.identity(live)
            reason = f'the Kubernetes API server reported that "{own}" failed to fully initialize or become live: {error}'
            raise PartialError(State(own, values.outputs(marked, live, manager, before.api_version), marked), reason) from error
        return self._awaited(urn, kind, marked, inputs, applied, manager, timeout_s, created=False)

    def try_update(self, kind: Kind, marked: Properties, old: Properties) -> Properties:
        """What the object would be. ApiError."""
        before, inputs = values.kept(old), opened(sent(marked))
        manager = values.manager_for(inputs, before.manager)
        path = self._cluster.path_of(kind, inputs)
        return values.outputs(marked, self._applied(path, inputs, manager, dry_run=True), manager, before.api_version)

    # Reading and deleting

    def read(self, kind: Kind, engine_id: str, old_inputs: Properties, old: Properties) -> State | None:
        """The object as it is, None where it is gone. Without old inputs (an import) all that it says is taken for inputs.

        PartialError: it is there, and isn't ready.
        """
        before = values.kept(old, old_inputs)
        space, own = objects.namespace_and_name(engine_id)
        live = self._cluster.api.find(self._cluster.path(kind, space or objects.namespace(before.inputs), own))
        if live is None:
            return None
        inputs = opened(sent(old_inputs)) or before.inputs
        marked = values.with_secrets_of(received(live_inputs(live, inputs) if inputs else _imported(live)), old_inputs)
        found = State(
            engine_id, values.outputs(marked, live, values.manager_for(inputs, before.manager), before.api_version), marked
        )
        check = check_for(self._cluster, kind, inputs) if inputs else None
        ready = check(live) if check else None
        if ready is not None and not ready.ready:
            said = ready.failed or ready.waiting
            reason = f"Resource '{objects.identity(live)}' was created but failed to initialize"
            raise PartialError(found, reason, [said, *reasons(self._cluster, kind, live)])
        return found

    def delete(self, urn: str, kind: Kind, engine_id: str, old: Properties, timeout_s: float) -> None:
        """Ends when the object is gone. PartialError: it is there still. What doesn't exist is gone."""
        before = values.kept(old)
        space, own = objects.namespace_and_name(engine_id)
        path = self._cluster.path(kind, space, own)
        live = self._cluster.api.find(path)
        if live is None:
            return
        try:
            self._cluster.api.delete(path, _propagation(before.inputs))
        except ApiError as error:
            if error.status != 404:
                raise
        try:
            until_gone(self._waiting, urn, kind, live, before.inputs, timeout_s)
        except NotReadyError as error:
            inputs = values.with_secrets_of(received(before.inputs), old.get("__inputs") or {})
            kept = State(engine_id, values.outputs(inputs, error.live, before.manager, before.api_version), inputs)
            raise PartialError(kept, str(error), error.more) from error

    # What they share

    def _awaited(
        self,
        urn: str,
        kind: Kind,
        marked: Properties,
        inputs: Object,
        live: Object,
        manager: str,
        timeout_s: float,
        *,
        created: bool,
    ) -> State:
        try:
            ready = until_ready(self._waiting, urn, kind, live, inputs, timeout_s)
        except NotReadyError as error:
            own = objects.identity(error.live)
            reason = (
                f'resource "{urn}" was successfully created, but the Kubernetes API server reported that it failed to fully '
                f"initialize or become live: {error}"
                if created
                else f'the Kubernetes API server reported that "{own}" failed to fully initialize or become live: {error}'
            )
            raise PartialError(State(own, values.outputs(marked, error.live, manager), marked), reason, error.more) from error
        return State(objects.identity(ready), values.outputs(marked, ready, manager), marked)

    def _applied(self, path: str, inputs: Object, manager: str, *, dry_run: bool, is_new: bool = False) -> Object:
        # As patchForce of pulumi-kubernetes (provider/pkg/await/await.go): the preview of a creation overwrites, since that of a
        # replacement meets what it replaces; the preview of an update meets the conflicts that the update will.
        force = (dry_run and is_new) or objects.annotated(inputs, objects.PATCH_FORCE)
        try:
            return self._cluster.api.apply(path, inputs, manager=manager, force=force, dry_run=dry_run)
        except ApiError as error:
            if error.status != 409 or error.reason != "Conflict":
                raise
            if _owners(error) and all(each.startswith(_LEGACY_MANAGERS) for each in _owners(error)):
                return self._cluster.api.apply(path, inputs, manager=manager, force=True, dry_run=dry_run)
            message = f"Server-Side Apply field conflict detected. See {_CONFLICT_HELP} for troubleshooting help: {error}"
            raise ApiError(error.status, error.reason, message, error.details) from None


def _propagation(inputs: Object) -> str:
    said = objects.annotation(inputs, objects.DELETION_PROPAGATION).lower()
    return {"orphan": "Orphan", "background": "Background"}.get(said, "Foreground")


def _owners(error: ApiError) -> list[str]:
    """The managers that a conflict names: `conflict with "NAME" using v1`."""
    messages = [str(each.get("message", "")) for each in error.details.get("causes") or []]
    return [each.split('"')[1] for each in messages if each.startswith('conflict with "')]


def _account_missing(error: ApiError) -> bool:
    """A pod right after its namespace: the default account is made a moment later."""
    return error.status == 403 and "error looking up service account" in str(error)


def _imported(live: Object) -> Properties:
    """All of a live object that a program could have said."""
    metadata = {key: value for key, value in objects.metadata(live).items() if key not in objects.SERVER_METADATA}
    annotations = {key: value for key, value in (metadata.pop("annotations", None) or {}).items() if key not in _NOT_INPUTS}
    if annotations:
        metadata["annotations"] = annotations
    return {**{key: value for key, value in live.items() if key != "status"}, "metadata": metadata}
