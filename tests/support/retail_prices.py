"""A server on loopback that answers as Azure's Retail Prices API does: its envelope, its filters, its pages, and its faults."""

import json
import re
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

PATH = "/api/retail/prices"
_FIELDS = {"serviceName": "serviceName", "armSkuName": "armSkuName", "armRegionName": "armRegionName", "priceType": "type"}


@dataclass
class Script:
    """What the server holds, how it answers, and what it was asked."""

    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    page_length: int = 1000
    names_the_next_page: bool = True
    next_page_host: str = ""  # another host in the link to the next page
    always_the_same_link: bool = False
    faults: list[tuple[int, dict[str, str], str]] = field(default_factory=list[tuple[int, dict[str, str], str]])
    asked: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


class RetailPricesServer:
    """Runs from construction until `stop`."""

    def __init__(self) -> None:
        script = Script()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # the name that http.server calls
                _answer(self, script)

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        self.script = script
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{PATH}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


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


def _answer(request: BaseHTTPRequestHandler, script: Script) -> None:
    parts = urlsplit(request.path)
    asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
    script.asked.append(asked)
    if script.faults:
        status, headers, body = script.faults.pop(0)
        _send(request, status, body, headers)
        return
    if parts.path != PATH or "api-version" not in asked:
        _send(request, 400, json.dumps({"Error": {"Code": "BadRequest"}}), {})
        return
    conditions = re.findall(r"(\w+) eq '((?:[^']|'')*)'", asked["$filter"])
    matching = [one for one in script.rows if all(one[_FIELDS[name]] == value.replace("''", "'") for name, value in conditions)]
    skip = 0 if script.always_the_same_link else int(asked.get("$skip", "0"))
    page = matching[skip : skip + script.page_length]
    more = script.names_the_next_page and (script.always_the_same_link or skip + len(page) < len(matching))
    host = script.next_page_host or request.headers["Host"]
    query = f"api-version={asked['api-version']}&$filter={quote(asked['$filter'])}&$skip={skip + len(page)}"
    envelope = {
        "BillingCurrency": "USD",
        "CustomerEntityId": "Default",
        "CustomerEntityType": "Retail",
        "Items": page,
        "NextPageLink": f"http://{host}{PATH}?{query}" if more else None if script.names_the_next_page else "",
        "Count": len(page),
    }
    _send(request, 200, json.dumps(envelope), {})


def _send(request: BaseHTTPRequestHandler, status: int, body: str, headers: dict[str, str]) -> None:
    data = body.encode()
    request.send_response(status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(data)
