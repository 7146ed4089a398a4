"""Converts a Shipyard pool into the keys under `pools.<name>` of a stack file.

Secrets are left out and their keys returned, and every setting without a key is returned with its line. Whether Batch accepts the
pool on a day is judged elsewhere."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats.left import Left
from azure_gpu.formats.likely_secrets import holds_secret
from azure_gpu.formats.shaped import validate
from azure_gpu.formats.shipyard import autoscale
from azure_gpu.formats.shipyard.autoscale import Nodes
from azure_gpu.formats.shipyard.files import Accounts, Shipyard
from azure_gpu.formats.shipyard.jobs import instances_of
from azure_gpu.formats.shipyard.mounts import mounts_of
from azure_gpu.formats.shipyard.part import Part, duration, minutes_of
from azure_gpu.formats.shipyard.shape import COUNTS

_MPI = {"intelmpi": "intel_mpi", "intelmpi-ofa": "intel_mpi", "openmpi": "hpcx"}
_DEFAULT_RESIZE_MINUTES = 15

# Keys that a pool here has no use for: why, and what does the same where something does.
_LEFT: Mapping[str, tuple[str, str]] = {
    "node_fill_type": ("tasks are spread over the nodes, as Batch does by itself", ""),
    "attempt_recovery_on_unusable": ("`operations explain` names an unusable node and what to do with it", ""),
    "upload_diagnostics_logs_on_unusable": ("`operations explain` shows the start task's log", ""),
    "block_until_all_global_resources_loaded": ("Batch fetches a pool's images before its nodes take tasks", ""),
    "transfer_files_on_pool_creation": ("files are uploaded before the pool needs them", "az storage blob upload-batch"),
    "input_data.azure_batch": ("a pool takes no files from another pool's tasks", "store them, and take them from there"),
    "input_data.azure_storage": (
        "a start task can fetch files from the account's storage, into its own folder",
        "start_task: {command: …, resource_files: [{auto_storage_container: …}]}",
    ),
    "ssh": ("nodes get no user of their own", "`az batch node user create` makes one where it is needed"),
    "rdp": ("nodes get no user of their own", "`az batch node user create` makes one where it is needed"),
    "remote_access_control": ("nodes without public addresses can't be reached at all", "public_addresses: false"),
    "public_ips": ("the stack file has no key for your own public addresses", "public_addresses: true, and subnet_id"),
    "certificates": (
        "Batch installs no certificates since 2024-02-29",
        "the pool's identity fetches them from a key vault, or the Key Vault extension does",
    ),
    "gpu.ignore_warnings": ("problems of a size and its driver are always reported", ""),
    "prometheus": ("metrics of nodes go to Azure Monitor, and the account's diagnostics to the stack's workspace", ""),
    "batch_insights_enabled": ("Batch Insights is unmaintained; metrics of nodes go to Azure Monitor", ""),
    "container_runtimes": ("Batch runs Docker-compatible containers; Kata Containers and Singularity aren't there", ""),
    "per_job_auto_scratch": ("a scratch file system over the nodes isn't there", "mounts: an NFS share"),
    "os_disk_size": ("the stack file has no key for the size of the disk", "a size with a larger one"),
    "additional_node_prep.environment_variables": ("it was for Shipyard's own script", "start_task: {environment: …}"),
}


class PoolSettings(NamedTuple):
    """`secrets` are keys relative to the settings. `written` is the place of each key in the files, as the path of a problem."""

    settings: dict[str, Any]
    left: list[Left]
    secrets: list[str]
    problems: list[Problem]
    written: dict[str, str]


def settings_of(found: Shipyard) -> PoolSettings:
    """The pool of the files, which has to be there."""
    return _Settings(found, cast(Part, found.pool)).whole()


class _Settings:
    def __init__(self, found: Shipyard, pool: Part) -> None:
        self.found = found
        self.pool = pool
        self.left: list[Left] = []
        self.secrets: list[str] = []
        self.problems: list[Problem] = []
        self.written = {"": pool.at()}  # of what is written nowhere

    def leave(self, path: str, message: str, fix: str = "") -> None:
        self.left.append(self.pool.leave(path, message, fix))

    def change(self, path: str, message: str, fix: str = "") -> None:
        self.left.append(self.pool.change(path, message, fix))

    def report(self, path: str, message: str, **details: Any) -> None:
        self.problems.append(Problem(self.pool.at(path), message, **details))

    def whole(self) -> PoolSettings:
        settings = {**self.machine(), **self.nodes(), **self.work(), **self.start_task(), **self.place()}
        mounts, left, secrets, problems = mounts_of(self.found.config, self.found.accounts)
        settings["mounts"] = mounts
        if any("azure_file" in mount for mount in mounts.values()):
            settings["replace"] = "drain-first"  # a pool with another key can't stand beside the one with this key
        self.left += left
        self.problems += problems
        self.secrets += secrets
        self.rest()
        kept = {key: value for key, value in settings.items() if value not in (None, "", {}, [])}
        return PoolSettings(kept, sorted(self.left, key=_line), self.secrets, self.problems, self.written)

    def machine(self) -> dict[str, Any]:
        size = str(self.pool.get("vm_size") or "")
        known = SIZES.find(size)
        self.written["size"] = self.pool.at("vm_size")
        return {"size": known.name if known else size, **self.image()}

    def image(self) -> dict[str, Any]:
        platform, path = self.pool.things("vm_configuration.platform_image"), "vm_configuration.platform_image"
        custom = self.pool.things("vm_configuration.custom_image")
        if not platform and "publisher" in self.pool.body:  # 2.x
            platform, path = self.pool.body, "publisher"
        for where in ("vm_configuration.platform_image", "vm_configuration.custom_image"):
            if self.pool.get(f"{where}.license_type"):
                self.leave(f"{where}.license_type", "the stack file has no key for your own licenses")
            if self.pool.get(f"{where}.native"):
                self.change(f"{where}.native", "every pool with containers is one now: Batch itself runs them")
        if custom:
            return self.custom(custom, bool(platform))
        if not platform:
            self.report("vm_configuration", "the pool has no image", fix="add platform_image: with publisher, offer and sku")
            return {}
        version = str(platform.get("version") or "latest")
        words = [str(platform.get(key) or "") for key in ("publisher", "offer", "sku")]
        self.written["image"] = self.pool.at(path)
        os_type = {"os_type": "Windows"} if words[0].lower() == "microsoftwindowsserver" else {}
        return {**os_type, "image": ":".join([*words, *([version] if version != "latest" else [])])}

    def custom(self, custom: Mapping[str, Any], both: bool) -> dict[str, Any]:
        path = "vm_configuration.custom_image"
        if both:
            fix = "remove one of the two"
            self.report("vm_configuration", "a pool has a platform_image or a custom_image, not both", fix=fix)
        agent, image_id = str(custom.get("node_agent") or ""), str(custom.get("arm_image_id") or "")
        if not image_id:
            fix = "write arm_image_id: and the id of a version in a gallery"
            self.report(path, "a custom image requires its ARM id", fix=fix)
        self.written |= {"image": self.pool.at(f"{path}.arm_image_id"), "node_agent": self.pool.at(f"{path}.node_agent")}
        os_type = {"os_type": "Windows"} if "windows" in agent.lower() else {}
        return {**os_type, "image_id": image_id, "node_agent": agent}

    def nodes(self) -> dict[str, Any]:
        dedicated, spot = self.counts()
        self.written["dedicated_nodes"] = self.pool.at("vm_count")
        self.written["spot_nodes"] = self.pool.at("vm_count.low_priority")
        timeout = self.pool.get("resize_timeout")
        if self.pool.get("autoscale.scenario") or self.pool.get("autoscale.formula"):
            settings, left, problems = autoscale.settings_of(self.pool, Nodes(dedicated, spot))
            self.left += left
            self.problems += problems
            self.written["autoscale"] = self.pool.at("autoscale")
            if timeout is not None:
                self.leave("resize_timeout", "a pool under a formula has none")
            if "scenario" in settings and (nodes := max(self.instances(), default=1)) > 1:
                settings["nodes_per_task"] = nodes
            return {"autoscale": settings}
        counts: dict[str, Any] = {"dedicated_nodes": dedicated} if dedicated or not spot else {}
        counts |= {"spot_nodes": spot} if spot else {}
        if timeout is None:
            return counts
        length = duration(timeout)
        if length is None:
            self.report("resize_timeout", "not a duration", value=timeout, allowed="d.HH:mm:ss", fix="write 00:15:00")
        elif minutes_of(length) != _DEFAULT_RESIZE_MINUTES:
            counts["resize_timeout_minutes"] = minutes_of(length)
            self.written["resize_timeout_minutes"] = self.pool.at("resize_timeout")
        return counts

    def counts(self) -> tuple[int, int]:
        """Dedicated and Spot nodes. 2.x had one number."""
        count = self.pool.get("vm_count")
        if isinstance(count, int) and not isinstance(count, bool):
            return count, 0
        if not isinstance(count, dict):
            fix = "write vm_count: and below it dedicated: and low_priority:"
            self.report("vm_count", "the pool has no number of nodes", value=count, fix=fix)
            return 0, 0
        path = f"{self.pool.path}.vm_count"
        held = validate(cast(dict[str, Any], count), COUNTS, self.pool.document, path, what="vm_count", lenient=True)
        self.problems += held.problems
        if held.value.get("low_priority"):
            message = "low-priority nodes ended on 2025-09-30: they are Spot nodes, asked for as spot_nodes"
            self.change("vm_count.low_priority", message)
        return int(held.value.get("dedicated") or 0), int(held.value.get("low_priority") or 0)

    def instances(self) -> Iterator[int]:
        """The nodes of each multi-instance task of the jobs."""
        for tasks in self.found.tasks:
            for task in tasks:
                if task.get("multi_instance"):
                    nodes, _ = instances_of(task, self.pool)
                    yield nodes

    def work(self) -> dict[str, Any]:
        slots = self.pool.get("max_tasks_per_node")
        inter_node = bool(self.pool.get("inter_node_communication_enabled"))
        self.written |= {"task_slots": self.pool.at("max_tasks_per_node")}
        self.written |= {"inter_node": self.pool.at("inter_node_communication_enabled")}
        size = SIZES.find(str(self.pool.get("vm_size") or ""))
        multi = [task for tasks in self.found.tasks for task in tasks if task.get("multi_instance")]
        runtimes = {str(task.get("multi_instance.mpi.runtime")) for task in multi if task.get("multi_instance.mpi.runtime")}
        mpi = {_MPI[name] for name in runtimes if name in _MPI}
        rdma = bool(size and size.rdma and inter_node)
        return {
            "task_slots": slots if slots not in (None, 1) else None,
            "inter_node": inter_node or None,
            "mpi": mpi.pop() if len(mpi) == 1 and inter_node else None,
            "rdma": (True if rdma else False if mpi else None) if inter_node else None,
            "containers": self.containers(),
        }

    def containers(self) -> Any:
        """The images of the configuration; where there is none, containers all the same: Shipyard's tasks are nothing else."""
        config = self.found.config
        images = config.texts("global_resources.docker_images") if config else []
        return {"images": images} if images else True

    def start_task(self) -> dict[str, Any]:
        commands = list(self.commands())
        files = self.pool.items("resource_files")
        if not commands and not files:
            return {}
        self.written["start_task"] = self.pool.at("additional_node_prep_commands" if commands else "resource_files")
        windows = str(self.pool.get("vm_configuration.platform_image.publisher") or "").lower() == "microsoftwindowsserver"
        if windows:
            command = f'cmd /c "{" && ".join(commands or ["ver"])}"'
        else:
            command = f"/bin/bash -c {shlex.quote('; '.join(['set -e', *(commands or ['true'])]))}"
        task: dict[str, Any] = {"command": command, "elevated": True}
        if files:
            task["resource_files"] = [self.resource_file(one, index) for index, one in enumerate(files)]
        if self.pool.get("reboot_on_start_task_failed"):
            task["retries"] = 1
        return {"start_task": task}

    def commands(self) -> Iterator[str]:
        """What was run before and behind Shipyard's own preparation of a node."""
        for key in ("additional_node_prep.commands", "additional_node_prep_commands"):
            if self.pool.texts(f"{key}.pre"):
                message = "commands that ran before Shipyard's own preparation run in the one start task there is"
                self.change(f"{key}.pre", message)
            commands = [*self.pool.texts(key), *self.pool.texts(f"{key}.pre"), *self.pool.texts(f"{key}.post")]
            for index, command in enumerate(commands):
                if holds_secret(command):
                    fix = "let the command fetch it with the pool's identity"
                    self.report(f"{key}[{index}]", "there is a secret in this command, and it isn't copied", fix=fix)
                else:
                    yield command

    def resource_file(self, one: Mapping[str, Any], index: int) -> dict[str, Any]:
        url, query, _ = str(one.get("blob_source") or "").partition("?")
        if query:
            message = "the signature behind the address is a secret and isn't copied"
            self.change(f"resource_files[{index}].blob_source", message, "use_identity: true, with the right to read there")
        mode = {"mode": str(one["file_mode"])} if one.get("file_mode") else {}
        return {"url": url, "path": str(one.get("file_path") or ""), **mode, **({"use_identity": True} if query else {})}

    def place(self) -> dict[str, Any]:
        network = self.pool.things("virtual_network")
        if not network:
            return {}
        self.written["subnet_id"] = self.pool.at("virtual_network.arm_subnet_id")
        if not network.get("arm_subnet_id"):
            self.leave(
                "virtual_network", "a network by its name, which may have to be made", "subnet_id: and the ARM id of its subnet"
            )
        return {"subnet_id": network.get("arm_subnet_id")}

    def rest(self) -> None:
        """Settings without a key here, unless they are off or empty."""
        for key, (message, fix) in _LEFT.items():
            if self.pool.get(key) not in (None, False, [], {}, ""):
                self.leave(key, message, fix)
        if self.pool.get("reboot_on_start_task_failed") and not self.pool.get("additional_node_prep_commands"):
            self.leave("reboot_on_start_task_failed", "without a start task nothing can fail there", "start_task: {retries: 1}")
        if self.pool.get("gpu.nvidia_driver.source"):
            message = "a driver from a custom address: the driver comes with the image or the driver extension"
            self.leave("gpu.nvidia_driver.source", message, "driver: package, for a custom version")
        if self.found.config:
            self.left += _of_config(self.found.config)
        self.left += _of_logins(self.found.accounts)


