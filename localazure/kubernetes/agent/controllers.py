"""The controllers of JobSet and Kueue in pods: the real programs, built of their Go modules, for the images of their charts.

The process is the real program. What it finds at fixed paths in its container is told by its own flags and settings instead: who
it is (a kubeconfig with the pod's token), where it listens (at the pod's address), its certificate. Kueue makes that itself, in a
Secret that is carried to its folder at once; one that it is given it reads at a fixed path of this machine. JobSet's own rotation
looks at such a path, so that its certificate is made here, as cert-manager does it: one of the cluster's authority, which the
webhooks that lead to its namespace are told.
"""

import asyncio
import base64
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.formats import bounded_yaml
from localazure.folder import SECRET_MODE, write_json, write_whole
from localazure.kubernetes import kubeconfigs
from localazure.kubernetes.agent import environment
from localazure.kubernetes.agent.pod_facts import PodFacts
from localazure.kubernetes.client import KubeError
from localazure.kubernetes.pki import Pair, Pki

Body = dict[str, Any]
log = logging.getLogger(__name__)
_IMAGES = {"registry.k8s.io/jobset/jobset": "jobset", "registry.k8s.io/kueue/kueue": "kueue"}  # repository: the program's name
_SERVING = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108 - where both mount their certificates
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_PORTS = {"webhook": 9443, "health": 8081, "metrics": 8443}  # both programs' own
_CONFIG = re.compile(r"--config=(.+)")
_CALLERS = (
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
)
_OFTEN_SECONDS, _SELDOM_SECONDS, _OFTEN_FOR = 0.5, 10.0, 60.0


class Controller(NamedTuple):
    """What an image means."""

    name: str
    version: str  # its tag

    @property
    def rotates(self) -> bool:
        """It makes its own certificate."""
        return self.name == "kueue"


def of_image(image: str) -> Controller | None:
    """None for any other image."""
    repository, _, tag = image.partition("@")[0].rpartition(":")
    return Controller(_IMAGES[repository], tag) if repository in _IMAGES else None


def record(controller: Controller, groups: Path | None, folder: Path) -> Body | str:
    """The image as a registry would tell it; or why it can't be pulled. `folder`: for its files."""
    program = groups / f"{controller.name}-controller" if groups else None
    if program is None or groups is None or not program.exists():
        return f"this machine has no build of {controller.name} yet: `make groups` makes one"
    built = [path.name.rpartition("-")[2] for path in groups.glob(f"{controller.name}-*/")]
    if controller.version.removeprefix("v") not in built:
        return f"{controller.name} {controller.version} isn't built here, but {', '.join(f'v{each}' for each in built)} is"
    root = folder / f"{controller.name}-{controller.version}"
    root.mkdir(parents=True, exist_ok=True)
    link = root / "manager"
    if link.is_symlink() and link.readlink() != program:
        link.unlink()
    if not link.is_symlink():
        link.symlink_to(program)
    return {
        "digest": f"sha256:{controller.version.encode().hex():0<64}",
        "root": str(root),
        "environment": None,
        "entrypoint": ["/manager"],
        "cmd": [],
        "env": {},
        "workdir": "/",
    }


def fit(spec: Body, controller: Controller, pod: PodFacts, mounts: Mapping[str, Path], folder: Path) -> Body:
    """The process of a run in `folder`, told by flags and settings what it can't find in a container. OSError, ValueError."""
    folder.mkdir(mode=0o700, exist_ok=True)
    certificates = _certificates(pod)
    if not controller.rotates:
        pki = Pki(pod.node.settings.authority.parent)
        pki.serving(Pair(certificates / "tls.crt", certificates / "tls.key"), controller.name, [f"*.{pod.namespace}.svc"])
    account = mounts.get(_ACCOUNT)
    if account is None:
        raise ValueError(f"the pod has no token at {_ACCOUNT}")
    kubeconfig = folder / "kubeconfig"
    user: Body = {"tokenFile": str(account / "token")}
    cluster = {"server": pod.node.settings.server, "certificate-authority": str(account / "ca.crt")}
    write_json(kubeconfig, kubeconfigs.config(controller.name, cluster, user), SECRET_MODE)
    said = (found[1] for one in pod.specs for word in one.get("args") or () if (found := _CONFIG.fullmatch(word)))
    given = mounts.get(next(said, ""))
    settings = bounded_yaml.load(given.read_text(encoding="utf-8")) if given else {}
    written = folder / "config.yaml"
    written.write_text(bounded_yaml.dump(_settings(settings or {}, controller, pod.loopback, certificates)), encoding="utf-8")
    argv = [f"--config={written}" if _CONFIG.fullmatch(word) else word for word in spec["argv"]]
    if controller.name == "kueue":
        argv.append("--feature-gates=VisibilityOnDemand=false")  # its own API, at a fixed port of all addresses
    return {**spec, "argv": argv, "env": {**spec["env"], "KUBECONFIG": str(kubeconfig)}}


