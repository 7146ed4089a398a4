"""Reviews that nobody made: what the comment, the page and the annotations are tried on, and what their pictures show.

`sample` is one as a pull request has it: in `dev` the GPU size of a Batch pool changes, in `prod` the team's name does, which
would replace the storage account and what is named after it. `hostile` has names that break a page which takes them as they are,
`large` has as many resources as are wanted, `nothing` changes nothing. Prices are the catalog's for West Europe, of 2026-06-18.
"""

from collections.abc import Iterable

from azure_gpu_operations.review.model import (
    SECRET,
    UNKNOWN_YET,
    Amount,
    Budget,
    Costs,
    Danger,
    Finding,
    Lane,
    Operation,
    Outcome,
    Part,
    PartCosts,
    Placeholder,
    Property,
    Resource,
    Review,
    SourceLocation,
    StackCosts,
    StackReview,
)

HOURS_A_MONTH = 730
BUSY_HOURS = 80.0
BASE, HEAD = "2f6c1f0a9be24d0f8ad2e3c1b7d56a9e40c8d713", "9d41e7b35c0a4f6e92b8d7f1a3c5e60b48f2d9a1"
PRICE_DAYS = ("2026-06-18",)
# Names of people and services that a page must show and not follow.
LONG = "x" * 10_000
SCRIPT = "</script><script>document.documentElement.dataset.hurt = 'yes'</script>"
IMAGE = "<img src=x onerror=\"document.documentElement.dataset.hurt = 'yes'\">"
QUOTES = "\"'><b onmouseover=alert(1)>`&amp;&#60;"
RIGHT_TO_LEFT = "pool-\u202egnp.exe\u2066\u061c\u200f"
EMOJI = "🔥👩🏽‍🚀 pool"
CONTROLS = "a\x00b\x07c\x1b[31md\ud800\uffff"
MARKDOWN = "| `x` | [here](javascript:alert(1)) <!-- --> @everyone #1 ```"
HOSTILE = (SCRIPT, IMAGE, QUOTES, RIGHT_TO_LEFT, EMOJI, CONTROLS, MARKDOWN, "]]>&lt;", "--><!--", "", "{{x}} ${x} %s \\", LONG)


def costs(idle_hour: float, most_hour: float, gpus_idle: float = 0, gpus_most: float = 0, unknown: int = 0) -> Costs:
    """By the hour, and by the month from that, with GPUs in use at idle and at most."""
    expected = idle_hour * (HOURS_A_MONTH - BUSY_HOURS) + most_hour * BUSY_HOURS
    return Costs(
        idle_hour=Amount(idle_hour, unknown),
        most_hour=Amount(most_hour, unknown),
        idle_month=Amount(round(idle_hour * HOURS_A_MONTH, 2), unknown),
        expected_month=Amount(round(expected, 2), unknown),
        most_month=Amount(round(most_hour * HOURS_A_MONTH, 2), unknown),
        on_demand_most_hour=Amount(most_hour, unknown),
        gpu_hours_idle_month=gpus_idle * HOURS_A_MONTH,
        gpu_hours_expected_month=gpus_idle * (HOURS_A_MONTH - BUSY_HOURS) + gpus_most * BUSY_HOURS,
        gpu_hours_most_month=gpus_most * HOURS_A_MONTH,
    )


def sample() -> Review:
    """A review as a pull request has it."""
    return Review(
        base=BASE,
        head=HEAD,
        made="2026-11-26T09:30:00Z",
        stacks=(_prod(), _dev(), _lite()),
        changed_files=("Pulumi.dev.yaml", "Pulumi.prod.yaml"),
        missing=(),
    )


