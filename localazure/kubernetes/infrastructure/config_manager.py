"""The config manager beside the device plugin, emulated: it links the configuration that its node's label names.

Behaviour: NVIDIA/k8s-device-plugin, cmd/config-manager.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from azure_gpu.catalog.services.aks.device_plugin import CONFIG_LABEL
from localazure.kubernetes.infrastructure import flags, signals
from localazure.kubernetes.infrastructure.context import ActorContext, WrongUseError

_NEEDED = ("node-name", "config-file-srcdir", "config-file-dst")


class ConfigManager:
    """One run of the program."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = arguments

    async def run(self, context: ActorContext) -> int:
        try:
            values = flags.values(flags.CONFIG_MANAGER, self._arguments, context.env)
            for flag in _NEEDED:
                if not values.get(flag):
                    raise WrongUseError(f"invalid <{flag}>: must not be empty string")
            return await self._follow(context, values)
        except WrongUseError as error:
            context.klog(str(error), level="E", where="main.go:168")
            return 1

    async def _follow(self, context: ActorContext, values: Mapping[str, str]) -> int:
        label = values.get("node-label") or CONFIG_LABEL
        context.klog(f"Waiting for change to '{label}' label", where="main.go:247")
        before: str | None = None
        async for event in context.events("/api/v1/nodes", fields=f"metadata.name={values['node-name']}"):
            for node in event.object.get("items", []) if event.type == "SYNCED" else [event.object]:
                value = (node["metadata"].get("labels") or {}).get(label, "")
                if value == before or event.type == "DELETED":
                    continue
                before = value
                context.klog(f"Label change detected: {label}={value}", where="main.go:249")
                self._update(context, values, value)
                if flags.switch(values, "oneshot"):
                    return 0
                context.klog(f"Waiting for change to '{label}' label", where="main.go:247")
        return 0

    def _update(self, context: ActorContext, values: Mapping[str, str], value: str) -> None:
        name = _chosen(context, values, value)
        context.klog(f"Updating to config: {name}" if name else "Updating to empty config", where="main.go:305")
        source = _folder(context, values) / name if name else Path("/dev/null")
        target = context.path(values["config-file-dst"])
        if target is None:
            raise WrongUseError(
                f"error creating symlink: symlink {source.name} {values['config-file-dst']}: no such file or directory"
            )
        if target.is_symlink() and target.readlink() == source:
            context.klog("Already configured. Skipping update...", where="main.go:318")
            return
        target.unlink(missing_ok=True)
        target.symlink_to(source)
        context.klog(
            f"Successfully updated to config: {name}" if name else "Successfully updated to empty config", where="main.go:325"
        )
        if flags.switch(values, "send-signal", default=True):
            program = values.get("process-to-signal") or "nvidia-device-plugin"
            context.klog(f"Sending signal 'hangup' to '{program}'", where="main.go:330")
            if not signals.send(context, program):
                raise WrongUseError("error finding pid: no process found")
            context.klog("Successfully sent signal", where="main.go:335")


def _folder(context: ActorContext, values: Mapping[str, str]) -> Path:
    folder = context.path(values["config-file-srcdir"])
    if folder is None or not folder.is_dir():
        why = f"open {values['config-file-srcdir']}: no such file or directory"
        raise WrongUseError(f"error getting list of configuration files: {why}")
    return folder


def _chosen(context: ActorContext, values: Mapping[str, str], value: str) -> str:
    names = sorted(one.name for one in _folder(context, values).iterdir() if one.is_file() and not one.name.startswith(".."))
    if not names:
        raise WrongUseError("no configuration files available")
    if value:
        if value not in names:
            raise WrongUseError(f"specified config {value} does not exist")
        return value
    default = values.get("default-config", "")
    if default:
        context.klog(f"No value set. Selecting default name: {default}", where="main.go:358")
        if default not in names:
            raise WrongUseError(f"specified config {value} does not exist")
        return default
    fallbacks = [one for one in values.get("fallback-strategies", "").split(",") if one]
    context.klog(f"No value set and no default set. Attempting fallback strategies: [{' '.join(fallbacks)}]", where="main.go:366")
    for fallback in fallbacks:
        if fallback == "named" and "default" in names:
            return "default"
        if fallback == "single" and len(names) == 1:
            return names[0]
        if fallback == "empty":
            return ""
        if fallback not in ("named", "single", "empty"):
            raise WrongUseError(f"unknown fallback strategy: {fallback}")
    raise WrongUseError("no config was set, no default was provided, and all fallbacks failed")