def _settings(given: Body, controller: Controller, address: str, certificates: Path) -> Body:
    """The program's own settings, at the pod's address; it is alone, and a lease's place is looked for in a container."""
    return {
        **given,
        "webhook": {**(given.get("webhook") or {}), "host": address, "port": _PORTS["webhook"], "certDir": str(certificates)},
        "health": {**(given.get("health") or {}), "healthProbeBindAddress": f"{address}:{_PORTS['health']}"},
        "metrics": {**(given.get("metrics") or {}), "bindAddress": f"{address}:{_PORTS['metrics']}"},
        "leaderElection": {**(given.get("leaderElection") or {}), "leaderElect": False},
        "internalCertManagement": {**(given.get("internalCertManagement") or {}), "enable": controller.rotates},
    }


def _certificates(pod: PodFacts) -> Path:
    folder = pod.folder / "serving"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


async def carry(pod: PodFacts) -> None:
    """For as long as Kueue runs: certificates of the Secret that it mounts for them, in the folder that it is told.

    A kubelet would take a minute."""
    volumes = {one["name"]: one["secret"]["secretName"] for one in pod.body["spec"].get("volumes") or () if "secret" in one}
    mounts = [mount for one in pod.specs for mount in one.get("volumeMounts") or () if mount["mountPath"] == _SERVING]
    folder, seen = _certificates(pod), b""
    while mounts:
        try:
            data = await environment.data(pod, environment.SECRET, {"name": volumes[mounts[0]["name"]], "optional": True})
        except KubeError as error:
            log.warning("certificates of %s: %s", pod.namespace, error)
            data = {}
        if data.get("tls.crt", seen) != seen:
            for name, content in sorted(data.items(), reverse=True):  # tls.key before tls.crt, which is what is waited for
                write_whole(folder / name, content.decode("ascii"), SECRET_MODE)
            seen = data["tls.crt"]
        await asyncio.sleep(_SELDOM_SECONDS if seen else _OFTEN_SECONDS)


async def vouch(pod: PodFacts) -> None:
    """For as long as JobSet runs: webhooks that lead to Services of its namespace trust the cluster's authority."""
    bundle = base64.b64encode(pod.node.settings.authority.read_bytes()).decode("ascii")
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        try:
            for path in _CALLERS:
                for one in (await pod.api.list(path)).get("items") or ():
                    patch = [
                        {"op": "add", "path": f"{where}/caBundle", "value": bundle}
                        for where, client in _clients(one)
                        if (client.get("service") or {}).get("namespace") == pod.namespace and client.get("caBundle") != bundle
                    ]
                    if patch:
                        await pod.api.patch(f"{path}/{one['metadata']['name']}", patch, kind="json")
        except KubeError as error:
            log.warning("webhooks of %s: %s", pod.namespace, error)
        await asyncio.sleep(_OFTEN_SECONDS if loop.time() - began < _OFTEN_FOR else _SELDOM_SECONDS)


def _clients(caller: Body) -> Iterator[tuple[str, Body]]:
    """The settings of each webhook that a configuration, or a type that is converted, calls, with their place."""
    for number, one in enumerate(caller.get("webhooks") or ()):
        yield f"/webhooks/{number}/clientConfig", one["clientConfig"]
    converts = ((caller.get("spec") or {}).get("conversion") or {}).get("webhook") or {}
    if converts.get("clientConfig"):
        yield "/spec/conversion/webhook/clientConfig", converts["clientConfig"]