def _dev() -> StackReview:
    urn = "urn:pulumi:dev::azure-gpu::azuregpu:index:BatchPool$azure-native:batch:Pool::train-pool"
    pool = Resource(
        urn=urn,
        type="azure-native:batch:Pool",
        name="train-pool",
        operation=Operation.REPLACE,
        properties=(
            Property("poolName", "train-5b1f", "train-91c4"),
            Property("vmSize", "STANDARD_NC4AS_T4_V3", "STANDARD_NC8AS_T4_V3", forces=True),
            Property("taskSlotsPerNode", "1", "2"),
        ),
    )
    account = Resource(
        urn="urn:pulumi:dev::azure-gpu::azuregpu:index:BatchAccount$azure-native:batch:BatchAccount::batch-account",
        type="azure-native:batch:BatchAccount",
        name="batch-account",
        operation=Operation.UPDATE,
        properties=(Property('tags["as-of"]', None, "2026-11-26"),),
    )
    before, after = costs(0, 1.316, gpus_most=2), costs(0, 1.88, gpus_most=2)
    job, check = costs(0, 0.781, gpus_most=1), costs(0, 0, unknown=1)
    place = SourceLocation("Pulumi.dev.yaml", 38)
    return StackReview(
        stack="dev",
        file="Pulumi.dev.yaml",
        lane=Lane.EMBEDDED,
        outcome=Outcome.CHANGED,
        dangers=(
            Danger(
                operation=Operation.REPLACE,
                what="Batch pool",
                name="train",
                azure_name="train-5b1f",
                part="pools.train",
                lost="its nodes, and the tasks that run on them",
                cause="pools.train.size",
                before="Standard_NC4as_T4_v3",
                after="Standard_NC8as_T4_v3",
                place=place,
                milder="set `pools.train.replace: drain-first`, and run `operations drain train --stack dev` before `up`",
                minutes="about 10",
                quota="16 vCPUs of Standard NCASv3_T4 Family in the Batch account",
                refused="",
                is_held=False,
            ),
        ),
        parts=(
            Part("BatchPool", "train", "pools.train", Operation.REPLACE, (pool,), unchanged=8),
            Part("BatchAccount", "batch", "batch_account", Operation.UPDATE, (account,), unchanged=2),
        ),
        unchanged=31,
        costs=StackCosts(
            busy_hours=BUSY_HOURS,
            before=_sum(before, job, check),
            after=_sum(after, job, check),
            parts=(
                PartCosts(
                    "pools.train",
                    "Batch pool",
                    "0 to 2 x Standard_NC4as_T4_v3 (T4)",
                    "0 to 2 x Standard_NC8as_T4_v3 (T4)",
                    before,
                    after,
                    PRICE_DAYS,
                ),
                PartCosts(
                    "jobs.tonight", "GPU job", "0 to 1 x 4 CPU, 16 GiB (T4)", "0 to 1 x 4 CPU, 16 GiB (T4)", job, job, PRICE_DAYS
                ),
                PartCosts(
                    "container_groups.tensorflow-check", "container group", "1 x 2 CPU, 4 GB", "1 x 2 CPU, 4 GB", check, check, ()
                ),
            ),
            budget=Budget(150.0, _sum(after, job, check).expected_month, is_over=None),
        ),
        findings=(
            Finding(
                "warning",
                "RETIRING",
                "pools.train.node_agent",
                "pools.train.node_agent: the node agent batch.node.ubuntu 22.04 ends on 2027-04-30;"
                " fix: batch.node.ubuntu 24.04; source: Azure Batch, supported images, 2026-11-01",
                SourceLocation("Pulumi.dev.yaml", 44),
                is_new=True,
            ),
        ),
        placeholders=(Placeholder("pools.train.start_task.secret_environment.WANDB_API_KEY", "a secret"),),
        missing=("quota: no login was at hand, and so what the subscription may use isn't known",),
        seconds=31.4,
    )