def _of_config(config: Part) -> Iterable[Left]:
    """Settings of the global configuration that neither the pool nor the tasks have."""
    for key, message, fix in (
        ("batch_shipyard.encryption", "nothing of it is a secret any more: identities take the place of keys", ""),
        ("batch_shipyard.fallback_registry", "Shipyard's own images aren't needed", ""),
        ("data_replication", "nodes fetch their images from the registry each", ""),
        (
            "global_resources.additional_registries.docker",
            "the pool pulls as the stack's identity, which needs AcrPull on a registry of yours",
            "`az acr import` brings an image into the stack's registry",
        ),
        ("global_resources.singularity_images", "Batch runs Docker-compatible containers", "an image in a registry"),
        ("global_resources.files", "files are uploaded beside the program", "az storage blob upload-batch --auth-mode login"),
        ("docker_registry", "the registry is part of each image's name", ""),
    ):
        if config.get(key):
            yield config.leave(key, message, fix)


def _of_logins(accounts: Accounts) -> Iterable[Left]:
    """Registries that Shipyard signed in to with a password."""
    for server in accounts.registries:
        if server.lower().endswith(".azurecr.io"):
            fix = f"the stack's identity needs AcrPull on {server}"
        else:
            fix = "`az acr import` brings an image from there into the stack's registry, whose name the image has then"
        yield Left(accounts.file, f"the login for the registry {server}: the pool pulls as the stack's identity", fix)


def _line(left: Left) -> tuple[str, int]:
    file, _, rest = left.at.partition(":")
    number = rest.partition(":")[0]
    return file, int(number) if number.isdigit() else 0
