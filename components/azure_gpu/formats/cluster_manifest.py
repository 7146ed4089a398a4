"""Kubernetes manifests as `jobs`, `services`, `queues` and `gpu_pools` of a cluster in a stack file.

A Job, CronJob or Pod becomes a job, a JobSet or an indexed Job one with workers; a Deployment, ReplicaSet or StatefulSet a
service, with what a Service and a HorizontalPodAutoscaler of the same pods set; `kueue_manifest` reads the queues and
`device_plugin_config` the `sharing` of a pool. Requests for MIG instances and for shared GPUs name the sharing that the pool
needs. Whatever the stack file has no key for is reported with its line, and so is every object of another kind.
"""

import re
from collections.abc import Mapping
from typing import Any

from azure_gpu.catalog.services.aks.device_plugin import GPU_RESOURCE, MIG_PREFIX, SHARED_SUFFIX
from azure_gpu.formats import device_plugin_config, kueue_manifest
from azure_gpu.formats.body_keys import not_read, take
from azure_gpu.formats.body_reader import BodyReader, Reading, given, mapping
from azure_gpu.formats.gpu_mentions import is_gpu_resource
from azure_gpu.formats.kubernetes_manifest import (
    MEMORY,
    PERCENTAGE,
    POOL_LABELS,
    QUEUE_NAME,
    RUNS,
    VISIBLE,
    Fitting,
    Manifest,
    inside,
    leave_each,
    mappings,
    metadata_of,
    objects,
    pod_in,
    sees,
    share,
    variables,
)
from azure_gpu.formats.likely_secrets import holds_secret, is_secret_name

SERVES = ("Deployment", "ReplicaSet", "StatefulSet")
SERVICE, AUTOSCALER, JOB_SET = "Service", "HorizontalPodAutoscaler", "JobSet"
_SMALL_MEMORY = "shared memory (/dev/shm) of a pod here has 64 MiB: NCCL and data loaders with more fail"
_SIZES = {"Ki": 1 / 1024**2, "Mi": 1 / 1024, "Gi": 1.0, "Ti": 1024.0, "K": 1e3 / 1024**3, "k": 1e3 / 1024**3, "M": 1e6 / 1024**3,
          "G": 1e9 / 1024**3, "T": 1e12 / 1024**3, "": 1 / 1024**3}  # fmt: skip
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|Ki|Mi|Gi|Ti|[KkMGT]?)")
_INTERNAL = "service.beta.kubernetes.io/azure-load-balancer-internal"
_SEES = "sees a GPU"  # until the container's own requests are read
_SHARE = ("active_thread_percentage", "pinned_memory_limit")  # of a GPU


def read(documents: list[Reading], fitting: Fitting) -> Manifest:
    """`fitting` makes a name that the stack file takes. What isn't taken is in `left` of each reading."""
    manifest = Manifest(fitting)
    later: list[tuple[str, BodyReader]] = []
    queues: list[tuple[str, BodyReader]] = []
    for body, path, reading in objects(documents):
        kind = str(body.get("kind"))
        if kind in kueue_manifest.KINDS:
            queues.append((kind, BodyReader(body, path, reading)))
        elif kind == JOB_SET:
            _job_set(BodyReader(body, path, reading), manifest)
        elif kind in (SERVICE, AUTOSCALER):
            later.append((kind, BodyReader(body, path, reading)))
        elif kind in (*RUNS, *SERVES):
            _workload(kind, BodyReader(body, path, reading), manifest)
        elif "kind" not in body:
            _piece(body, path, reading, manifest)
        elif kind == device_plugin_config.KIND:
            device_plugin_config.read(BodyReader(body, path, reading), manifest)
        else:
            instead = not_read("Kubernetes", kind)
            fix = f"see {instead}" if instead else "apply it by kubectl"
            article = "an" if kind[:1] in "AEIOU" else "a"
            reading.leave(f"{path}.kind" if path else "kind", f"{article} {kind} has no key in the stack file", fix)
    kueue_manifest.read(queues, manifest)
    for kind, reader in later:
        if kind == SERVICE:
            _service(reader, manifest)
        else:
            _autoscaler(reader, manifest)
    return manifest


