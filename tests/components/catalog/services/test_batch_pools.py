"""Whole Batch pools: each rule both ways. Expectations are literals from the service's documentation."""

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services.batch.packages import in_command_line, variable
from azure_gpu.catalog.services.batch.pools import check
from azure_gpu.catalog.services.batch.request import AllocationMode, ContainerTasks, ImageKind, PoolRequest, StartTask
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.catalog.services.vm_image_table import IMAGES
from azure_gpu.catalog.services.vm_images import ImageReference, find
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES

TODAY = date(2026, 11, 20)
DOCUMENT = date(2018, 12, 17)
HPC_2404 = ImageReference("microsoft-dsvm", "ubuntu-hpc", "2404")


def pool(**changed: Any) -> PoolRequest:
    values: dict[str, Any] = {
        "path": "batch_pools.train",
        "account_name": "trainbatch",
        "name": "gpu",
        "size": SIZES.find("NC4as_T4_v3"),
        "image": HPC_2404,
        "node_agent": "batch.node.ubuntu 24.04",
        "dedicated_nodes": 1,
        **changed,
    }
    return PoolRequest(**values)


def only(problems: list[Problem], key: str, code: Code = Code.IMPOSSIBLE) -> Problem:
    (problem,) = problems
    assert (problem.path, problem.code) == (f"batch_pools.train.{key}", code)
    return problem


def test_a_pool_of_today_is_taken() -> None:
    assert check(pool(), TODAY) == []


@pytest.mark.parametrize(("size", "most"), [("NC4as_T4_v3", 16), ("NC8as_T4_v3", 32), ("NC64as_T4_v3", 256), ("ND96asr_v4", 256)])
def test_a_node_runs_up_to_four_tasks_per_core_and_256(size: str, most: int) -> None:
    assert check(pool(task_slots=most)._replace(size=SIZES.find(size)), TODAY) == []
    problem = only(check(pool(task_slots=most + 1)._replace(size=SIZES.find(size)), TODAY), "task_slots")
    assert str(most) in problem.allowed
    only(check(pool(task_slots=0), TODAY), "task_slots")


def test_without_a_known_size_256_tasks_are_the_limit() -> None:
    assert check(pool(size=None, task_slots=256), TODAY) == []
    only(check(pool(size=None, task_slots=257), TODAY), "task_slots")


@pytest.mark.parametrize(("mode", "most"), [(AllocationMode.BATCH_SERVICE, 100), (AllocationMode.USER_SUBSCRIPTION, 80)])
def test_a_pool_with_communication_between_nodes_is_limited(mode: AllocationMode, most: int) -> None:
    assert check(pool(inter_node=True, dedicated_nodes=most, allocation_mode=mode), TODAY) == []
    problem = only(check(pool(inter_node=True, dedicated_nodes=most + 1, allocation_mode=mode), TODAY), "dedicated_nodes")
    assert problem.allowed == f"at most {most}"
    assert check(pool(dedicated_nodes=most + 1, allocation_mode=mode), TODAY) == []


def test_mpi_needs_communication_between_nodes_and_one_task_per_node() -> None:
    assert check(pool(multi_instance=True, inter_node=True), TODAY) == []
    only(check(pool(multi_instance=True), TODAY), "inter_node")
    only(check(pool(multi_instance=True, inter_node=True, task_slots=2), TODAY), "task_slots")
    both = check(pool(multi_instance=True, task_slots=2), TODAY)
    assert [problem.path for problem in both] == ["batch_pools.train.inter_node", "batch_pools.train.task_slots"]


def test_mpi_on_spot_nodes_is_a_warning() -> None:
    problem = only(check(pool(inter_node=True, spot_nodes=2), TODAY), "spot_nodes", Code.UNKNOWN)
    assert problem.severity is Severity.WARNING
    assert check(pool(spot_nodes=2), TODAY) == []


def test_a_pool_has_a_number_of_nodes_or_a_formula() -> None:
    formula = "$TargetDedicatedNodes = 0;"
    assert check(pool(dedicated_nodes=0), TODAY) == []
    assert check(pool(dedicated_nodes=None, spot_nodes=0), TODAY) == []
    assert check(pool(dedicated_nodes=None, autoscale_formula=formula), TODAY) == []
    only(check(pool(dedicated_nodes=None), TODAY), "dedicated_nodes")
    problem = only(check(pool(autoscale_formula=formula), TODAY), "autoscale_formula")
    assert problem.value == "dedicated nodes: 1, a formula"
    timed = pool(dedicated_nodes=None, autoscale_formula=formula, resize_timeout=timedelta(minutes=20))
    problem = only(check(timed, TODAY), "resize_timeout")
    assert "fixed number of nodes, not to an autoscale formula" in problem.message
    only(check(pool(dedicated_nodes=2_147_483_648), TODAY), "dedicated_nodes")
    assert check(pool(dedicated_nodes=2_147_483_647), TODAY) == []
    only(check(pool(dedicated_nodes=-1), TODAY), "dedicated_nodes")


