"""Warnings about packages of projects for Azure Machine Learning's retired clients, each with its current replacement."""

import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.machine_learning.packages import CPU_ONLY, Package
from azure_gpu.catalog.services.machine_learning.scoring import SERVER
from azure_gpu.catalog.sources import FACTS_DAY, INFERENCE_ARTICLE, WORKBENCH_ARTICLE, Dated, Source

_TENSORFLOW = Source(
    "pypi.org, tensorflow-gpu 2.12.0, whose page says that the package has been removed", Dated.OBSERVED, FACTS_DAY
)
_CNTK = Source("microsoft/CNTK, README: 2.7 of 2019-04-26 is its last release", Dated.OBSERVED, date(2019, 4, 26))
ONE_BIT_SGD = Source(
    "Microsoft Learn, cognitive-toolkit/cntk-1bit-sgd-license, named in the Workbench article", Dated.OBSERVED, date(2017, 9, 14)
)
LEAST_PYTHON = (3, 9)  # of the inference server; TensorFlow 2.21 takes 3.10
_VERSION = r"(\d+)(?:\.(\d+))?"


class RequestedPackage(NamedTuple):
    """One package, where it is written, and how."""

    package: Package
    text: str
    at: str


def problems(packages: Iterable[RequestedPackage], *, gpu: bool, serves: bool) -> Iterator[Problem]:
    """`gpu`: the packages are to run on a GPU; `serves`: they are those of a web service."""
    for one in packages:
        yield from _of(one, gpu, serves)


def _of(one: RequestedPackage, gpu: bool, serves: bool) -> Iterator[Problem]:
    name, constraint = one.package.name, one.package.constraint
    if "cntk" in one.text.lower():
        yield from _cntk(one, gpu)
    elif name == "python" and (version := re.search(_VERSION, constraint)):
        if (int(version[1]), int(version[2] or 99)) < LEAST_PYTHON:
            yield _gone(one, "this Python is out of support, and no current package installs on it", "python=3.11", SERVER)
    elif name == "tensorflow-gpu":
        yield _gone(
            one,
            "the package was withdrawn; since 2.1 `tensorflow` includes GPU support",
            "tensorflow[and-cuda]==2.21.0",
            _TENSORFLOW,
        )
    elif name == "tensorflow" and not one.package.extras and gpu:
        message = "the package was CPU-only then, and has no CUDA now: the GPU would be idle"
        yield _gone(one, message, "tensorflow[and-cuda]==2.21.0", WORKBENCH_ARTICLE)
    elif gpu and name in CPU_ONLY:
        yield _gone(one, "the package is CPU-only: the GPU would be idle", CPU_ONLY[name], WORKBENCH_ARTICLE)
    elif serves and name in ("azureml-core", "azureml-contrib-services", "azureml-defaults", "azureml-sdk"):
        yield _gone(
            one, "version 1 of the SDK no longer serves models", "azureml-inference-server-http==1.5.1", INFERENCE_ARTICLE
        )


def _cntk(one: RequestedPackage, gpu: bool) -> Iterator[Problem]:
    text = one.text.lower()
    yield _gone(
        one,
        "the Microsoft Cognitive Toolkit has had no release since 2019, and supports no current Python",
        "tensorflow or torch",
        _CNTK,
    )
    if "1bit-sgd" in text:
        message = "1-bit SGD has a separate licence, more restrictive than the toolkit's MIT licence"
        fix = "read it before you use the wheel; the wheel without it is in the folder GPU"
        yield Problem(one.at, message, one.text, fix=fix, source=str(ONE_BIT_SGD), severity=Severity.WARNING)
    if gpu and "cpu-only" in text:
        message = "this wheel is CPU-only: the GPU would be idle"
        yield _gone(one, message, "the wheel in the folder GPU, at the time of the page", WORKBENCH_ARTICLE)


def _gone(one: RequestedPackage, message: str, instead: str, source: Source) -> Problem:
    return Problem(
        path=one.at,
        message=message,
        value=one.text,
        fix=f"write {instead}",
        source=str(source),
        code=Code.RETIRED,
        severity=Severity.WARNING,
    )
