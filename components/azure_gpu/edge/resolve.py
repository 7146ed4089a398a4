"""Resolves the arguments of a cluster at the edge: fills in all defaults and finds all problems."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, cast

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import gpu_sharing, stack_edge
from azure_gpu.catalog.services.gpu_sharing import SharingRequest
from azure_gpu.catalog.services.stack_edge import NO_GPU, DeviceRequest, EdgeJob
from azure_gpu.edge.args import EdgeJobSettings, EdgeSharingSettings
from azure_gpu.edge.spec import PULL_SECRET, EdgeSharingSpec
from azure_gpu.formats import edge_deployment, kubeconfig as kubeconfigs
from azure_gpu.formats.edge_deployment import EdgeJobInFile
from azure_gpu.formats.kubeconfig import KubeconfigError
from azure_gpu.formats.kubernetes_manifest import VISIBLE
from azure_gpu.formats.stack_file import SECRET
from azure_gpu.kubernetes import api_server, jobs as kubernetes_jobs
from azure_gpu.kubernetes.args import sharing_request
from azure_gpu.kubernetes.jobs import JobSpec, Placement
from azure_gpu.shared.context import Context
from azure_gpu.shared.files import Reader, read_text
from azure_gpu.shared.validation import check as check_type
from azure_gpu.shared.wording import a_secret, give_secret, is_in_program
from azure_gpu.shared.workloads import Workload


def resolve(
    name: str, args: EdgeSharingSettings, context: Context, read: Reader = read_text
) -> tuple[EdgeSharingSpec, list[Problem]]:
    """Resolves the cluster that the stack file calls `name`, with its problems."""
    path = context.path("edges", name)
    sharing = sharing_request(args.get("sharing", {}), f"{path}.sharing")
    device = DeviceRequest(f"{path}.device", **cast(dict[str, Any], args["device"])) if "device" in args else None
    text, problems = _kubeconfig(args, path, read)
    chosen, server = args.get("context", ""), ""
    if text is not None:
        try:
            found = kubeconfigs.read(text, chosen)
            chosen, server = found.context, found.server
        except KubeconfigError as error:
            key = "kubeconfig_file" if "kubeconfig_file" in args else "kubeconfig"
            problems.append(refused("edge.kubeconfig", f"{path}.{key}", error=error))
            text = None
    settings: dict[str, EdgeJobSettings] = {}
    jobs: dict[str, JobSpec] = {}
    requests: list[EdgeJob] = []
    for job, own in args.get("jobs", {}).items():
        at = f"{path}.jobs.{job}"
        settings[job], more = _filled(job, own, at, read)
        requests.append(_request(settings[job], sharing, at))
        jobs[job], wrong = kubernetes_jobs.resolve(job, settings[job], _placement(args, requests[-1], settings[job], sharing), at)
        problems += [*more, *wrong]
    problems += _problems(args, settings, device, sharing, requests, path, context.day)
    spec = EdgeSharingSpec(
        path=path,
        args=args,
        kubeconfig=text,
        context=chosen,
        server=server,
        namespace=args["namespace"],
        create_namespace=args.get("create_namespace", False),
        device=f"Azure Stack Edge {device.model} with {_gpus_of(device)} {device.gpu} for Kubernetes" if device else "",
        sharing=sharing,
        settings=settings,
        jobs=jobs,
    )
    return spec, problems


def _gpus_of(device: DeviceRequest | None) -> int | None:
    """Number of GPUs of the device's Kubernetes; None for other clusters, whose number is unknown."""
    if device is None:
        return None
    return stack_edge.claims(device.gpu_count, max(device.gpu_vms, 0), device.kubernetes_first).kubernetes


def _problems(
    args: EdgeSharingSettings,
    jobs: Mapping[str, EdgeJobSettings],
    device: DeviceRequest | None,
    sharing: SharingRequest,
    requests: Sequence[EdgeJob],
    path: str,
    day: date,
) -> Iterator[Problem]:
    """All problems on that day. `jobs` are the settings merged with those of their files."""
    yield from _one_kubeconfig(args, path)
    yield from kubernetes_jobs.name_problems(args["namespace"], f"{path}.namespace")
    if device is not None:
        yield from stack_edge.device_problems(device, day)
    wrong = [problem for problem in gpu_sharing.check(sharing, None) if sharing.strategy in ("none", "mps")]
    yield from wrong
    seen = {problem.path for problem in wrong}
    for problem in stack_edge.job_problems(requests, sharing, _gpus_of(device)):
        if problem.path not in seen:
            yield problem
    for name, job in jobs.items():
        at = f"{path}.jobs.{name}"
        percentage = f"{at}.active_thread_percentage"  # validated by the rules on jobs
        yield from (one for one in kubernetes_jobs.mps_problems(job, sharing, None, at) if one.path != percentage)
        if "workload" in job and "pull_from" not in args:
            yield refused("edge.no_login", f"{at}.workload", str(job["workload"]))


def _one_kubeconfig(args: EdgeSharingSettings, path: str) -> Iterator[Problem]:
    if ("kubeconfig" in args) == ("kubeconfig_file" in args):
        here = f"{path}.kubeconfig"
        give = give_secret(here) if is_in_program(path) else f"{give_secret(here)} < kubeconfig"
        fix = "remove one of the two" if "kubeconfig" in args else f"{give}, or add kubeconfig_file"
        yield refused("edge.one_kubeconfig", here, fix=fix)


