"""Azure's Retail Prices API in the test's process: its envelope, its filters, its pages, and its faults."""

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import requests

from tests.support.web import Answer, address

HOST = "prices.example"
PATH = "/api/retail/prices"
_FIELDS = {"serviceName": "serviceName", "armSkuName": "armSkuName", "armRegionName": "armRegionName", "priceType": "type"}


@dataclass
class RetailPricesServer:
    """What the server holds, how it answers, and what it was asked."""

    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    page_length: int = 1000
    names_the_next_page: bool = True
    next_page_host: str = HOST  # of the link to the next page
    always_the_same_link: bool = False
    is_reached: bool = True
    faults: list[tuple[int, dict[str, str], str]] = field(default_factory=list[tuple[int, dict[str, str], str]])
    asked: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    url = f"https://{HOST}{PATH}"

    def answer(self, request: requests.PreparedRequest, _: object) -> Answer:
        path, asked = address(request)
        if not self.is_reached:
            raise requests.ConnectionError(f"no route to {HOST}", request=request)
        self.asked.append(asked)
        if self.faults:
            status, headers, body = self.faults.pop(0)
            return Answer(status, headers, [body.encode()])
        if path != PATH or "api-version" not in asked:
            return Answer(400, {}, [json.dumps({"Error": {"Code": "BadRequest"}}).encode()])
        conditions = re.findall(r"(\w+) eq '((?:[^']|'')*)'", asked["$filter"])
        matching = [one for one in self.rows if all(one[_FIELDS[name]] == value.replace("''", "'") for name, value in conditions)]
        skip = 0 if self.always_the_same_link else int(asked.get("$skip", "0"))
        page = matching[skip : skip + self.page_length]
        more = self.names_the_next_page and (self.always_the_same_link or skip + len(page) < len(matching))
        query = f"api-version={asked['api-version']}&$filter={quote(asked['$filter'])}&$skip={skip + len(page)}"
        envelope = {
            "BillingCurrency": "USD",
            "CustomerEntityId": "Default",
            "CustomerEntityType": "Retail",
            "Items": page,
            "NextPageLink": f"https://{self.next_page_host}{PATH}?{query}" if more else None if self.names_the_next_page else "",
            "Count": len(page),
        }
        return Answer(200, {"Content-Type": "application/json"}, [json.dumps(envelope).encode()])


def row(**changed: Any) -> dict[str, Any]:
    """A row in the API's form: the Linux price of the answer that was recorded for Standard_D2s_v3 in East US, 2026."""
    values: dict[str, Any] = {
        "currencyCode": "USD",
        "tierMinimumUnits": 0.0,
        "retailPrice": 0.096,
        "unitPrice": 0.096,
        "armRegionName": "eastus",
        "location": "US East",
        "effectiveStartDate": "2017-12-15T00:00:00Z",
        "meterId": "a-meter",
        "meterName": "D2s v3",
        "productId": "a-product",
        "skuId": "a-sku",
        "productName": "Virtual Machines DSv3 Series",
        "skuName": "D2s v3",
        "serviceName": "Virtual Machines",
        "serviceId": "a-service",
        "serviceFamily": "Compute",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "isPrimaryMeterRegion": False,
        "armSkuName": "Standard_D2s_v3",
        **changed,
    }
    return {**values, "unitPrice": values["retailPrice"]}


# The whole answer for Standard_D2s_v3 in East US, recorded in 2026 in a public repository: one size, six rows.
LINUX, WINDOWS = "Virtual Machines DSv3 Series", "Virtual Machines DSv3 Series Windows"
SIX_ROWS = [
    row(
        productName=product,
        skuName=name,
        meterName=name,
        retailPrice=price,
        effectiveStartDate=start,
        isPrimaryMeterRegion=primary,
    )
    for product, name, price, start, primary in (
        (LINUX, "D2s v3", 0.096, "2017-12-15T00:00:00Z", False),
        (LINUX, "D2s v3 Spot", 0.018816, "2026-06-01T00:00:00Z", True),
        (LINUX, "D2s v3 Low Priority", 0.019, "2018-06-01T00:00:00Z", False),
        (WINDOWS, "D2s v3", 0.188, "2017-12-15T00:00:00Z", False),
        (WINDOWS, "D2s v3 Spot", 0.036848, "2026-06-01T00:00:00Z", True),
        (WINDOWS, "D2s v3 Low Priority", 0.075, "2018-06-01T00:00:00Z", False),
    )
]


def t4(price: float = 0.526, **changed: Any) -> dict[str, Any]:
    """NC4as_T4_v3 as test fixtures of a public repository show it."""
    return row(
        **{
            "armSkuName": "Standard_NC4as_T4_v3",
            "productName": "Virtual Machines NCasT4 v3 Series",
            "skuName": "NC4as T4 v3",
            "meterName": "NC4as T4 v3",
            "retailPrice": price,
            **changed,
        }
    )


def meter(name: str, price: float, unit: str = "1 Second", **changed: Any) -> dict[str, Any]:
    """A meter of Container Apps as public repositories show it: skuName Standard, no armSkuName."""
    values = {"serviceName": "Azure Container Apps", "productName": "Azure Container Apps", "armSkuName": "", **changed}
    return row(skuName="Standard", meterName=name, retailPrice=price, unitOfMeasure=unit, **values)


EAST_US_METERS = [
    meter("Standard NC T4 v3 GPU Usage", 0.000073),
    meter("Standard NC A100 v4 GPU Usage", 0.000529),
    meter("Standard vCPU Active Usage", 0.000024),
    meter("Standard vCPU Active Usage", 0.0),  # the free grant
    meter("Standard vCPU Idle Usage", 0.000003),
    meter("Standard Memory Active Usage", 0.000003, "1 GiB Second"),
    meter("Standard Memory Idle Usage", 0.000003, "1 GiB Second"),
    meter("Standard Requests", 0.4, "1M"),
    meter("Dedicated GPU Usage", 5.0, "1 Hour"),
    meter("Dedicated vCPU Usage", 0.09, "1 Hour"),
]


def decimals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as the client reads them."""
    return json.loads(json.dumps(rows), parse_float=Decimal, parse_int=Decimal)
