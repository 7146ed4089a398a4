"""A pod as its specification and its record on the node say it: what variables, volumes, processes and names are made of."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from localazure.kubernetes.agent.node import Node
from localazure.kubernetes.agent.node_forms import ADDRESS
from localazure.kubernetes.client import KubeApi

Body = dict[str, Any]


class PodFacts:
    """`body` is replaced when the API server tells of a change, `record` is what the node has given it: addresses and ports."""

    def __init__(self, body: Body, node: Node, api: KubeApi, folder: Path) -> None:
        self.body = body
        self.uid: str = body["metadata"]["uid"]
        self.name: str = body["metadata"]["name"]
        self.namespace: str = body["metadata"]["namespace"]
        self.node = node
        self.api = api
        self.folder = folder
        self.volumes = folder / ".volumes"
        self.over = False  # nothing of it starts any more
        self.record: Body = {}

    @property
    def specs(self) -> list[Body]:
        """Of its containers."""
        return [*(self.body["spec"].get("initContainers") or ()), *self.body["spec"]["containers"]]

    @property
    def grace_seconds(self) -> int:
        return int(self.body["spec"].get("terminationGracePeriodSeconds", 30))

    @property
    def ip(self) -> str:
        return ADDRESS if self.body["spec"].get("hostNetwork") else str(self.record.get("ip", ""))

    @property
    def loopback(self) -> str:
        """The address of this machine that is its own; the machine's where it shares its node's network, or was begun without."""
        return ADDRESS if self.body["spec"].get("hostNetwork") else str(self.record.get("loopback", ADDRESS))

    def ports_of(self, container: Body) -> dict[int, int]:
        """The ports of this machine that stand for a container's."""
        return {int(inside): ours for inside, ours in self.record.get("ports", {}).get(container["name"], {}).items()}

    @property
    def all_ports(self) -> dict[int, int]:
        return {inside: ours for one in self.specs for inside, ours in self.ports_of(one).items()}

    def reached_at(self, port: int) -> list[tuple[str, int]]:
        """Where on this machine a port of the pod may answer: at the one that stands for it, or at its own address; one that it
        doesn't declare also at loopback."""
        stands_for = self.all_ports.get(port)
        own = (self.loopback, port)
        return [(ADDRESS, stands_for), own] if stands_for else [own, (ADDRESS, port)]

    def port_variables(self, container: Body, env: Mapping[str, str]) -> dict[str, str]:
        """`PORT` leads to the first declared port and `PORT_<number>` to each, unless the pod says another thing by that name."""
        ports = self.ports_of(container)
        if not ports:
            return {}
        first = int((container.get("ports") or [{}])[0].get("containerPort", 0))
        said = env.get("PORT", "")
        found = {f"PORT_{inside}": str(ours) for inside, ours in ports.items()}
        if not said or (said.isdigit() and int(said) in ports):
            found["PORT"] = str(ports[int(said)] if said else ports[first])
        return found