def unanswered(spec: EdgeSharingSpec) -> list[Problem]:
    """The problem of a cluster that doesn't accept its kubeconfig."""
    if spec.kubeconfig is None:
        return []
    problem = api_server.answer_problem(spec.kubeconfig, spec.context, spec.kubeconfig_path)
    return [problem] if problem is not None else []


def workloads(args: EdgeSharingSettings) -> set[Workload]:
    """The workloads that the registry has to build for the jobs."""
    return kubernetes_jobs.workloads(args.get("jobs", {}).values())


def _kubeconfig(args: EdgeSharingSettings, path: str, read: Reader) -> tuple[str | None, list[Problem]]:
    """The kubeconfig's text. None if it is an output, a secret that can't be read here, or unreadable."""
    given = args.get("kubeconfig")
    if isinstance(given, str) and "kubeconfig_file" not in args:
        return (given, []) if given != SECRET else (None, [])
    if "kubeconfig_file" not in args or given is not None:
        return None, []
    text, problem = _read(args["kubeconfig_file"], f"{path}.kubeconfig_file", "a file with a kubeconfig", read)
    return text, [problem] if problem is not None else []


def _read(file: str, path: str, allowed: str, read: Reader) -> tuple[str | None, Problem | None]:
    try:
        return read(file), None
    except (OSError, ValueError) as error:  # ValueError: text that isn't UTF-8, or an invalid path
        reason = getattr(error, "strerror", None) or ("it isn't UTF-8" if isinstance(error, UnicodeDecodeError) else str(error))
    return None, refused("edge.unreadable_file", path, file, allowed=allowed, reason=reason)


def _filled(name: str, own: EdgeJobSettings, path: str, read: Reader) -> tuple[EdgeJobSettings, list[Problem]]:
    """The job's settings merged with those of its file, and the file's problems."""
    if "deployment" not in own:
        return own, []
    file = own["deployment"]
    text, problem = _read(file, f"{path}.deployment", "a Job, or the env of its container", read)
    if text is None:
        return own, [problem] if problem is not None else []
    found, problems = edge_deployment.read(text, file)
    job = edge_deployment.named(found, name)
    if job is None:
        if found:
            names = ", ".join(sorted(filter(None, (one.name for one in found)))) or "jobs without names"
            at = f"{path}.deployment"
            problems.append(refused("edge.no_such_job", at, file, allowed=names, many=len(found), job=name))
        return own, problems
    checked = check_type(dict(job.settings), EdgeJobSettings, path)
    problems += [one._replace(message=f"{one.message}; the value is set in {file}") for one in checked.problems]
    problems += _secrets(job, own, file, path)
    return _merged(cast(dict[str, Any], checked.value or {}), own), problems


def _secrets(job: EdgeJobInFile, own: EdgeJobSettings, file: str, path: str) -> list[Problem]:
    """Problems of variables in a file that are likely secrets and that the stack file doesn't set."""
    return [
        refused("edge.secret_in_file", at, allowed=a_secret(path), fix=give_secret(at), file=file)
        for variable in job.secrets
        for at in (f"{path}.secret_environment.{variable}",)
        if variable not in own.get("secret_environment", {}) and variable not in own.get("environment", {})
    ]


def _merged(of_file: Mapping[str, Any], own: EdgeJobSettings) -> EdgeJobSettings:
    """Both; the stack file's settings take precedence. Variables are merged one by one."""
    below = {key: value for key, value in of_file.items() if key != "image" or "workload" not in own}
    if "command" in own:
        below.pop("args", None)  # they belong to the file's command
    environment = {**below.pop("environment", {}), **own.get("environment", {})}
    secret = own.get("secret_environment", {})
    plain = {key: value for key, value in environment.items() if key not in secret or key in own.get("environment", {})}
    return cast(EdgeJobSettings, {**below, **own, **({"environment": plain} if plain else {})})


def _request(args: EdgeJobSettings, sharing: SharingRequest, path: str) -> EdgeJob:
    """The job for the catalog's rules."""
    visible = args.get("visible_devices", NO_GPU)
    by_mps = sharing.strategy == "mps"
    sees = visible != NO_GPU
    percentage = args.get("active_thread_percentage", sharing.active_thread_percentage if by_mps and sees else None)
    host_ipc = args.get("host_ipc", by_mps and sees)
    return EdgeJob(
        path=path,
        visible_devices=visible,
        active_thread_percentage=percentage,
        host_ipc=host_ipc,
        host_pid=args.get("host_pid", host_ipc),
    )


def _placement(args: EdgeSharingSettings, job: EdgeJob, settings: EdgeJobSettings, sharing: SharingRequest) -> Placement:
    visible = job.visible_devices or NO_GPU
    limits = kubernetes_jobs.mps_variables(settings, sharing) if visible != NO_GPU else {}
    return Placement(
        namespace=args["namespace"],
        environment={VISIBLE: visible, **limits},
        host_ipc=job.host_ipc,
        host_pid=job.host_pid,
        pull_secret=PULL_SECRET if "pull_from" in args else "",
    )