def _prod() -> StackReview:
    base = "urn:pulumi:prod::azure-gpu::azuregpu:index:Foundation$"
    storage = Resource(
        urn=f"{base}azure-native:storage:StorageAccount::foundation-storage",
        type="azure-native:storage:StorageAccount",
        name="foundation-storage",
        operation=Operation.REPLACE,
        properties=(
            Property("accountName", "visionproddata36e230c0", "perceptionproddata6a3b04", forces=True),
            Property('tags["team"]', "vision", "perception"),
            Property("id", "/subscriptions/00000000-0000-0000-0000-000000000000/…/visionproddata36e230c0", UNKNOWN_YET),
        ),
    )
    blobs = Resource(
        urn=f"{base}azure-native:storage:BlobServiceProperties::foundation-blobs",
        type="azure-native:storage:BlobServiceProperties",
        name="foundation-blobs",
        operation=Operation.REPLACE,
        properties=(Property("accountName", "visionproddata36e230c0", "perceptionproddata6a3b04", forces=True),),
        follows="foundation-storage",
    )
    role = Resource(
        urn=f"{base}azure-native:authorization:RoleAssignment::foundation-writes-blobs",
        type="azure-native:authorization:RoleAssignment",
        name="foundation-writes-blobs",
        operation=Operation.REPLACE,
        properties=(Property("scope", "…/storageAccounts/visionproddata36e230c0", UNKNOWN_YET, forces=True),),
        follows="foundation-storage",
    )
    group = Resource(
        urn=f"{base}azure-native:resources:ResourceGroup::foundation-group",
        type="azure-native:resources:ResourceGroup",
        name="foundation-group",
        operation=Operation.UPDATE,
        properties=(Property('tags["team"]', "vision", "perception"),),
    )
    workspace = Resource(
        urn=f"{base}azure-native:operationalinsights:Workspace::foundation-logs",
        type="azure-native:operationalinsights:Workspace",
        name="foundation-logs",
        operation=Operation.CREATE,
        properties=(Property("retentionInDays", None, "30"), Property("customerKey", None, SECRET)),
    )
    old = Resource(
        urn="urn:pulumi:prod::azure-gpu::azuregpu:index:ContainerGroup$azure-native:containerinstance:ContainerGroup::check",
        type="azure-native:containerinstance:ContainerGroup",
        name="check",
        operation=Operation.DELETE,
        properties=(),
    )
    all_of_it = costs(1.316, 5.264, gpus_idle=1, gpus_most=8)
    place = SourceLocation("Pulumi.prod.yaml", 10)
    return StackReview(
        stack="prod",
        file="Pulumi.prod.yaml",
        lane=Lane.EMBEDDED,
        outcome=Outcome.CHANGED,
        dangers=(
            Danger(
                operation=Operation.REPLACE,
                what="storage account",
                name="foundation-storage",
                azure_name="visionproddata36e230c0",
                part="foundation.storage",
                lost="its blobs: data, models and what tasks left",
                cause="team",
                before="vision",
                after="perception",
                place=place,
                milder="set `foundation.storage.name: visionproddata36e230c0`, which keeps the account under its name",
                minutes="about 2",
                quota="",
                refused="--replace foundation-storage",
                is_held=True,
            ),
            Danger(
                operation=Operation.DELETE,
                what="container group",
                name="check",
                azure_name="azure-gpu-vision-prod-check",
                part="container_groups.check",
                lost="",
                cause="container_groups.check",
                before=None,
                after=None,
                place=SourceLocation("Pulumi.prod.yaml", 16),
                milder="",
                minutes="",
                quota="",
                refused="",
                is_held=False,
            ),
        ),
        parts=(
            Part(
                "Foundation", "foundation", "foundation", Operation.REPLACE, (storage, blobs, role, workspace, group), unchanged=9
            ),
            Part("ContainerGroup", "check", "container_groups.check", Operation.DELETE, (old,), unchanged=0),
        ),
        unchanged=44,
        costs=StackCosts(
            busy_hours=BUSY_HOURS,
            before=_sum(all_of_it, costs(0.13, 0.13)),
            after=all_of_it,
            parts=(
                PartCosts(
                    "container_groups.check", "container group", "2 CPU, 4 GB", "", costs(0.13, 0.13), None, ("2026-05-02",)
                ),
                PartCosts(
                    "clusters.shared",
                    "AKS cluster",
                    "1 to 8 x Standard_NC4as_T4_v3 (T4)",
                    "1 to 8 x Standard_NC4as_T4_v3 (T4)",
                    all_of_it,
                    all_of_it,
                    PRICE_DAYS,
                ),
            ),
            budget=Budget(1000.0, all_of_it.expected_month, is_over=True),
        ),
        findings=(
            Finding(
                "warning",
                "NO_QUOTA",
                "clusters.shared.gpu_pools.t4.max_nodes",
                "clusters.shared.gpu_pools.t4.max_nodes: 8 nodes need 32 vCPUs of Standard NCASv3_T4 Family; allowed: 24",
                SourceLocation("Pulumi.prod.yaml", 29),
                is_new=False,
            ),
        ),
        placeholders=(
            Placeholder("azure-native:subscriptionId", "in another subscription"),
            Placeholder("foundation.registry.existing", "in another subscription"),
        ),
        seconds=44.0,
    )


def _lite() -> StackReview:
    return StackReview(
        stack="lite", file="Pulumi.lite.yaml", lane=Lane.EMBEDDED, outcome=Outcome.UNCHANGED, unchanged=27, seconds=22.0
    )


def rejected() -> StackReview:
    """A stack file that the program rejects."""
    return StackReview(
        stack="dev",
        file="Pulumi.dev.yaml",
        lane=Lane.EMBEDDED,
        outcome=Outcome.REJECTED,
        problems=(
            Finding(
                "error",
                "RETIRED",
                "pools.train.size",
                "pools.train.size: Standard_NC6s_v3 was retired on 2025-09-30; given: 'Standard_NC6s_v3';"
                " fix: Standard_NC24ads_A100_v4; source: Microsoft Learn, NCv3 retirement, 2026-10-02",
                SourceLocation("Pulumi.dev.yaml", 38),
                is_new=True,
            ),
        ),
    )


