"""Features of resource providers, for which a subscription registers: each is registered, but where a fault says otherwise.

In: a namespace and a feature's name. Out: what `az feature show` prints. A fault names both, as in
`Microsoft.ContainerService/AKSInfinibandSupport`. Which features there are isn't known here, so that any name is one.
"""

from typing import Any

from localazure.lists.deviations import Deviations
from localazure.services import SUBSCRIPTION

API_VERSIONS = frozenset({"2015-12-01", "2021-07-01"})


def feature(namespace: str, name: str, deviations: Deviations) -> dict[str, Any]:
    full = f"{namespace}/{name}"
    return {
        "id": f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Features/providers/{namespace}/features/{name}",
        "name": full,
        "type": "Microsoft.Features/providers/features",
        "properties": {"state": deviations.registration(full)},
    }
