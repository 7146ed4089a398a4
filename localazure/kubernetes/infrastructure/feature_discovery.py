"""GPU feature discovery, emulated: the labels of its node's GPUs as a NodeFeature, not as a file.

Behaviour: NVIDIA/k8s-device-plugin, cmd/gpu-feature-discovery.
"""

import time
from collections.abc import Mapping, Sequence

from localazure.kubernetes.infrastructure import flags, labels
from localazure.kubernetes.infrastructure.context import ActorContext, WrongUseError
from localazure.kubernetes.infrastructure.device_map import DeviceMapError
from localazure.kubernetes.infrastructure.device_plugin import read_config
from localazure.kubernetes.infrastructure.plugin_config import ConfigError

MACHINE = "Virtual Machine"  # what the firmware of Azure's machines says of itself
SLEEP_SECONDS = 60.0
NODE_FEATURES = "/apis/nfd.k8s-sigs.io/v1alpha1"
NODE_OF_FEATURES = "nfd.node.kubernetes.io/node-name"


class FeatureDiscovery:
    """One run of the program."""

    def __init__(self, version: tuple[int, int], arguments: Sequence[str]) -> None:
        self._version = version
        self._arguments = arguments

    async def run(self, context: ActorContext) -> int:
        try:
            return await self._discover(context, flags.values(self._arguments, context.env))
        except (ConfigError, DeviceMapError, WrongUseError) as error:
            context.klog(str(error), level="E", where="main.go:154")
            return 1

    async def _discover(self, context: ActorContext, values: Mapping[str, str]) -> int:
        while True:
            config = read_config(context, self._arguments, self._version)
            context.klog("Start running", where="main.go:248")
            state = context.devices.programs_of.state()
            found = labels.of_gpus(context.devices.gpus, config, state["driver_version"], state["cuda_version"], MACHINE)
            if not found:
                context.klog("No labels generated from any source", level="W", where="main.go:300")
            if not flags.switch(values, "no-timestamp"):
                found = {"nvidia.com/gfd.timestamp": str(int(time.time())), **found}
            await self._write(context, values, found)
            if flags.switch(values, "oneshot") or await context.pause(SLEEP_SECONDS):
                return 0

    async def _write(self, context: ActorContext, values: Mapping[str, str], found: Mapping[str, str]) -> None:
        node, namespace = values.get("node-name"), values.get("namespace")
        if not node:
            raise ConfigError("failed to create label outputer: required flag node-name not set")
        collection = f"{NODE_FEATURES}/namespaces/{namespace or 'default'}/nodefeatures"
        name = f"nvidia-features-for-{node}"
        before = await context.api.find(f"{collection}/{name}")
        body = before or {
            "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
            "kind": "NodeFeature",
            "metadata": {"name": name, "namespace": namespace or "default"},
        }
        body["metadata"].setdefault("labels", {})[NODE_OF_FEATURES] = node
        body["spec"] = {"features": {"flags": {}, "attributes": {}, "instances": {}}, "labels": dict(found)}
        if before is None:
            owners = [one for one in context.pod["metadata"].get("ownerReferences", []) if one.get("uid")]
            if owners:
                body["metadata"]["ownerReferences"] = owners
        try:
            await (context.api.create(collection, body) if before is None else context.api.replace(f"{collection}/{name}", body))
        except Exception as error:
            done = "create" if before is None else "update"
            raise ConfigError(f"failed to {done} NodeFeature object {name!r}: {getattr(error, 'message', error)}") from error
