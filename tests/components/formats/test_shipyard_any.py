"""Whatever a Shipyard file holds, it is read to settings and problems: nothing raises, and no secret is told."""

import copy
import json
from datetime import date
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from azure_gpu.formats import task_file
from azure_gpu.formats.shipyard import files
from azure_gpu.formats.shipyard.jobs import settings_of as jobs_of
from azure_gpu.formats.shipyard.pool_settings import settings_of as pool_of
from azure_gpu_operations.importing.shipyard_pools import judge
from tests.support.examples import examples
from tests.support.shipyard_files import (
    CUSTOM_POOL,
    MPI_JOBS,
    MPI_POOL,
    SECRETS,
    TRAIN_JOBS,
    TRAIN_POOL,
    VOLUMES_CONFIG,
    WINDOWS_POOL,
)

AUTOSCALE = {
    "evaluation_interval": "00:05:00",
    "scenario": {
        "name": "pending_tasks",
        "maximum_vm_count": {"dedicated": 4, "low_priority": 8},
        "time_ranges": {"weekdays": {"start": 1, "end": 5}, "work_hours": {"start": 8, "end": 17}},
    },
}
FACTORIES = [
    {"parametric_sweep": {"product": [{"start": 0, "stop": 2, "step": 1}]}},
    {"parametric_sweep": {"combinations": {"iterable": ["a", "b"], "length": 1}}},
    {"parametric_sweep": {"zip": ["ab"]}},
    {"random": {"generate": 2, "integer": {"start": 0, "stop": 2, "step": 1}}},
    {"random": {"generate": 2, "distribution": {"uniform": {"a": 0, "b": 1}}}},
    {"repeat": 2},
]
POOLS = [yaml.safe_load(text) for text in (TRAIN_POOL, MPI_POOL, CUSTOM_POOL, WINDOWS_POOL)]
POOLS.append({"pool_specification": {**POOLS[0]["pool_specification"], "autoscale": AUTOSCALE}})
JOBS = [yaml.safe_load(text) for text in (TRAIN_JOBS, MPI_JOBS)]
JOBS.append(
    {
        "job_specifications": [
            {"id": "f", "tasks": [{"docker_image": "a", "command": "{}", "task_factory": one} for one in FACTORIES]}
        ]
    }
)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=True)
    | st.text(max_size=8)
    | st.sampled_from(["pool_current_dedicated", "00:10:00", "$AZ_BATCH_TASK_DIR/x", "{0}", "docker://x", "x:y:z"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything inside."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, inner in steps for place in places(inner, (*path, key)))]


@st.composite
def mutated(draw: st.DrawFn, wholes: list[Any]) -> Any:
    """One of the wholes, with up to three things in it that are something else, or gone."""
    whole = copy.deepcopy(draw(st.sampled_from(wholes)))
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from(places(whole)))
        if not path:
            return draw(ANYTHING)
        at = whole
        for step in path[:-1]:
            at = at[step]
        if draw(st.booleans()):
            at[path[-1]] = draw(ANYTHING)
        else:
            del at[path[-1]]
    return whole


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated(POOLS), mutated(JOBS), mutated([yaml.safe_load(VOLUMES_CONFIG)]))
def test_nothing_raises_and_no_signature_is_told(pool: Any, jobs: Any, config: Any) -> None:
    texts = [("pool.json", pool), ("jobs.json", jobs), ("config.json", config)]
    found, problems = files.read([(name, json.dumps(value)) for name, value in texts])
    told = [str(problem) for problem in problems]
    if found.pool is not None:
        whole = pool_of(found)
        judged = judge(whole.settings, whole.written, "eastus", date(2026, 11, 21))
        told += [str(whole.settings), *map(str, [*whole.left, *whole.problems, *judged.problems])]
    for job in jobs_of(found, "pool"):
        told += [str(job.content), *map(str, [*job.left, *job.problems])]
        if job.content and not job.problems:
            task_file.read(yaml.safe_dump(job.content), "tasks.yaml")
    for secret in (*SECRETS, "aPasswordOfAUser"):
        assert secret not in "\n".join(told)
