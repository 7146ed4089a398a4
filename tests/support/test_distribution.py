"""How tests are given to workers: files as a whole, what shares a control plane too, and what takes longest first."""

from tests.support import distribution
from tests.support.embedded import CHECKOUT


def test_a_file_or_what_shares_more_is_a_unit_and_what_takes_longest_comes_first() -> None:
    units = {
        "tests/stack/test_jobs.py::test_one[a::b]": "tests/stack/test_jobs.py",
        "tests/localazure/kubernetes/test_pods_on_nodes.py::test_one": "control plane",
        "tests/operations/test_clusters_api.py::test_one": "control plane",
        "tests/workloads/test_mnist_group.py::test_one": "trainings",
        "tests/workloads/test_scoring_server.py::test_one": "models",
        "tests/components/vm/test_vm.py::test_one": "tests/components/vm/test_vm.py",
    }
    assert {test: distribution.unit_of(test) for test in units} == units
    assert sorted(reversed(units), key=distribution.place_of) == list(units)


def test_every_path_that_is_named_is_there() -> None:
    """A file that moved would come up with a control plane of its own, and nobody would notice."""
    assert [start for start in distribution._FIRST if not list(CHECKOUT.glob(f"{start}*"))] == []
