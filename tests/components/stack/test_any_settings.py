"""Whatever a stack file says in the right types: resolving it never raises, nor does asking for all that is wrong with it."""

from collections.abc import Sequence
from typing import Any, get_args, get_origin, is_typeddict

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from azure_gpu.batch.account import args as account_args, spec as account_spec
from azure_gpu.batch.pool import args as pool_args, resolve as pool_resolve, spec as pool_spec
from azure_gpu.catalog.problems import Problem
from azure_gpu.container_apps.environment import args as environment_args, spec as environment_spec
from azure_gpu.container_apps.job import args as job_args, spec as job_spec
from azure_gpu.container_instances import args as group_args, resolve as group_resolve
from azure_gpu.images import args as image_args, spec as image_spec
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.overrides import OverridesOf, properties
from azure_gpu.shared.validation import below, check, choices, form, is_map, key_hints
from azure_gpu.stack import inventory
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.settings import PROJECT, read
from tests.components.recording import STACK
from tests.components.settings_of import STACK_ARGS, TODAY, configuration, pure_problems

# Texts that get past the first rule of some key, and names and numbers at limits; `make faults` draws from them as well.
SOME_TEXTS = (
    *("", " ", "eastus", "West Europe", "2019-06-01", "2026-12-31", "9999-12-31", "0001-01-01", "python:3.11", "nvidia/cuda:8.0"),
    *("a", "A", "-", "ä", "x" * 300, "/data", "/", "1", "0 2 * * 1-5", "* * * * 7", "K80", "V100", "T4", "web", "TOKEN"),
    *("microsoft-dsvm:ubuntu-hpc:2404", "Standard_NC4as_T4_v3", "Standard_HB120rs_v3", "NC6", "batch.node.ubuntu 24.04"),
    *("$TargetDedicatedNodes = 1;", "$x = $PendingTasks.GetSample(1);", "apt-get install -y cuda-drivers", "0755", "1.0.0"),
    *("https://github.com/a/b.git#main", "https://a:b@c/d", "ghcr.io", "/subscriptions/a/resourceGroups/b", "[1]", "{}", "${a}"),
    *("create", "411.82", "10.0.0.0/8", "999.1.1.1/99", "\0", "\n", "\u2028"),
)  # fmt: skip
SOME_NAMES = ("web", "files", "queue", "TOKEN", "a", "b-c", "", "..", "A b", "x" * 100, "ä", "1", "blue")
SOME_NUMBERS = (0, 1, 2, 4, 80, 443, 65535, 65536, -1, 10**18)
TEXTS = st.sampled_from(SOME_TEXTS) | st.text(max_size=12)
NAMES = st.sampled_from(SOME_NAMES) | st.text(max_size=6)
NUMBERS = st.sampled_from(SOME_NUMBERS) | st.integers()
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: NUMBERS,
    float: NUMBERS.filter(lambda number: abs(number) < 10**300) | st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    Any: st.none() | st.booleans() | NUMBERS | TEXTS | st.lists(TEXTS, max_size=2) | st.dictionaries(NAMES, TEXTS, max_size=2),
}


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Values that the annotation takes."""
    for each in get_args(annotation)[1:]:
        if isinstance(each, OverridesOf):
            some = st.dictionaries(st.sampled_from(properties(each.azure_type)), st.none() | PLAIN[Any], max_size=2)
            return some.filter(lambda given, each=each: not each.check(given, "one"))
    inner = form(annotation)
    if inner in PLAIN:
        return PLAIN[inner]
    if is_typeddict(inner):
        keys = {key: values(hint) for key, hint in key_hints(inner).items() if key not in ("file", "existing")}
        needed = {key: keys.pop(key) for key in inner.__required_keys__}
        # Most keys are left out, so that what is there isn't always refused for what stands beside it.
        some = st.lists(st.sampled_from(sorted(keys)), max_size=5, unique=True) if keys else st.just([])
        return st.tuples(
            st.fixed_dictionaries(needed), some.flatmap(lambda chosen: st.fixed_dictionaries({key: keys[key] for key in chosen}))
        ).map(lambda both: {**both[0], **both[1]})
    if is_map(annotation):
        return st.dictionaries(NAMES, values(below(annotation, "name")), max_size=2)
    if get_origin(inner) is Sequence:
        return st.lists(values(below(annotation, 0)), max_size=2)
    return st.sampled_from(choices(inner))


def assert_told(problems: list[Problem]) -> None:
    assert all(problem.path and problem.message and str(problem) for problem in problems)


PLACE = pool_spec.PoolDependencies(account=account_spec.AccountFacts(location="eastus"))
RESOLVED = {
    group_args.ContainerGroupSettings: lambda said, context: group_resolve.resolve("one", said, context)[1],
    job_args.ServerlessGpuJobSettings: lambda said, context: job_spec.resolve("one", said, context)[1],
    account_args.BatchAccountSettings: lambda said, context: account_spec.resolve(said, context)[1],
    image_args.GalleryImageSettings: lambda said, context: image_spec.resolve("one", said, context)[1],
    pool_args.BatchPoolSettings: lambda said, context: pool_resolve.resolve("one", said, context, PLACE)[1],
    environment_args.JobEnvironmentSettings: lambda said, context: environment_spec.resolve(said, context)[1],
}


@pytest.mark.parametrize("wanted", RESOLVED, ids=lambda wanted: wanted.__name__)
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_resolving_what_has_the_right_types_never_raises(wanted: Any, data: st.DataObject) -> None:
    said = data.draw(values(wanted))
    checked = check(said, wanted, "one")
    assert (checked.problems, checked.usable) == ([], True)
    context, _ = resolve_stack({**STACK_ARGS, "location": "eastus"}, PROJECT, STACK)
    assert_told(RESOLVED[wanted](checked.value, context))


# Each was found by chance once: a list as long as the number of GPUs, a float that can't be multiplied, a path that can be none.
EDGE = {"device": {"model": "Pro 2", "gpu_count": 10**18}, "jobs": {"one": {"visible_devices": "7"}}}
CLUSTER = {"jobs": {"one": {"workload": "vector_add", "memory_in_gib": 1.7e308}}}


@given(said=st.deferred(lambda: values(StackFile)))  # it looks at many types, which each worker would wait for
@example(said={"team": "a", "location": "eastus", "edges": {"a": EDGE}})
@example(said={"team": "a", "location": "eastus", "clusters": {"a": CLUSTER}})
@example(said={"team": "a", "location": "eastus", "extends": "\0"})
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_no_stack_file_of_the_right_types_makes_the_settings_or_the_inventory_raise(said: dict[str, Any]) -> None:
    given_to_us = configuration(said)
    assert_told(pure_problems(read(given_to_us, TODAY), PROJECT, STACK))
    inventory.take(given_to_us, PROJECT, STACK, TODAY)
