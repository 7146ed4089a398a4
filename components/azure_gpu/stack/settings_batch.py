"""The parts of a stack file that belong to Batch, judged together: account, gallery images and pools.

In: their settings, and the foundation that they stand on. Out: `BatchParts`, resolved, with all that is wrong with them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from azure_gpu.batch.account import spec as account_spec_module
from azure_gpu.batch.account.args import BatchAccountSettings
from azure_gpu.batch.account.spec import AccountFacts, BatchAccountSpec
from azure_gpu.batch.pool import resolve as pool_resolve, rules as pool_rules
from azure_gpu.batch.pool.args import BatchPoolSettings
from azure_gpu.batch.pool.spec import BatchPoolSpec, PoolPlace
from azure_gpu.catalog.problems import Problem
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.images import spec as image_spec
from azure_gpu.images.args import GalleryImageSettings
from azure_gpu.images.spec import GalleryImageSpec
from azure_gpu.shared.context import Context

LookUp = Callable[[BatchAccountSpec], tuple[AccountFacts, list[Problem]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchParts:
    """What is declared."""

    account: BatchAccountSpec | None
    images: dict[str, GalleryImageSpec]
    pools: dict[str, BatchPoolSpec]
    problems: tuple[Problem, ...]


def without_looking(spec: BatchAccountSpec) -> tuple[AccountFacts, list[Problem]]:
    """What can be assumed of an account that isn't looked up."""
    return spec.assumed, []


def resolve(
    account: BatchAccountSettings | None,
    images: Mapping[str, GalleryImageSettings],
    pools: Mapping[str, BatchPoolSettings],
    context: Context,
    foundation: FoundationSpec,
    look_up: LookUp = without_looking,
) -> BatchParts:
    """What is declared, and everything that is wrong with it."""
    problems: list[Problem] = []
    facts = AccountFacts(location=context.location)
    account_spec = None
    if account is not None:
        account_spec, more = account_spec_module.resolve(account, context)
        facts, of_azure = look_up(account_spec)
        problems += [*more, *of_azure]
        if account_spec.existing is None:
            there = {"identity": foundation.identity is not None, "storage": foundation.storage is not None}
            problems += account_spec_module.surroundings_problems(**there)
    elif pools:
        problems.append(_no_account())
    of_images: dict[str, GalleryImageSpec] = {}
    for name, image in images.items():
        of_images[name], more = image_spec.resolve(name, image, context)
        problems += more
    place = PoolPlace(
        account=facts,
        identity=foundation.identity_name,
        registry=foundation.registry.name if foundation.registry else "",
        storage=foundation.storage.name if foundation.storage else "",
        images={name: image_spec.of_pool(spec) for name, spec in of_images.items()},
    )
    of_pools: dict[str, BatchPoolSpec] = {}
    for name, pool in pools.items():
        of_pools[name], more = pool_resolve.resolve(name, pool, context, place)
        problems += more
        problems += pool_rules.surroundings_problems(
            name, pool, identity=foundation.identity is not None, storage=foundation.storage is not None
        )
    return BatchParts(account=account_spec, images=of_images, pools=of_pools, problems=tuple(problems))


def _no_account() -> Problem:
    return Problem(
        path=account_spec_module.PATH,
        message="pools are in a Batch account, and none is said",
        allowed="create, or existing: <id>",
        fix="add batch_account: create",
    )
