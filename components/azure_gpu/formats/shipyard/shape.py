"""What the files of Batch Shipyard are made of: every property of its configuration from 3.0 to 3.9, and of 2.x what was called
otherwise.

`POOL`, `JOB`, `TASK`, `CONFIG` and the shapes of what lies under free names. Source: the schemas and pages of
Azure/batch-shipyard (config, pool and jobs configuration, major version migration), whose last change was in 2023-03.
"""

from collections.abc import Mapping

from azure_gpu.formats.shapes import Anything, Flag, ListOf, Number, Object, Shape, Text, TextMap

SCENARIOS = ("active_tasks", "pending_tasks", "workday", "workday_with_offpeak_max_low_priority", "weekday", "weekend")
NODE_TYPES = ("dedicated", "low_priority")

_PATTERNS = ListOf(Text(filled=False), "pattern of files")
_LINE = Text(filled=False)  # a command: `${NAME}` in it is a shell's
_COUNTS = Object({"dedicated": Number(whole=True), "low_priority": Number(whole=True)})
_RESOURCE_FILES = ListOf(
    Object(
        {"blob_source": Text(), "file_path": Text(), "file_mode": Text()},
        required={"blob_source": "add blob_source: and its address", "file_path": "add file_path: and where it goes"},
    ),
    "file",
)
_STORAGE: Mapping[str, Shape] = {
    "storage_account_settings": Text(),
    "remote_path": Text(),
    "local_path": _LINE,
    "is_file_share": Flag(),
    "include": _PATTERNS,
    "exclude": _PATTERNS,
    "blobxfer_extra_options": _LINE,
    # 2.x
    "container": Text(),
    "file_share": Text(),
    "source": _LINE,
    "destination": _LINE,
}
_FROM_TASKS = Object({"job_id": Text(), "task_id": Text(), "include": _PATTERNS, "exclude": _PATTERNS, "destination": _LINE})
_INPUT = Object({"azure_batch": ListOf(_FROM_TASKS, "task"), "azure_storage": ListOf(Object(_STORAGE), "place in storage")})
_OUTPUT = Object({"azure_storage": ListOf(Object(_STORAGE), "place in storage")})

