"""Converts a pool between the data plane's form and ARM's, in which it is stored.

Names that differ only in letter case, and values of enums, are respelled by the shapes of both.
"""

from datetime import datetime

from azure_gpu.formats import azure_types
from localazure import shapes
from localazure.arm.errors import ArmError
from localazure.arm.store import Body
from localazure.batch.errors import BatchError, not_imitated
from localazure.batch.service import models
from localazure.shapes.model import ObjectShape

_MACHINE = "virtualMachineConfiguration"
_SCALE = (
    "enableAutoScale",
    "autoScaleFormula",
    "autoScaleEvaluationInterval",
    "targetDedicatedNodes",
    "targetLowPriorityNodes",
    "resizeTimeout",
)


def _same(given: Body) -> Body:
    """What of a pool both forms call alike."""
    alike = models.shape("BatchPoolCreateOptions").properties.keys() & _arm_shape().properties.keys()
    return {name: each for name, each in given.items() if name in alike}


def _arm_shape() -> ObjectShape:
    shape = shapes.arm_shape(azure_types.BATCH_POOL).properties["properties"].shape
    assert isinstance(shape, ObjectShape)
    return shape


def to_arm(body: Body, account_id: str) -> Body:
    """ARM's `properties` for what of a pool is given."""
    if body.get("certificateReferences"):
        raise not_imitated("certificates on nodes, which Batch retired on 2024-02-29")
    properties = _same(body)
    policy = properties.get("taskSchedulingPolicy") or {}
    if policy.get("jobDefaultOrder") == "none":  # the default, for which ARM at this version has no name
        properties["taskSchedulingPolicy"] = {name: each for name, each in policy.items() if name != "jobDefaultOrder"}
    if _MACHINE in body:
        properties["deploymentConfiguration"] = {_MACHINE: _machine_to_arm(body[_MACHINE])}
    if "enableInterNodeCommunication" in body:
        properties["interNodeCommunication"] = "Enabled" if body["enableInterNodeCommunication"] else "Disabled"
    if "applicationPackageReferences" in body:
        properties["applicationPackages"] = [
            {"id": f"{account_id}/applications/{each['applicationId']}"}
            | ({"version": each["version"]} if each.get("version") else {})
            for each in body["applicationPackageReferences"]
        ]
    if any(name in body for name in _SCALE):
        properties["scaleSettings"] = scale_to_arm(body)
    return spelled(properties)


def spelled(properties: Body) -> Body:
    """As ARM's shape of a pool spells them."""
    return models.respelled(_arm_shape(), properties, keep=True)


def scale_to_arm(body: Body) -> Body:
    """`scaleSettings`. BatchError 400 for a formula together with fixed numbers."""
    fixed = {name: body[name] for name in ("targetDedicatedNodes", "targetLowPriorityNodes", "resizeTimeout") if name in body}
    if not body.get("enableAutoScale"):
        if body.get("autoScaleFormula"):
            raise _contradiction("autoScaleFormula", "It takes 'enableAutoScale': true")
        return {"fixedScale": fixed}
    if fixed:
        raise _contradiction(next(iter(fixed)), "It can't be given where 'enableAutoScale' is true")
    if not body.get("autoScaleFormula"):
        raise BatchError("MissingRequiredProperty", values={"PropertyName": "autoScaleFormula"})
    auto = {"formula": body["autoScaleFormula"]}
    if body.get("autoScaleEvaluationInterval"):
        auto["evaluationInterval"] = body["autoScaleEvaluationInterval"]
    return {"autoScale": auto}