def _piece(body: Mapping[str, Any], path: str, reading: Reading, manifest: Manifest) -> None:
    """A pod's spec, a container, or less, as pages show them."""
    of = BodyReader(body, path, reading)
    pod = pod_in(of)
    if pod is not None:
        _pod("Job", "job", of, pod, {}, manifest)
    elif "env" in of or "image" in of:
        _jobs_of([of], of.text("name") or "job", {}, False, manifest)
        of.rest()
    else:
        reading.leave(path, "not a manifest of Kubernetes, nor a part of one")


def _job_set(of: BodyReader, manifest: Manifest) -> None:
    """Workers that start together: a job with nodes, where they are all of one kind."""
    name, queue = metadata_of(of, JOB_SET)
    spec = of.inside("spec")
    replicated = spec.items("replicatedJobs")
    if len(replicated) != 1:
        kinds = f"the JobSet {name} has {len(replicated)} kinds of workers"
        of.leave("kind", f"{kinds}: a job's workers are alike", "set a job with nodes for each")
        return
    restarts = spec.inside("failurePolicy").whole("maxRestarts")
    [one] = replicated
    one.default("name", name, "workers", "worker", message="workers here are named by the job")
    job = one.inside("template").inside("spec")
    settings = _job_settings(job)
    if restarts is not None:
        job.default("backoffLimit", restarts, 0, message="workers restart together, as often as maxRestarts")
    workers = (one.whole("replicas") or 1) * (settings.pop("parallelism", None) or settings.pop("nodes", None) or 1)
    settings |= given(nodes=workers if workers > 1 else None, retries=restarts, queue=queue)
    spec.default("suspend", False, queue is not None, message="a job here starts with the update")
    _pod("Job", name, of, job.inside("template").inside("spec"), settings, manifest)


def _workload(kind: str, of: BodyReader, manifest: Manifest) -> None:
    name, queue = metadata_of(of, kind)
    spec = of.inside("spec")
    template = spec
    if kind == "CronJob":
        take("manifest schedule", spec)
        template = inside(spec, "jobTemplate.spec")
    if kind in SERVES:
        if queue is not None:
            of.inside("metadata").leave("labels", f"{QUEUE_NAME} {queue}: a service here takes any free GPUs")
        settings = _service_settings(spec)
    else:
        settings = (_job_settings(template) if kind != "Pod" else {}) | given(queue=queue)
        template.default("suspend", False, queue is not None, message="a job here starts with the update")
    pod = template
    if kind != "Pod":
        inner = template.inside("template")
        selected = mapping(mapping(spec.peek("selector")).get("matchLabels"))
        labels = inner.inside("metadata").inside("labels")
        own = [str(label) for label, value in selected.items() if labels.peek(str(label)) == value]
        labels.skip(*own)  # by which the object finds its pods
        if kind in SERVES:
            manifest.labels[manifest.fitting(name)] = {label: labels.peek(label) for label in labels.names()}
        leave_each(labels, "labels here are the stack's own", own)
        leave_each(inner.inside("metadata").inside("annotations"), "annotations here are the stack's own")
        pod = inner.inside("spec")
    _pod(kind, name, of, pod, settings, manifest)


def _service_settings(spec: BodyReader) -> dict[str, Any]:
    replicas = spec.whole("replicas")
    if replicas == 0:
        fix = "set enabled: false of the cluster's part, or leave it out"
        spec.leave("replicas", "0 replicas: a service here has 1 or more", fix)
    take("manifest deployment", spec)
    return given(replicas=replicas or None)


def _pod(kind: str, name: str, of: BodyReader, pod: BodyReader, job: dict[str, Any], manifest: Manifest) -> None:
    """`of`: the whole object; `job`: its settings outside of the pod."""
    serves = kind in SERVES
    containers = pod.items("containers")
    if not containers:
        of.leave("spec", f"{name} has no container", "add one")
        return
    for one in pod.items("initContainers"):
        _leave_container(one, "a pod here has one container")
    _volumes(pod)
    pool = _pool_of(pod)
    if pool is not None:
        job = {**job, "pool": pool}
    restarts = ("Always",) if serves else ("Never", "OnFailure")
    pod.default("restartPolicy", *restarts, message="a pod here has the stack's own")
    take("manifest pod", pod)
    # The container with a GPU is the program; of several without, the first is.
    chosen = containers if not serves else [next((one for one in containers if _gpu_texts(one)), containers[0])]
    for one in containers:
        if one not in chosen:
            _leave_container(one, "a pod here has one container")
    if len(chosen) > 1:
        pod.change("containers", f"the pod has {len(chosen)} containers; each becomes a separate job")
    _jobs_of(chosen, name, job, serves, manifest)
    of.rest()


