"""Clusters at the edge that answer: a plan asks each of them, and no case has one."""

import contextlib
from collections.abc import Iterator
from unittest import mock

from azure_gpu.kubernetes import api_server


@contextlib.contextmanager
def clusters_that_answer() -> Iterator[None]:
    """Every cluster answers to its kubeconfig, and none is asked."""
    with mock.patch.object(api_server, "answer_problem", return_value=None):
        yield
