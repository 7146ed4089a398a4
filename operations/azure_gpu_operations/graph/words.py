"""Texts about a part: machines, costs, the last day; the same in the terminal and in diagrams."""

from collections import Counter
from decimal import Decimal

from azure_gpu_operations.graph.machines import Machines
from azure_gpu_operations.graph.model import Graph, Part, Role
from azure_gpu_operations.running_report import NOT_KNOWN, Total, total

EXISTS = "exists already"
NOT_COUNTED = (
    "Machines, private endpoints, NAT gateways and Premium registries, at list price; without storage, logs and traffic."
)


def machines(each: Machines) -> str:
    """Such as `t4: 0 to 2 x Standard_NC4as_T4_v3 (T4)`."""
    words = " ".join(filter(None, [nodes(each), each.size, f"({each.gpu})" if each.gpu else "", "Spot" if each.spot else ""]))
    return f"{each.name}: {words}" if each.name else words


def nodes(each: Machines) -> str:
    """The number of machines as text; empty: always one."""
    if each.idle is None and each.most is None:
        return "any number of"
    if each.idle == each.most:
        return "" if each.most == 1 else f"{each.most} x"
    idle, most = ("?" if count is None else str(count) for count in (each.idle, each.most))
    return f"{idle} to {most} x"


def usd(amount: float | None) -> str:
    return NOT_KNOWN if amount is None else f"{amount:.3f}".rstrip("0").rstrip(".")


def cost(part: Part) -> str:
    """Empty: it has none of its own."""
    if not part.has_cost:
        return ""
    if part.most_cost is None and part.idle_cost is None:
        return "cost not known"
    most = "price not known" if part.most_cost is None else f"{usd(part.most_cost)} USD/h"
    return f"{most}, {usd(part.idle_cost)} at idle"


def end(part: Part) -> str:
    """The day at whose beginning it should be gone, in UTC; empty: it has none."""
    return f"expires {day_of_end(part)}" if part.expires else ""


def day_of_end(part: Part) -> str:
    return part.expires.partition("T")[0]


def totals(graph: Graph) -> tuple[Total, Total]:
    """USD an hour at most, and at idle."""
    parts = [each for each in graph.parts if each.has_cost]
    return total(_decimal(each.most_cost) for each in parts), total(_decimal(each.idle_cost) for each in parts)


def total_line(graph: Graph) -> str:
    """Such as `per hour idle: 0.19 USD; at most: 3.93 USD`."""
    if not any(each.has_cost for each in graph.parts):
        return "no machines"
    most, idle = totals(graph)
    return f"per hour idle: {idle}; at most: {most}"


def region(graph: Graph) -> str:
    """The region of most parts; empty: no part has a region."""
    counted = Counter(each.location for each in graph.parts if each.location)
    return min(counted, key=lambda each: (-counted[each], each)) if counted else ""


def role(given: Role) -> str:
    """A role's short name."""
    return given.role.replace("Azure Kubernetes Service", "AKS")


def called(part: Part) -> str:
    """The kind and the name of a part; only one of them if they are the same."""
    return part.name if part.name == part.noun else f"{part.noun} {part.name}"


def name_of(graph: Graph, key: str) -> str:
    """The display name of a part, or of a role's scope, which may be none."""
    part = graph.part(key)
    return part.name if part is not None else key


def _decimal(amount: float | None) -> Decimal | None:
    return None if amount is None else Decimal(str(amount))