def nothing() -> Review:
    """A change that touches no stack."""
    return Review(base=BASE, head=f"{HEAD}+", made="2026-11-26T09:30:00Z", stacks=(), changed_files=("README.md",))


def hostile() -> Review:
    """Every text of a stack is each of `HOSTILE` somewhere."""
    return Review(
        base=BASE,
        head=HEAD,
        made="2026-11-26T09:30:00Z",
        stacks=tuple(_hostile(each) for each in HOSTILE),
        changed_files=HOSTILE,
        missing=HOSTILE,
    )


def _hostile(text: str) -> StackReview:
    place = SourceLocation(text, 3)
    known = costs(0.5, 2.5)
    resource = Resource(text, text, text, Operation.REPLACE, (Property(text, text, text, forces=True),), follows=text)
    finding = Finding("warning", text, text, text, place, is_new=True)
    return StackReview(
        stack=text,
        file=text,
        lane=Lane.EMBEDDED,
        outcome=Outcome.CHANGED,
        dangers=(
            Danger(
                Operation.REPLACE, text, text, text, text, text, text, text, text, place, text, text, text, text, is_held=True
            ),
        ),
        parts=(Part(text, text, text, Operation.REPLACE, (resource,), unchanged=1),),
        costs=StackCosts(BUSY_HOURS, known, known, (PartCosts(text, text, text, text, known, known, (text,)),), budget=None),
        problems=(finding,),
        findings=(finding,),
        placeholders=(Placeholder(text, text),),
        missing=(text,),
    )


def large(resources: int, a_part: int = 20, properties: int = 3) -> Review:
    """As many resources as wanted, `a_part` of them in each part, all updated but each tenth, which is replaced."""
    parts = tuple(_large_part(first, min(a_part, resources - first), properties) for first in range(0, resources, a_part))
    before, after = costs(0.1, 1.316, gpus_most=2), costs(0.1, 1.88, gpus_most=2)
    stack = StackReview(
        stack="huge",
        file="Pulumi.huge.yaml",
        lane=Lane.EMBEDDED,
        outcome=Outcome.CHANGED,
        dangers=tuple(_large_danger(part) for part in parts),
        parts=parts,
        unchanged=resources,
        costs=StackCosts(
            busy_hours=BUSY_HOURS,
            before=_sum(*(before for _ in parts)),
            after=_sum(*(after for _ in parts)),
            parts=tuple(PartCosts(part.path, "Batch pool", "", "", before, after, PRICE_DAYS) for part in parts),
            budget=None,
        ),
    )
    return Review(base=BASE, head=HEAD, made="2026-11-26T09:30:00Z", stacks=(stack,))


def _large_part(first: int, count: int, properties: int) -> Part:
    name = f"train-{first}"
    resources = tuple(
        Resource(
            urn=f"urn:pulumi:huge::azure-gpu::azuregpu:index:BatchPool$azure-native:batch:Pool::{name}-pool-{number}",
            type="azure-native:batch:Pool",
            name=f"{name}-pool-{number}",
            operation=Operation.UPDATE if number % 10 else Operation.REPLACE,
            properties=tuple(
                Property(f"deployment.values[{each}].vmSize", f"STANDARD_NC4AS_T4_V3-{number}", f"STANDARD_NC8AS_T4_V3-{number}")
                for each in range(properties)
            ),
            follows=f"{name}-pool-{number - 1}" if number % 10 == 0 and number > first else "",
        )
        for number in range(first, first + count)
    )
    return Part("BatchPool", name, f"pools.{name}", Operation.REPLACE, resources, unchanged=count)


def _large_danger(part: Part) -> Danger:
    place = SourceLocation("Pulumi.huge.yaml", 10)
    size = f"{part.path}.size"
    before, after = "Standard_NC4as_T4_v3", "Standard_NC8as_T4_v3"
    lost = "the running tasks on its nodes"
    return Danger(
        Operation.REPLACE, "Batch pool", part.name, "", part.path, lost, size, before, after, place, "", "about 10", "", "", False
    )


def _sum(*each: Costs) -> Costs:
    def hours(field: str) -> float:
        return sum(getattr(one, field) for one in each)

    return Costs(
        *(_amount(getattr(one, field) for one in each) for field in Costs._fields[:6]),
        gpu_hours_idle_month=hours("gpu_hours_idle_month"),
        gpu_hours_expected_month=hours("gpu_hours_expected_month"),
        gpu_hours_most_month=hours("gpu_hours_most_month"),
    )


def _amount(each: Iterable[Amount]) -> Amount:
    amounts = list(each)
    return Amount(round(sum(one.known for one in amounts), 4), sum(one.unknown for one in amounts))