def _volumes(pod: BodyReader) -> None:
    """Volumes, which pods here don't have; memory that is mounted on /dev/shm with its consequence."""
    for volume in pod.items("volumes"):
        empty = mapping(volume.peek("emptyDir"))
        memory = str(empty.get("medium")).lower() == "memory"
        volume.skip(*volume.names())
        of_size = f"{empty.get('sizeLimit') or 'memory'}: {_SMALL_MEMORY}"
        volume.reading.leave(volume.path, of_size if memory else "pods here have no volumes")


def _pool_of(pod: BodyReader) -> str | None:
    """The pool that a node selector names by AKS' label; other labels are reported."""
    selector = pod.inside("nodeSelector")
    found = next((name for label in POOL_LABELS if (name := selector.text(label))), None)
    for name in selector.names():
        if name not in POOL_LABELS:
            selector.leave(name, f"{selector.peek(name)}: pods run on the nodes of their pool", "set pool")
    return found


def _leave_container(one: BodyReader, why: str) -> None:
    one.skip(*one.names())
    requests = ", ".join(_gpu_texts(one))
    one.reading.leave(one.path, why + (f"; this one requests {requests}" if requests else ""))


def _jobs_of(containers: list[BodyReader], name: str, job: dict[str, Any], serves: bool, manifest: Manifest) -> None:
    section = "services" if serves else "jobs"
    for index, container in enumerate(containers):
        own = name if len(containers) == 1 else f"{name}-{container.text('name') or index}"
        key = manifest.fitting(own)
        container.default("name", own, key, name, message=f"the container is named as {key}")
        settings = {**job, **_container(container, manifest, section, key)}
        count, refused = _gpus(container, manifest, key)
        shares = settings.pop(_SEES, False) or not settings.keys().isdisjoint(_SHARE)
        settings["gpus"] = count or int(shares)
        if refused:
            manifest.refused.setdefault(section, {})[key] = {name: value for name, value in settings.items() if name != "gpus"}
        elif serves:
            manifest.services[key] = {**settings, **_ports(container), **_probe(container)}
        else:
            take("manifest job container", container)
            manifest.jobs[key] = settings


def _job_settings(job: BodyReader) -> dict[str, Any]:
    """Of a Job. The pods of an indexed one are workers, which start together."""
    parallel, completions = job.whole("parallelism"), job.whole("completions")
    indexed = job.choice("completionMode", {"Indexed": True, "NonIndexed": None})
    workers = parallel if indexed and parallel and parallel > 1 and completions in (None, parallel) else None
    if workers:
        job.change(
            "completionMode", f"its {workers} pods are workers, which find each other by TF_CONFIG and have no other index"
        )
    elif indexed:
        job.leave("completionMode", "pods of a job have no index", "set nodes, for workers that find each other by TF_CONFIG")
    if completions is not None and completions != (parallel or 1):
        job.leave("completions", f"{completions} completions: every one of the {parallel or 1} parallel pods has to succeed")
    return take("manifest job", job, parallelism=parallel if parallel != 1 and not workers else None, nodes=workers)