_PLATFORM: Mapping[str, Shape] = {"publisher": Text(), "offer": Text(), "sku": Text()}
_IMAGE_NEEDS = {name: f"add {name}: of the Marketplace image" for name in _PLATFORM}
_VM_CONFIGURATION = Object(
    {
        "platform_image": Object(
            {**_PLATFORM, "version": Text(), "native": Flag(), "license_type": Text()}, required=_IMAGE_NEEDS
        ),
        "custom_image": Object(
            {"arm_image_id": Text(), "node_agent": Text(), "native": Flag(), "license_type": Text(), "image_uris": Anything()}
        ),
    }
)
_DAYS = Object({"start": Number(whole=True), "end": Number(whole=True)})
_SCENARIO = Object(
    {
        "name": Text(SCENARIOS),
        "maximum_vm_count": _COUNTS,
        "maximum_vm_increment_per_evaluation": _COUNTS,
        "node_deallocation_option": Text(("requeue", "retaineddata", "taskcompletion", "terminate")),
        "sample_lookback_interval": Anything(),
        "required_sample_percentage": Number(),
        "bias_last_sample": Flag(),
        "bias_node_type": Text(("auto", *NODE_TYPES)),
        "rebalance_preemption_percentage": Number(),
        "time_ranges": Object({"weekdays": _DAYS, "work_hours": _DAYS}),
    },
    required={"name": f"add name: and one of {', '.join(SCENARIOS)}"},
)
POOL = Object(
    {
        "id": Text(),
        "vm_configuration": _VM_CONFIGURATION,
        "vm_size": Text(),
        "vm_count": Anything(),  # 2.x: a number
        "max_tasks_per_node": Number(whole=True),
        "resize_timeout": Anything(),
        "node_fill_type": Text(("spread", "pack")),
        "autoscale": Object({"evaluation_interval": Anything(), "scenario": _SCENARIO, "formula": _LINE}),
        "inter_node_communication_enabled": Flag(),
        "reboot_on_start_task_failed": Flag(),
        "attempt_recovery_on_unusable": Flag(),
        "upload_diagnostics_logs_on_unusable": Flag(),
        "block_until_all_global_resources_loaded": Flag(),
        "transfer_files_on_pool_creation": Flag(),
        "input_data": _INPUT,
        "resource_files": _RESOURCE_FILES,
        "ssh": Anything(),
        "rdp": Anything(),
        "remote_access_control": Anything(),
        "virtual_network": Object(
            {
                "arm_subnet_id": Text(),
                "name": Text(),
                "resource_group": Text(),
                "create_nonexistant": Flag(),
                "address_space": Text(),
                "subnet": Object({"name": Text(), "address_prefix": Text()}),
                "existing_resource_group": Text(),
            }
        ),
        "public_ips": ListOf(Text(), "address"),
        "certificates": Anything(),
        "gpu": Object(
            {"nvidia_driver": Object({"source": Text()}), "ignore_warnings": Flag()},
        ),
        "additional_node_prep_commands": Anything(),  # 2.x: a list
        "additional_node_prep": Object({"commands": Anything(), "environment_variables": TextMap()}),
        "prometheus": Anything(),
        "batch_insights_enabled": Flag(),
        "container_runtimes": Object({"install": ListOf(Text(), "runtime"), "default": Text()}),
        "per_job_auto_scratch": Anything(),
        "os_disk_size": Anything(),
        # 2.x
        **_PLATFORM,
    },
    required={"id": "add id: and the pool's name", "vm_size": "add vm_size: and the size of its nodes"},
)
COUNTS = _COUNTS

_SWEEP = Object(
    {
        "product": ListOf(Object({"start": Number(), "stop": Number(), "step": Number()}), "range"),
        "product_iterables": Anything(),
        "combinations": Object({"iterable": Anything(), "length": Number(whole=True), "replacement": Flag()}),
        "permutations": Object({"iterable": Anything(), "length": Number(whole=True)}),
        "zip": Anything(),
    }
)
_FACTORY = Object(
    {
        "parametric_sweep": _SWEEP,
        "random": Anything(),
        "file": Object({"azure_storage": Object(_STORAGE), "task_filepath": Text()}),
        "custom": Anything(),
        "repeat": Number(whole=True),
        "autogenerated_task_id": Object({"prefix": Text(), "zfill_width": Number(whole=True)}),
    }
)
_EXIT = Object(
    {
        "default": Object(
            {
                "exit_options": Object(
                    {
                        "job_action": Text(("none", "disable", "terminate")),
                        "dependency_action": Text(("block", "satisfy")),
                    }
                )
            }
        )
    }
)
# Settings that a job can have for all of its tasks, and a task for itself.
_COMMON: Mapping[str, Shape] = {
    "environment_variables": TextMap(),
    "environment_variables_keyvault_secret_id": Text(),
    "max_task_retries": Number(whole=True),
    "max_wall_time": Anything(),
    "retention_time": Anything(),
    "remove_container_after_exit": Flag(),
    "shm_size": Text(),
    "infiniband": Flag(),
    "gpu": Anything(),  # true, false, or as `docker run --gpus` takes it
    "exit_conditions": _EXIT,
    "data_volumes": ListOf(Text(), "volume"),
    "shared_data_volumes": ListOf(Text(), "volume"),
    "input_data": _INPUT,
    "default_working_dir": Text(("batch", "container")),
    "restrict_default_bind_mounts": Flag(),
}
TASK = Object(
    {
        "id": Text(),
        "docker_image": Text(),
        "image": Text(),  # 2.x
        "singularity_image": Text(),
        "task_factory": _FACTORY,
        "singularity_execution": Anything(),
        "additional_singularity_options": Anything(),
        "name": Text(),
        "labels": ListOf(Text(), "label"),
        "ports": ListOf(Text(), "port"),
        "output_data": _OUTPUT,
        "resource_files": _RESOURCE_FILES,
        "additional_docker_run_options": ListOf(_LINE, "option"),
        "depends_on": ListOf(Text(), "task"),
        "depends_on_range": ListOf(Number(whole=True), "number of a task"),
        "multi_instance": Object(
            {
                "coordination_command": _LINE,
                "num_instances": Anything(),
                "resource_files": _RESOURCE_FILES,
                "pre_execution_command": _LINE,
                "mpi": Object(
                    {
                        "runtime": Text(("intelmpi", "intelmpi-ofa", "mpich", "mvapich", "openmpi")),
                        "executable_path": Text(),
                        "options": ListOf(_LINE, "option"),
                        "processes_per_node": Anything(),
                    }
                ),
            }
        ),
        "entrypoint": _LINE,
        "command": _LINE,
        **_COMMON,
    }
)
JOB = Object(
    {
        "id": Text(),
        "auto_complete": Flag(),
        "priority": Number(whole=True),
        "user_identity": Anything(),
        "auto_pool": Anything(),
        "recurrence": Anything(),
        "allow_run_on_missing_image": Flag(),
        "force_enable_task_dependencies": Flag(),
        "auto_scratch": Anything(),
        "job_preparation": Object({"command": _LINE}),
        "job_release": Object({"command": _LINE}),
        "federation_constraints": Anything(),
        "tasks": Anything(),
        "merge_task": Anything(),
        "multi_instance_auto_complete": Flag(),  # 2.x
        **_COMMON,
    },
    required={"id": "add id: and the job's name"},
)