def test_a_resize_waits_five_minutes_or_more() -> None:
    assert check(pool(resize_timeout=timedelta(minutes=5)), TODAY) == []
    only(check(pool(resize_timeout=timedelta(minutes=4, seconds=59)), TODAY), "resize_timeout")


@pytest.mark.parametrize("minutes", [5, 15, 168 * 60])
def test_a_formula_is_evaluated_within_5_minutes_and_168_hours(minutes: int) -> None:
    formula = pool(dedicated_nodes=None, autoscale_formula="$TargetDedicatedNodes = 1;")
    assert check(formula._replace(evaluation_interval=timedelta(minutes=minutes)), TODAY) == []
    for wrong in (4, 168 * 60 + 1):
        only(check(formula._replace(evaluation_interval=timedelta(minutes=wrong)), TODAY), "evaluation_interval")


def test_a_formula_has_at_most_8_kib_and_100_statements() -> None:
    def scaled(formula: str) -> list[Problem]:
        return check(pool(dedicated_nodes=None, autoscale_formula=formula), TODAY)

    assert scaled("a=1;" * 100 + "// one; two; three") == []
    only(scaled("a=1;" * 101), "autoscale_formula")
    only(scaled("a=" + "1" * 8191), "autoscale_formula")


def test_spot_nodes_have_no_ephemeral_disk_and_no_most_price() -> None:
    only(check(pool(spot_nodes=1, ephemeral_os_disk=True), TODAY), "ephemeral_os_disk")
    only(check(pool(spot_nodes=1, max_price=True), TODAY), "max_price")
    assert check(pool(ephemeral_os_disk=True), TODAY) == []


def test_low_priority_nodes_end_and_come_back_as_spot_nodes() -> None:
    image = ImageReference("Canonical", "UbuntuServer", "18.04-LTS")
    extension = ExtensionRequest(type="NvidiaGpuDriverLinux", settings={}, path="pool.extensions.0")
    values = {"image": image, "node_agent": "batch.node.ubuntu 18.04", "extensions": (extension,), "spot_nodes": 2}

    def of_spot(day: date, mode: AllocationMode = AllocationMode.BATCH_SERVICE) -> list[Problem]:
        found = check(pool(**values, allocation_mode=mode), day)
        return [problem for problem in found if problem.path.endswith("spot_nodes")]

    assert of_spot(date(2025, 4, 2)) == []
    only(of_spot(date(2025, 4, 3)), "spot_nodes", Code.RETIRING)
    retired = only(of_spot(date(2025, 10, 1)), "spot_nodes", Code.RETIRED)
    assert retired.severity is Severity.WARNING
    assert of_spot(date(2026, 3, 1)) == []
    assert of_spot(date(2025, 10, 1), AllocationMode.USER_SUBSCRIPTION) == []


def test_a_pool_refers_to_at_most_ten_packages_and_needs_a_linked_account() -> None:
    assert check(pool(packages=10, auto_storage=True), TODAY) == []
    only(check(pool(packages=11, auto_storage=True), TODAY), "packages")
    assert "auto-storage" in only(check(pool(packages=1), TODAY), "packages").fix


def test_the_variable_of_a_package_is_the_one_of_the_document() -> None:
    assert variable("GPUDriver", "411.82", OperatingSystem.WINDOWS) == "AZ_BATCH_APP_PACKAGE_GPUDriver#411.82"
    assert in_command_line("GPUDriver", "411.82", OperatingSystem.WINDOWS) == "%AZ_BATCH_APP_PACKAGE_GPUDriver#411.82%"
    assert variable("GPUDriver", "411.82", OperatingSystem.LINUX) == "AZ_BATCH_APP_PACKAGE_GPUDriver_411_82"
    assert in_command_line("my-app.x", "1.0-rc", OperatingSystem.LINUX) == "$AZ_BATCH_APP_PACKAGE_my_app_x_1_0_rc"
    assert variable("GPUDriver", "", OperatingSystem.WINDOWS) == "AZ_BATCH_APP_PACKAGE_GPUDriver"


@pytest.mark.parametrize("kind", ["DockerCompatible", "CriCompatible"])
def test_container_configurations_are_of_two_types(kind: str) -> None:
    assert check(pool(containers=ContainerTasks(type=kind)), TODAY) == []
    only(check(pool(containers=ContainerTasks(type="Podman")), TODAY), "containers.type")


