"""The controllers of JobSet and Kueue in pods: the real programs, built of their Go modules, for the images of their charts.

The process is the real program. What it finds at fixed paths in its container is told by its own flags and settings instead: who
it is (a kubeconfig with the pod's token), where it listens (at the pod's address), its certificate. Kueue makes that itself, in a
Secret that is carried to its folder at once. JobSet's own rotation looks at a fixed path of this machine, so that its certificate
is made here, as cert-manager does it: one of the cluster's authority, which the webhooks that lead to its namespace are told.
"""

import asyncio
import base64
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from azure_gpu.formats import bounded_yaml
from localazure.folder import SECRET_MODE, write_json, write_whole
from localazure.kubernetes import kubeconfigs
from localazure.kubernetes.client import KubeApi, KubeError
from localazure.kubernetes.pki import Pair, Pki

Body = dict[str, Any]
log = logging.getLogger(__name__)
_IMAGES = {"registry.k8s.io/jobset/jobset": "jobset", "registry.k8s.io/kueue/kueue": "kueue"}  # repository: the program's name
_SERVING = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108 - where both mount their certificates
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_PORTS = {"webhook": 9443, "health": 8081, "metrics": 8443}  # both programs' own
_CONFIG = re.compile(r"--config=(.+)")
_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_OFTEN_SECONDS, _SELDOM_SECONDS, _OFTEN_FOR = 0.5, 10.0, 60.0


class ControllerPod(Protocol):
    """What is read of a pod that runs a controller."""

    body: Body
    folder: Path
    namespace: str

    @property
    def loopback(self) -> str: ...


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


def fit(
    spec: Body, controller: Controller, pod: ControllerPod, server: str, mounts: Mapping[str, Path], folder: Path, pki: Pki
) -> Body:
    """The process of a run in `folder`, told by flags and settings what it can't find in a container. OSError, ValueError."""
    certificates = _certificates(pod.folder)
    certificates.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not controller.rotates:
        pair = Pair(certificates / "tls.crt", certificates / "tls.key")
        pki.serving(pair, controller.name, [f"*.{pod.namespace}.svc"])
    account = mounts.get(_ACCOUNT)
    if account is None:
        raise ValueError(f"the pod has no token at {_ACCOUNT}")
    kubeconfig = folder / "kubeconfig"
    user: Body = {"tokenFile": str(account / "token")}
    cluster = {"server": server, "certificate-authority": str(account / "ca.crt")}
    write_json(kubeconfig, kubeconfigs.config(controller.name, cluster, user), SECRET_MODE)
    words = [_CONFIG.fullmatch(word) for word in spec["argv"]]
    inside = next((found[1] for word in pod_words(pod) if (found := _CONFIG.fullmatch(word))), "")
    given = mounts.get(inside)
    settings = bounded_yaml.load(given.read_text(encoding="utf-8")) if given else {}
    written = folder / "config.yaml"
    written.write_text(bounded_yaml.dump(_settings(settings or {}, controller, pod.loopback, certificates)), encoding="utf-8")
    argv = [f"--config={written}" if found else word for word, found in zip(spec["argv"], words, strict=True)]
    if controller.name == "kueue":
        argv.append("--feature-gates=VisibilityOnDemand=false")  # its own API, at a fixed port of all addresses
    return {**spec, "argv": argv, "env": {**spec["env"], "KUBECONFIG": str(kubeconfig)}}


def pod_words(pod: ControllerPod) -> list[str]:
    """The arguments as the pod says them."""
    return [word for one in pod.body["spec"]["containers"] for word in one.get("args") or ()]


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


def _certificates(pod_folder: Path) -> Path:
    return pod_folder / "serving"


async def attend(api: KubeApi, pod: ControllerPod, controller: Controller, authority: Path) -> None:
    """For as long as such a pod runs."""
    if controller.rotates:
        await _carry(api, pod)
    else:
        await _vouch(api, pod.namespace, authority)


async def _carry(api: KubeApi, pod: ControllerPod) -> None:
    """Certificates of the Secret that it mounts for them, in the folder that it is told; a kubelet would take a minute."""
    names = [
        volume["secret"]["secretName"]
        for volume in pod.body["spec"].get("volumes") or ()
        for one in pod.body["spec"]["containers"]
        for mount in one.get("volumeMounts") or ()
        if mount["mountPath"] == _SERVING and mount["name"] == volume["name"] and "secret" in volume
    ]
    folder, seen = _certificates(pod.folder), ""
    while names:
        try:
            found = await api.find(f"/api/v1/namespaces/{pod.namespace}/secrets/{names[0]}")
        except KubeError as error:
            log.warning("certificates of %s: %s", pod.namespace, error)
            found = None
        version = found["metadata"]["resourceVersion"] if found else seen
        data = (found or {}).get("data") or {}
        if version != seen and "tls.crt" in data:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name, content in sorted(data.items(), reverse=True):  # tls.key before tls.crt, which is what is waited for
                write_whole(folder / name, base64.b64decode(content).decode("ascii"), SECRET_MODE)
            seen = version
        await asyncio.sleep(_OFTEN_SECONDS if not seen else _SELDOM_SECONDS)


async def _vouch(api: KubeApi, namespace: str, authority: Path) -> None:
    """Webhooks that lead to Services of the namespace trust the cluster's authority."""
    bundle = base64.b64encode(authority.read_bytes()).decode("ascii")
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        try:
            for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
                for one in (await api.list(f"{_WEBHOOKS}/{kind}")).get("items") or ():
                    await _trust(
                        api, f"{_WEBHOOKS}/{kind}/{one['metadata']['name']}", one.get("webhooks") or [], namespace, bundle
                    )
            for one in (await api.list(_DEFINITIONS)).get("items") or ():
                conversion = (one["spec"].get("conversion") or {}).get("webhook") or {}
                await _convert(api, f"{_DEFINITIONS}/{one['metadata']['name']}", conversion, namespace, bundle)
        except KubeError as error:
            log.warning("webhooks of %s: %s", namespace, error)
        await asyncio.sleep(_OFTEN_SECONDS if loop.time() - began < _OFTEN_FOR else _SELDOM_SECONDS)


def _lacks(client: Body, namespace: str, bundle: str) -> bool:
    return (client.get("service") or {}).get("namespace") == namespace and client.get("caBundle") != bundle


async def _trust(api: KubeApi, path: str, webhooks: list[Body], namespace: str, bundle: str) -> None:
    patch = [
        {"op": "add", "path": f"/webhooks/{number}/clientConfig/caBundle", "value": bundle}
        for number, one in enumerate(webhooks)
        if _lacks(one["clientConfig"], namespace, bundle)
    ]
    if patch:
        await api.patch(path, patch, kind="json")


async def _convert(api: KubeApi, path: str, conversion: Body, namespace: str, bundle: str) -> None:
    if conversion and _lacks(conversion.get("clientConfig") or {}, namespace, bundle):
        await api.patch(path, {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}})
