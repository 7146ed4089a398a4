"""What Azure has since the catalog was made is created: in any well-formed region, and nodes of any size."""

import pytest

from tests.localazure.conftest import new_group
from tests.support import newer
from tests.support.batch_bodies import API, fixed, pool, put_account
from tests.support.embedded import EmbeddedAzure


@pytest.mark.parametrize(("region", "size"), list(zip(newer.REGIONS, newer.SIZES, strict=True)))
def test_a_group_an_account_and_a_pool_are_created_where_no_list_has_them(azure: EmbeddedAzure, region: str, size: str) -> None:
    group = new_group(azure, location=region)
    account = put_account(azure, group, location=region)
    assert account["location"] == region
    made = azure.put(f"{account['id']}/pools/newer", pool(vmSize=size, scaleSettings=fixed(0)), API)
    assert (made.status_code, made.json()["properties"]["vmSize"].lower()) == (200, size.lower())
    listed = azure.get(f"/subscriptions/{group.split('/')[2]}/locations", "2022-12-01").json()["value"]
    assert region in [each["name"] for each in listed]