@pytest.mark.parametrize("options", ["--gpus all", "--rm --gpus=1", "--gpus"])
def test_gpus_are_not_to_be_asked_for_in_container_options(options: str) -> None:
    only(check(pool(containers=ContainerTasks(run_options=options)), TODAY), "containers.run_options")
    assert check(pool(containers=ContainerTasks(run_options="--rm --shm-size=8g --name gpus")), TODAY) == []


def test_windows_containers_run_elevated_and_have_no_rdma() -> None:
    image = ImageReference("MicrosoftWindowsServer", "WindowsServer", "2019-Datacenter-with-Containers")
    windows = pool(
        size=None,
        image=image,
        node_agent="batch.node.windows amd64",
        operating_system=OperatingSystem.WINDOWS,
        inter_node=True,
    )
    day = date(2022, 1, 1)
    assert check(windows._replace(containers=ContainerTasks(elevated=True)), day) == []
    only(check(windows._replace(containers=ContainerTasks()), day), "containers.elevated")
    only(check(windows._replace(rdma=True, containers=ContainerTasks(elevated=True)), day), "containers.type")


def test_names_are_as_batch_takes_them() -> None:
    assert check(pool(account_name="abc", name="A-1_b"), TODAY) == []
    for name in ("ab", "a" * 25, "Upper", "with-hyphen"):
        only(check(pool(account_name=name), TODAY), "account_name", Code.INVALID)
    for name in ("a" * 65, "with space", "with.dot"):
        only(check(pool(name=name), TODAY), "name", Code.INVALID)


def test_applications_and_their_versions_have_names_of_their_own() -> None:
    application = "Microsoft.Batch/batchAccounts/applications"
    assert names.check(application, "GPUDriver", "x") == []
    assert names.check(application, "GPU.Driver", "x") != []
    assert names.check(f"{application}/versions", "411.82", "x") == []
    assert names.check(f"{application}/versions", ".82", "x") != []


def test_resource_tags_are_for_user_subscription_accounts() -> None:
    only(check(pool(resource_tags=True), TODAY), "resource_tags")
    assert check(pool(resource_tags=True, allocation_mode=AllocationMode.USER_SUBSCRIPTION), TODAY) == []


def test_linux_pools_have_no_windows_configuration() -> None:
    only(check(pool(windows_configuration=True), TODAY), "windows_configuration")
    windows = pool(
        operating_system=OperatingSystem.WINDOWS,
        image=ImageReference("microsoft-dsvm", "dsvm-win-2022", "winserver-2022"),
        node_agent="batch.node.windows amd64",
        windows_configuration=True,
    )
    assert check(windows, TODAY) == []


def test_communication_is_simplified_today() -> None:
    assert check(pool(communication="Simplified"), TODAY) == []
    assert check(pool(communication="Default"), TODAY) == []
    assert "Simplified" in only(check(pool(communication="Classic"), TODAY), "communication", Code.RETIRED).fix
    only(check(pool(communication="simple"), TODAY), "communication")


def test_features_with_an_end_are_refused_after_it() -> None:
    only(check(pool(certificates=True), TODAY), "certificates", Code.RETIRED)
    warned = only(check(pool(public_addresses=False), TODAY), "public_addresses", Code.UNKNOWN)
    assert warned.severity is Severity.WARNING
    assert check(pool(public_addresses=False, explicit_outbound=True), TODAY) == []


def test_cloud_services_pools_had_no_gpu_and_are_gone() -> None:
    paths = {"batch_pools.train.cloud_services": Code.RETIRED, "batch_pools.train.size": Code.IMPOSSIBLE}
    found = check(pool(cloud_services=True, image=None, node_agent=""), TODAY)
    assert {problem.path: problem.code for problem in found} == paths
    rdma = pool(cloud_services=True, size=SIZES.find("H16r"), image=None, node_agent="", operating_system=OperatingSystem.WINDOWS)
    assert check(rdma, DOCUMENT) == []


@pytest.mark.parametrize("kind", ["CustomScript", "CustomScriptExtension", "customscript"])
def test_batch_keeps_custom_scripts_for_itself(kind: str) -> None:
    extension = ExtensionRequest(type=kind, settings={}, path="pool.extensions.0")
    (problem,) = check(pool(extensions=(extension,)), TODAY)
    assert (problem.code, problem.path) == (Code.IMPOSSIBLE, "pool.extensions.0")