def from_arm(document: Body, url: str) -> Body:
    """What GET answers, from what ARM's GET does."""
    given = document["properties"]
    view = _same(given)
    view |= {
        "id": document["name"],
        "url": url,
        "state": "deleting" if given.get("provisioningState") == "Deleting" else "active",
        "stateTransitionTime": given.get("provisioningStateTransitionTime"),
        "enableInterNodeCommunication": given.get("interNodeCommunication") == "Enabled",
        **{name: given.get(name) for name in ("creationTime", "lastModified", "currentNodeCommunicationMode")},
        **{name: given.get(name) for name in ("allocationState", "allocationStateTransitionTime")},
        "currentDedicatedNodes": given.get("currentDedicatedNodes", 0),
        "currentLowPriorityNodes": given.get("currentLowPriorityNodes", 0),
    }
    if view["lastModified"]:
        view["eTag"] = f"0x{int(datetime.fromisoformat(view['lastModified']).timestamp() * 10_000_000):X}"
    machine = (given.get("deploymentConfiguration") or {}).get(_MACHINE)
    if machine:
        view[_MACHINE] = _machine_from_arm(machine)
    view |= _scale_from_arm(given)
    if "applicationPackages" in given:
        view["applicationPackageReferences"] = [
            {"applicationId": each["id"].rsplit("/", 1)[-1], "version": each.get("version")}
            for each in given["applicationPackages"]
        ]
    identity = document.get("identity") or {}
    if identity.get("userAssignedIdentities"):
        ids = [{"resourceId": name, **(each or {})} for name, each in identity["userAssignedIdentities"].items()]
        view["identity"] = {"type": identity.get("type"), "userAssignedIdentities": ids}
    return models.spelled("BatchPool", view)


def run_of(run: Body) -> Body:
    """An evaluation of a formula, from either spelling."""
    error = run.get("error")
    view = {"timestamp": run.get("timestamp") or run.get("evaluationTime"), "results": run.get("results")}
    if error:
        view["error"] = {"code": error.get("code"), "message": error.get("message"), "values": _details(error)}
    return {name: value for name, value in view.items() if value is not None}


def refusal(error: ArmError) -> BatchError:
    """ARM's refusal in the data plane's envelope, its details as values."""
    values: dict[str, str] = {}
    for detail in error.details:
        name = detail.code
        while name in values:
            name += "_"
        values[name] = detail.message
    codes = {"ResourceNotFound": "PoolNotFound", "NotFound": "PoolNotFound", "InvalidRequestContent": "InvalidRequestBody"}
    return BatchError(codes.get(error.code, error.code), error.message, status=error.status, values=values)


def _scale_from_arm(given: Body) -> Body:
    scale = given.get("scaleSettings") or {}
    auto, fixed = scale.get("autoScale"), scale.get("fixedScale") or {}
    view: Body = {"enableAutoScale": bool(auto), "resizeErrors": None}
    if auto:
        view |= {"autoScaleFormula": auto.get("formula"), "autoScaleEvaluationInterval": auto.get("evaluationInterval")}
        if given.get("autoScaleRun"):
            view["autoScaleRun"] = run_of(given["autoScaleRun"])
    operation = given.get("resizeOperationStatus") or {}
    for name in ("targetDedicatedNodes", "targetLowPriorityNodes"):
        view[name] = operation.get(name, fixed.get(name)) if auto else fixed.get(name, operation.get(name, 0))
    view["resizeTimeout"] = fixed.get("resizeTimeout") or operation.get("resizeTimeout") or "PT15M"
    if operation.get("errors"):
        view["resizeErrors"] = [
            {"code": each.get("code"), "message": each.get("message"), "values": _details(each)} for each in operation["errors"]
        ]
    return view


def _details(error: Body) -> list[Body]:
    """ARM's details, each a code and a message, as names and values."""
    values = list(error.get("values") or [])
    return values + [{"name": each.get("code"), "value": each.get("message")} for each in error.get("details") or []]


def _machine_to_arm(machine: Body) -> Body:
    machine = dict(machine)
    image = dict(machine.get("imageReference") or {})
    if "virtualMachineImageId" in image:
        image["id"] = image.pop("virtualMachineImageId")
    machine["imageReference"] = image
    if machine.get("dataDisks"):
        disks = [dict(each) for each in machine["dataDisks"]]
        for disk in disks:
            disk |= disk.pop("managedDisk", None) or {}
        machine["dataDisks"] = disks
    return machine


def _machine_from_arm(machine: Body) -> Body:
    machine = dict(machine)
    image = dict(machine.get("imageReference") or {})
    if "id" in image:
        image["virtualMachineImageId"] = image.pop("id")
    machine["imageReference"] = image
    if machine.get("dataDisks"):
        disks = [dict(each) for each in machine["dataDisks"]]
        for disk in disks:
            if "storageAccountType" in disk:
                disk["managedDisk"] = {"storageAccountType": disk["storageAccountType"].lower()}
        machine["dataDisks"] = disks
    return machine


def _contradiction(name: str, reason: str) -> BatchError:
    return BatchError("InvalidPropertyValue", values={"PropertyName": name, "Reason": reason})
