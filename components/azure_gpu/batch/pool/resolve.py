"""Resolves and validates the arguments of a Batch pool. Pure."""

import hashlib
from datetime import date

from azure_gpu.batch.account.spec import AccountFacts
from azure_gpu.batch.pool import catalog_request, immutable as pool_immutable, mounts, rules as pool_rules
from azure_gpu.batch.pool.args import BatchPoolSettings, BatchPoolWiring
from azure_gpu.batch.pool.spec import BatchPoolSpec, PoolDependencies, Scale, resolve_scale
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.batch import costs, methods, pools
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.dates import resolve_day, resolve_end
from azure_gpu.formats.tags import POOL_MPI
from azure_gpu.images import choice as image_choice
from azure_gpu.shared.context import Context, known
from azure_gpu.shared.naming import HASH_LENGTH, physical_name

LONGEST_BASE = 64 - 1 - HASH_LENGTH  # longest pool name before its hash


def resolve(
    name: str, args: BatchPoolSettings, context: Context, dependencies: PoolDependencies
) -> tuple[BatchPoolSpec, list[Problem]]:
    """Resolves and validates the pool `name`. Pure."""
    path = context.path("pools", name)
    as_of, problems = resolve_day(args.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    end, end_problems = resolve_end(args.get("expires_after"), day, f"{path}.expires_after", "a pool", "of GPU or RDMA nodes")
    size = SIZES.find(args["size"])
    image, image_problems = image_choice.choose(args, dependencies.images, path)
    system = catalog_request.system_of(args, image, size)
    scale, scale_problems = resolve_scale(args, path)
    requested = catalog_request.build(args, path, size, system, image, scale, dependencies.account)
    install_method, method_problems = methods.choose(
        requested,
        context.chosen_at(as_of),
        args.get("driver", "auto"),
        driver_version=args.get("driver_version", ""),
        package=args.get("driver_package", ""),
    )
    request = install_method.applied(requested)
    containers = catalog_request.containers_of(args)
    container_images = tuple(sorted(containers.get("images", []))) if containers is not None else None
    base_name = _base_name(name, args, context, dependencies.account)
    size_name = size.name if size is not None else args["size"]
    spec = BatchPoolSpec(
        base_name=base_name,
        own_containers=mounts.own_containers(args.get("mounts", {}), dependencies.storage) if dependencies.own_storage else (),
        containers_name=context.name(azure_types.DEPLOYMENT.arm_type, f"{name}-containers"),
        replace=args.get("replace", "side-by-side"),
        immutable=pool_immutable.of_pool(
            base_name=base_name,
            size=size_name,
            request=request,
            image=image,
            extension_version=install_method.extension_version,
            container_images=container_images,
            mounts=mounts.without_secrets(args.get("mounts", {}), dependencies.storage),
            identity=dependencies.identity,
            registry=dependencies.registry,
        ),
        size=size_name,
        operating_system=system,
        image=image,
        install_method=install_method,
        request=request,
        scale=scale,
        container_images=container_images,
        packages=tuple((each.application, each.version) for each in request.package_references),
        metadata=_metadata(name, args),
        tags={**context.tags(as_of), **args.get("tags", {}), **end.tags},
        expires_at=end.at,
        hourly_cost=_hourly_cost(args, scale, dependencies.account.location, system),
    )
    problems += [
        *end_problems,
        *image_problems,
        *catalog_request.fit_problems(args, image, size, path, dependencies.account.location),
        *scale_problems,
    ]
    problems += pool_rules.problems_of(path, args, request, spec.replace, spec.base_name)
    problems += mounts.unmanaged_containers(args.get("mounts", {}), spec.own_containers, dependencies.storage, f"{path}.mounts")
    of_catalog = _of_catalog(request, method_problems, day, end.last, path)
    problems += [*of_catalog, *pool_rules.cloud_services_problems(args, of_catalog, path)]
    return spec, problems


def _of_catalog(request: PoolRequest, of_method: list[Problem], day: date, last: date | None, path: str) -> list[Problem]:
    """Returns the catalog's problems, with the paths of a stack file."""
    found = [*of_method, *(problem for problem in pools.problems(request, day, until=last) if problem not in of_method)]
    return [problem._replace(path=catalog_request.respelt(problem.path, path)) for problem in found]


def _base_name(name: str, args: BatchPoolSettings, context: Context, account: AccountFacts) -> str:
    """Returns the pool's name before its hash; in an existing account it has the stack's prefix."""
    if "pool_name" in args:
        return args["pool_name"]
    arm_type = azure_types.BATCH_POOL.arm_type
    whole = context.name(arm_type, name) if account.existing else physical_name(arm_type, [name])
    if len(whole) <= LONGEST_BASE:
        return whole
    hashed = hashlib.sha256(whole.encode()).hexdigest()[:HASH_LENGTH]  # keeps cut names distinct
    return f"{whole[: LONGEST_BASE - 1 - HASH_LENGTH].rstrip('-')}-{hashed}"


def _metadata(name: str, args: BatchPoolSettings) -> dict[str, str]:
    own = {pool_rules.LOGICAL_NAME: name, **({POOL_MPI: str(args["mpi"])} if "mpi" in args else {})}
    return {**args.get("metadata", {}), **own}


def _hourly_cost(args: BatchPoolSettings, scale: Scale, location: str, system: OperatingSystem) -> float | None:
    """Returns the list price at the maximum number of nodes, in USD per hour; None for a custom formula."""
    if scale.most is None:
        return None
    dedicated, spot = scale.most
    cost = costs.hourly(args["size"], location, dedicated, spot, packaged(), operating_system=system)
    return float(cost.usd_hour) if cost.usd_hour is not None else None


def dependencies_of(args: BatchPoolWiring) -> PoolDependencies:
    """Returns the dependencies of a pool from the arguments of its component."""
    return PoolDependencies(
        account=AccountFacts.of(args["account"]),
        identity=args.get("identity_name", ""),
        registry=args["registry"]["name"] if "registry" in args else "",
        storage=(known(args["storage"]["name"]) or "") if "storage" in args else "",
        own_storage="storage" in args and args["storage"].get("is_own", False),
        images=args.get("images", {}),
    )