def test_extensions_outside_the_list_are_a_warning() -> None:
    for kind, expected in (("KeyVaultForLinux", []), ("Anything", [Code.UNKNOWN])):
        extension = ExtensionRequest(type=kind, settings={}, path="pool.extensions.0")
        assert [problem.code for problem in check(pool(extensions=(extension,)), TODAY)] == expected


def test_the_driver_extension_is_checked_against_size_and_image() -> None:
    extension = ExtensionRequest(type="NvidiaGpuDriverLinux", settings={}, path="pool.extensions.0")
    plain = ImageReference("canonical", "ubuntu-24_04-lts", "server")
    (problem,) = check(pool(image=plain, extensions=(extension,)), TODAY)
    assert problem.code is Code.NOT_OFFERED
    older = ImageReference("canonical", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2")
    assert check(pool(image=older, node_agent="batch.node.ubuntu 22.04", extensions=(extension,)), TODAY) == []


def test_a_start_task_that_installs_a_driver_is_elevated_and_waited_for() -> None:
    task = StartTask(command_line="/bin/sh -c ./install", elevated=True, installs_driver=True)
    assert check(pool(start_task=task), TODAY) == []
    only(check(pool(start_task=task._replace(elevated=False)), TODAY), "start_task.elevated")
    only(check(pool(start_task=task._replace(wait_for_success=False)), TODAY), "start_task.wait_for_success")
    other = task._replace(installs_driver=False, elevated=False, wait_for_success=False)
    assert check(pool(start_task=other), TODAY) == []


def test_a_start_task_has_no_shell() -> None:
    problem = only(check(pool(start_task=StartTask(command_line="echo $HOME")), TODAY), "start_task.command_line")
    assert problem.severity is Severity.WARNING
    assert check(pool(start_task=StartTask(command_line="/bin/bash -c 'echo $HOME'")), TODAY) == []


def test_a_pinned_driver_older_than_the_gpu_is_refused() -> None:
    task = StartTask(command_line="sh -c install", elevated=True, installs_driver=True, driver_version="411.82")
    assert check(pool(start_task=task), TODAY) == []  # T4: the branch that knows Turing
    on_a100 = pool(start_task=task, size=SIZES.find("ND96asr_v4"))
    only(check(on_a100, TODAY), "start_task.driver_version", Code.WRONG_DRIVER)


def test_all_problems_come_at_once() -> None:
    request = pool(
        account_name="X", task_slots=0, dedicated_nodes=None, communication="Classic", packages=11, windows_configuration=True
    )
    paths = sorted(problem.path.removeprefix("batch_pools.train.") for problem in errors(check(request, TODAY)))
    assert paths == [
        "account_name",
        "communication",
        "dedicated_nodes",
        "packages",
        "packages",
        "task_slots",
        "windows_configuration",
    ]


def test_a_field_that_is_written_elsewhere_is_reported_there() -> None:
    (problem,) = check(pool(task_slots=0, written={"task_slots": "defaults.slots"}), TODAY)
    assert problem.path == "defaults.slots"


@given(
    size=st.one_of(st.none(), st.sampled_from(list(SIZES))),
    image=st.one_of(st.none(), st.sampled_from([image.reference for image in IMAGES])),
    operating_system=st.sampled_from(list(OperatingSystem)),
    allocation_mode=st.sampled_from(list(AllocationMode)),
    image_kind=st.sampled_from(list(ImageKind)),
    dedicated_nodes=st.one_of(st.none(), st.integers()),
    spot_nodes=st.one_of(st.none(), st.integers()),
    task_slots=st.integers(),
    packages=st.integers(),
    node_agent=st.text(max_size=20),
    account_name=st.text(max_size=30),
    autoscale_formula=st.text(max_size=50),
    communication=st.text(max_size=10),
    evaluation_interval=st.one_of(st.none(), st.timedeltas()),
    resize_timeout=st.one_of(st.none(), st.timedeltas()),
    inter_node=st.booleans(),
    multi_instance=st.booleans(),
    rdma=st.booleans(),
    cloud_services=st.booleans(),
    start_task=st.one_of(st.none(), st.builds(StartTask, command_line=st.text(), driver_version=st.text(max_size=8))),
    containers=st.one_of(st.none(), st.builds(ContainerTasks, type=st.text(), run_options=st.text())),
    day=st.dates(date(2000, 1, 1), date(2050, 1, 1)),
)
def test_nothing_raises_and_every_problem_has_path_message_and_a_known_proposal(day: date, **values: Any) -> None:
    for problem in check(PoolRequest(path="pool", **values), day):
        assert problem.path.startswith("pool.")
        assert problem.message
        for name in problem.instead:
            if "/" in name:
                assert find(ImageReference(*name.split("/")), IMAGES) is not None
