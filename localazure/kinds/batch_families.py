"""The quota families that a Batch account lists, in its order and spelling, and those that it can have a quota of.

The list: Azure Service Operator's session Test_Batch_Account_CRUD_v20240701 (2025-11-11), West US 2. There each of them was 0.
"""

from azure_gpu.catalog.sizes.model import same_family
from azure_gpu.formats import azure_types
from localazure.arm import checks
from localazure.arm.as_of import request_date
from localazure.arm.store import Resource
from localazure.lists.query import ListQuery
from localazure.services import Services

FAMILIES = (
    "standardAv2Family",
    "standardDv2Family",
    "standardDv3Family",
    "standardEv3Family",
    "standardDSv2Family",
    "standardDSv3Family",
    "standardESv3Family",
    "standardFSv2Family",
    "standardNCFamily",
    "standardNVFamily",
    "standardDDv4Family",
    "standardDDSv4Family",
    "standardEDv4Family",
    "standardEDSv4Family",
    "standardA0_A7Family",
    "standardA8_A11Family",
    "standardDFamily",
    "standardGFamily",
    "basicAFamily",
    "standardFFamily",
    "standardNVPromoFamily",
    "standardNCPromoFamily",
    "standardHFamily",
    "standardHPromoFamily",
    "standardMSFamily",
    "standardDSFamily",
    "standardFSFamily",
    "standardGSFamily",
    "standardLSFamily",
    "standardLSv2Family",
    "standardNCSv2Family",
    "standardNDSFamily",
    "standardNCSv3Family",
    "standardHBSFamily",
    "standardHCSFamily",
    "standardNVSv3Family",
    "standardHBrsv2Family",
    "standardDAv4Family",
    "standardDASv4Family",
    "standardEAv4Family",
    "standardEASv4Family",
    "standardMSv2Family",
    "standardEIv3Family",
    "standardNVSv4Family",
    "Standard NCASv3_T4 Family",
    "standardXEIDSv4Family",
    "Standard NDASv4_A100 Family",
    "standard NDAMSv4_A100Family",
    "standardDCSv2Family",
    "standardHBv3Family",
    "standardNPSFamily",
    "standardFXMDVSFamily",
    "standardDv5Family",
    "standardDSv5Family",
    "standardDDv5Family",
    "standardDDSv5Family",
    "standardEDv5Family",
    "standardEDSv5Family",
    "standardNCADSA100v4Family",
    "standardDADSv5Family",
    "standardEADSv5Family",
    "StandardNVADSA10v5Family",
    "standardEBDSv5Family",
    "standardHBv4Family",
    "standardHXFamily",
    "standardLSv3Family",
    "standardLASv3Family",
    "standardNCADSH100v5Family",
    "standardNGADSV620v1Family",
    "standardNDMI300Xv5IBFamily",
    "standardNCCadsH100v5Family",
    "standardECasv5Family",
    "standardECadsv5Family",
    "standardDCasv5Family",
    "standardDCadsv5Family",
    "standardNVadsV710v5Family",
    "standardDsv6Family",
    "standardDlsv6Family",
    "StandardDasv6Family",
    "StandardDalsv6Family",
    "StandardEsv6Family",
    "standardEav6Family",
    "StandardFasv6Family",
    "StandardFalsv6Family",
    "StandardFamsv6Family",
    "standardEasv5Family",
    "standardEiasv5Family",
    "standardDasv5Family",
    "standardDCasv6Family",
    "standardECasv6Family",
    "standardDCadsv6Family",
    "standardECadsv6Family",
    "standardDPDSv5Family",
    "standardDPLDSv5Family",
    "standardDPSv5Family",
    "standardDPLSv5Family",
    "StandardDpsv6Family",
    "StandardDplsv6Family",
    "StandardEpsv6Family",
)


def sold(account: Resource, services: Services) -> list[str]:
    """The families with a size that is sold at the date of the account or of one of its pools, each in one spelling.

    A pool is validated at the date of its own `as-of` tag, so what it may be made of is what the account has a quota of.
    """
    group = checks.group_of(account.id, services.store)
    parts = [account, *services.store.of_type(azure_types.BATCH_POOL.arm_type, account.key)]
    found: list[str] = []
    for day in sorted({request_date(None, part, group, services.clock) for part in parts}, reverse=True):
        listed = ListQuery(region=account.location, as_of=day, deviations=services.deviations).families()
        found += [family for family in listed if not any(same_family(family, other) for other in found)]
    return sorted(found, key=str.lower)