CONFIG = Object(
    {
        "batch_shipyard": Object(
            {
                "storage_account_settings": Text(),
                "storage_entity_prefix": Text(),
                "generated_sas_expiry_days": Number(),
                "autogenerated_task_id": Object({"prefix": Text(), "zfill_width": Number(whole=True)}),
                "encryption": Anything(),
                "fallback_registry": Text(),
                "delay_docker_image_preload": Flag(),
                "delay_preload_images": Flag(),
                "store_timing_metrics": Flag(),
                "use_shipyard_docker_image": Flag(),
            }
        ),
        "data_replication": Anything(),
        "global_resources": Object(
            {
                "additional_registries": Object(
                    {"docker": ListOf(Text(), "registry"), "singularity": ListOf(Text(), "registry")},
                ),
                "docker_images": ListOf(Text(), "image"),
                "singularity_images": Anything(),
                "volumes": Object({"data_volumes": Anything(), "shared_data_volumes": Anything()}),
                "docker_volumes": Object({"data_volumes": Anything(), "shared_data_volumes": Anything()}),  # 2.x
                "files": Anything(),
            }
        ),
        "docker_registry": Anything(),  # 2.x
    }
)
DATA_VOLUME = Object({"container_path": _LINE, "host_path": _LINE, "bind_options": Text()})
SHARED_VOLUME = Object(
    {
        "volume_driver": Text(
            ("azureblob", "azurefile", "custom_linux_mount", "glusterfs_on_compute", "storage_cluster"), open=True
        ),
        "container_path": _LINE,
        "storage_account_settings": Text(),
        "azure_file_share_name": Text(),
        "azure_blob_container_name": Text(),
        "mount_options": ListOf(_LINE, "option"),
        "volume_type": Text(),
        "volume_options": ListOf(_LINE, "option"),
        "fstab_entry": Object(
            {
                "fs_spec": _LINE,
                "fs_vfstype": Text(),
                "fs_mntops": _LINE,
                "fs_freq": Number(whole=True),
                "fs_passno": Number(whole=True),
            }
        ),
        "bind_options": Text(),
    }
)
