"""Packages that come with and without a GPU, and the taints that pods of Azure Machine Learning tolerate."""

import pytest

from azure_gpu.catalog.problems import Severity
from azure_gpu.catalog.services.machine_learning import packages
from azure_gpu.catalog.services.machine_learning.kubernetes import tolerated
from azure_gpu.catalog.services.machine_learning.packages import Package


@pytest.mark.parametrize(
    ("package", "instead"),
    [
        (Package("onnxruntime"), "onnxruntime-gpu"),
        (Package("tensorflow-cpu", (), "==2.21.0"), "tensorflow[and-cuda]"),
        (Package("cpuonly", pip=False), "pytorch-cuda"),
        (Package("torch", (), "==2.1.0+cpu"), "torch of a version without +cpu"),
        (Package("cntk"), "cntk-gpu"),
    ],
    ids=lambda value: value.name if isinstance(value, Package) else "",
)
def test_a_package_for_processors_alone_is_a_warning_with_the_one_for_gpus(package: Package, instead: str) -> None:
    [problem] = packages.problems([package, Package("numpy")], "environment")
    assert problem.severity is Severity.WARNING
    assert package.name in problem.message
    assert problem.fix == f"write {instead}"


def test_packages_that_are_of_no_use_without_a_gpu_are_known_by_name_beginning_and_extra() -> None:
    for package in (Package("tensorflow-gpu"), Package("cupy-cuda12x"), Package("tensorflow", ("and-cuda",))):
        assert packages.need_gpu([package])
        assert list(packages.problems([package], "environment")) == []
    assert not packages.need_gpu([Package("tensorflow"), Package("numpy"), Package("cuda-python-free")])


@pytest.mark.parametrize(
    ("taint", "whether"),
    [
        ("ml.azure.com/amlarc=true:NoSchedule", True),
        ("ml.azure.com/amlarc-workload=true:NoExecute", True),
        ("ml.azure.com/compute=gpu:NoSchedule", True),
        ("ml.azure.com/amlarc-system=true:NoSchedule", False),
        ("ml.azure.com/amlarc=false:NoSchedule", False),
        ("sku=gpu:NoSchedule", False),
        ("sku=gpu:PreferNoSchedule", True),
        ("kubernetes.azure.com/scalesetpriority=spot:NoSchedule", False),
    ],
)
def test_pods_of_the_service_tolerate_its_own_taints_alone(taint: str, whether: bool) -> None:
    assert tolerated(taint) is whether