def _container(of: BodyReader, manifest: Manifest, section: str, key: str) -> dict[str, Any]:
    environment: dict[str, str] = {}
    settings = take("manifest container", of)
    for one, name, value in variables(of):
        if name == VISIBLE:
            one.change("value", f"{VISIBLE}: the device plugin decides which GPU a pod sees")
            settings[_SEES] = sees(value)
        elif found := share(name, value):
            settings |= found
        elif name in (PERCENTAGE, MEMORY):
            one.leave("value", f"{name}: not a value that can be set here", "set sharing of the pool")
        elif is_secret_name(name) or holds_secret(value):
            manifest.secrets.append((f"{section}.{key}", name))
        elif name:
            environment[name] = one.text("value", free=True) or ""
    for variable in _SHARE:
        if section == "services" and variable in settings:
            of.leave(
                "env", f"{variable} {settings.pop(variable)}: a service has no separate share", "set it in sharing of the pool"
            )
    for mount in of.items("volumeMounts"):
        shared = str(mount.peek("mountPath")).rstrip("/") == "/dev/shm"  # noqa: S108 - a path in a container
        mount.skip(*mount.names())
        mount.reading.leave(mount.path, _SMALL_MEMORY if shared else "pods here have no volumes")
    resources = of.inside("resources")
    limits, requests = resources.inside("limits"), resources.inside("requests")
    cpu, memory = requests.text("cpu") or limits.text("cpu"), limits.text("memory") or requests.text("memory")
    limits.default("cpu", cpu, message="a pod here requests CPU, and has no limit of it")
    requests.default("memory", memory, message="a pod here requests the memory that it is limited to")
    cores, gib = _quantity(cpu, {"": 1, "m": 1e-3, "k": 1e3}), _quantity(memory, _SIZES)
    for key, text, read, first in (("cpu", cpu, cores, requests), ("memory", memory, gib, limits)):
        if text and read is None:
            reader = first if key in first else limits if first is requests else requests
            reader.leave(key, f"{text}: expected a quantity, such as {'500m' if key == 'cpu' else '16Gi'}")
    return settings | given(environment=environment, cpu=cores, memory_in_gib=gib)


def _quantity(text: str | None, units: Mapping[str, float]) -> float | int | None:
    """The number that a quantity of Kubernetes stands for; None if there is none, or if it is none."""
    found = _QUANTITY.fullmatch(text or "")
    if found is None or found[2] not in units:
        return None
    number = round(float(found[1]) * units[found[2]], 3 if units is _SIZES else 6)
    return int(number) if number == int(number) else number


def _gpu_texts(container: BodyReader) -> list[str]:
    """What a container requests of GPUs, without reading it."""
    resources = mapping(container.peek("resources"))
    found: dict[str, Any] = {}
    for kind in ("requests", "limits"):
        found |= {name: count for name, count in mapping(resources.get(kind)).items() if is_gpu_resource(str(name))}
    return [f"{name}: {count}" for name, count in found.items() if count not in (0, "0")]


def _gpus(container: BodyReader, manifest: Manifest, key: str) -> tuple[int, bool]:
    """How many GPUs a pod gets, and whether they are of a kind that a cluster here doesn't have."""
    resources = container.inside("resources")
    total, refused = 0, False
    limits, requests = resources.inside("limits"), resources.inside("requests")
    limited = {name.lower() for name in limits.names()}
    for one in (limits, requests):
        for name in filter(is_gpu_resource, one.names()):
            count = one.whole(name)
            if not count or (one is requests and name.lower() in limited):
                continue
            at = one.at(name)
            if name == GPU_RESOURCE:
                total += count
            elif name == f"{GPU_RESOURCE}{SHARED_SUFFIX}":
                total += count
                manifest.notes.append(
                    f"{at}: {count} shared GPU{'s' if count > 1 else ''}: set `sharing: {{rename: true, …}}` of the pool"
                )
            elif name.startswith(MIG_PREFIX):
                total += count
                profile = name.removeprefix(MIG_PREFIX).removesuffix(SHARED_SUFFIX)
                match = device_plugin_config.MIG.match(profile)
                sharing = f"sharing: {{strategy: mig, profile: {f'MIG{match[1]}g' if match else '…'}, mig_strategy: mixed}}"
                manifest.notes.append(
                    f"{at}: {count} MIG instance{'s' if count > 1 else ''} {profile} for {key}: set `{sharing}` of the pool"
                )
            else:
                refused = True
                vendor = "AMD" if name.startswith("amd.com/") else "another vendor"
                message = f"{count} GPU{'s' if count > 1 else ''} of {vendor}: pods of a stack's cluster request NVIDIA GPUs"
                one.leave(name, message, "set a pool with NVIDIA GPUs and gpus, or use vms with an AMD size")
    return total, refused


def _ports(container: BodyReader) -> dict[str, Any]:
    ports = container.items("ports")
    numbers: list[int] = []
    for port in ports:
        number = port.whole("containerPort")
        take("manifest port", port)
        if number is not None:
            numbers.append(number)
            if len(numbers) > 1:
                port.leave("containerPort", f"{number}: a service has one port, here {numbers[0]}")
    return {"port": numbers[0]} if numbers else {}


