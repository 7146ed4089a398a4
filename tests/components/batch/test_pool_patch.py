"""What is sent of a pool where Batch refuses the whole of it, and by which error."""

import asyncio
from typing import Any

import pulumi
import pytest

from azure_gpu.batch.pool import patch
from azure_gpu.shared import arm_reads

OLD = {"azureApiVersion": "2024-07-01", "vmSize": "a", "tags": {"team": "x"}, "startTask": {"commandLine": "a"}}
REFUSED = 'Status=400 Code="PropertyCannotBeUpdated" Message="A property that cannot be updated was specified"'


@pytest.mark.parametrize(
    ("new", "sent"),
    [
        ({"tags": {"team": "y"}}, {"tags": {"team": "y"}}),
        ({"tags": None}, {"tags": {}}),
        ({"metadata": [], "scaleSettings": {"fixedScale": {}}}, {"properties": {"scaleSettings": {"fixedScale": {}}}}),
    ],
)
def test_only_what_changes_is_sent(new: dict[str, Any], sent: dict[str, Any]) -> None:
    given = {key: value for key, value in {**OLD, **new}.items() if value is not None}
    assert patch.body({**OLD, "metadata": []}, {"metadata": [], **given}) == sent


@pytest.mark.parametrize(("new", "named"), [({"vmSize": "b"}, "vmSize"), ({"startTask": None}, "startTask")])
def test_what_no_patch_changes_is_named(new: dict[str, Any], named: str) -> None:
    with pytest.raises(patch.NotPatchableError, match=named):
        patch.body(OLD, {**OLD, **new})


@pytest.mark.parametrize(
    ("error", "sent"), [(REFUSED, [("/pool", "2024-07-01", {"properties": {"metadata": [{"count": 5}]}})]), ("Status=409", [])]
)
def test_it_follows_one_refusal_alone(error: str, sent: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []

    async def patched(*given: Any) -> None:
        found.append(given[:3])

    monkeypatch.setattr(arm_reads, "patch", patched)
    new = {**OLD, "metadata": [{"count": 5.0}]}  # as the engine has numbers
    args = pulumi.ErrorHookArgs(
        urn="", id="/pool", name="p", type="", old_inputs=OLD, new_inputs=new, failed_operation="update", errors=[error]
    )
    asyncio.run(patch.instead(args, None, None))
    assert found == sent
