"""What parts of the embedded Azure are made of where a test has them without a server."""

from pathlib import Path
from typing import Any

from azure_gpu.formats import arm_ids
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.store import Store
from localazure.lists.deviations import Deviations
from localazure.services import Clock, Services, Settings

_UNUSED: Any = None


def arm_id(text: str) -> ArmId:
    found = arm_ids.parse(text)
    assert found is not None, text
    return found


def settings_in(folder: Path, principal: str = "p") -> Settings:
    url = "https://localhost:1"
    return Settings(url=url, checkout=folder, state=folder, tenant_id="t", client_id="c", principal_id=principal)


def services_in(folder: Path, principal: str = "p", **parts: Any) -> Services:
    """With a store in the folder. What isn't among `parts` isn't there, a clock and deviations apart."""
    given = {"clock": Clock(), "deviations": Deviations(), "tokens": _UNUSED, "images": _UNUSED, **parts}
    return Services(
        store=given.pop("store", None) or Store(folder / "azure.sqlite"), settings=settings_in(folder, principal), **given
    )