def _probe(container: BodyReader) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in ("readinessProbe", "livenessProbe"):
        probe = container.inside(key)
        probe.inside("httpGet").default("port", *_open_ports(container), message="probes here go to the service's port")
        settings = take("manifest probe", probe)
        if "route" in settings and not found:
            found = settings
        elif key in container and settings.items() - found.items():
            container.leave(key, "a service has one probe, an HTTP request", "set probes")
    start = container.inside("startupProbe")
    period, failures = start.whole("periodSeconds"), start.whole("failureThreshold")
    take("manifest start probe", start)
    if failures:
        found["start_minutes"] = max(1, -(-(period or 10) * failures // 60))
    return {"probes": found} if found else {}


def _open_ports(container: BodyReader) -> list[Any]:
    """Numbers and names of a container's ports."""
    ports = mappings(container.peek("ports"))
    return [one[key] for one in ports for key in ("containerPort", "name") if key in one]


def _service(of: BodyReader, manifest: Manifest) -> None:
    """A Service of Kubernetes: the port that its pods listen on, and who reaches them."""
    metadata, spec = of.inside("metadata"), of.inside("spec")
    kinds = {one: one for one in ("ClusterIP", "LoadBalancer", "NodePort", "ExternalName")}
    kind = spec.choice("type", kinds)
    annotations = metadata.inside("annotations")
    internal = annotations.flag(_INTERNAL)
    name, _ = metadata_of(of, "", _INTERNAL)
    take("manifest address", spec)
    ports = spec.items("ports")
    target = next((port.whole("targetPort") for port in ports if str(port.peek("targetPort")).isdigit()), None)
    for port in ports:
        take("manifest address port", port)
        port.default("targetPort", target, "http", message="a service here has one port, its container's")
        port.default("port", target or port.peek("port"), message="a service here answers on its container's port")
    selected = mapping(spec.raw("selector")).items()
    key = next((one for one in manifest.services if selected and selected <= manifest.labels.get(one, {}).items()), None)
    if key is None and not selected and len(manifest.services) == 1:
        key = next(iter(manifest.services))
    if key is None:
        of.leave(
            "kind",
            f"the Service {name} is of no Deployment in this file",
            "every service of a stack has an address in the cluster",
        )
        of.rest()
        return
    metadata.default("name", key, message=f"its address in the cluster is {key}")
    if target is not None and target != (port := manifest.services[key].setdefault("port", target)):
        ports[0].leave("targetPort", f"{target}: a service here has one port, here {port}")
    if kind == "LoadBalancer" and internal:
        manifest.services[key]["reach"] = "network"
    elif kind in ("LoadBalancer", "NodePort"):
        spec.leave(
            "type", f"{kind}: a service here has no public address", "set reach: network, for the cluster's virtual network"
        )
    of.rest()


def _autoscaler(of: BodyReader, manifest: Manifest) -> None:
    spec = of.inside("spec")
    reference = spec.inside("scaleTargetRef")
    reference.skip("apiVersion", "kind")
    target = manifest.fitting(reference.text("name") or "")
    spec.leave_given("behavior", "services here scale at Kubernetes' own pace")
    low, high = spec.whole("minReplicas"), spec.whole("maxReplicas")
    percent = spec.whole("targetCPUUtilizationPercentage")
    for metric in spec.items("metrics"):
        resource = metric.inside("resource")
        metric.default("type", "Resource", message="services scale by CPU")
        if resource.text("name") == "cpu":
            goal = resource.inside("target")
            goal.default("type", "Utilization", message="services scale by a percentage")
            percent = percent or goal.whole("averageUtilization")
        else:
            metric.leave("type", "services scale by CPU", "set autoscale: {cpu_percent: …}")
    if target not in manifest.services:
        of.leave("kind", f"the autoscaler's target {target} isn't in this file", "set autoscale of the service")
        return
    name, _ = metadata_of(of, "")
    of.rest()
    service = manifest.services[target]
    if replicas := service.pop("replicas", None):
        manifest.notes.append(f"{of.at()}: the autoscaler {name} sets how many replicas {target} has, in place of {replicas}")
    service["autoscale"] = given(min=low, max=high, cpu_percent=percent)
    if "cpu" not in service:
        manifest.notes.append(f"{of.at()}: autoscaling requires cpu of the service {target}, and its container requests none")
