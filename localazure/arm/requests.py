"""A request's body: read whole up to a limit, and parsed as the JSON object that ARM takes."""

from typing import Any

from starlette.requests import Request

from azure_gpu.formats import strict_json
from localazure.arm.errors import ArmError
from localazure.arm.store import Body

MAX_BODY_BYTES = 4 * 1024 * 1024  # Microsoft Learn, azure-resource-manager/management/request-limits-and-throttling


async def body_of(request: Request) -> Body:
    """The JSON object in the body; {} for an empty body. ArmError 400 or 413."""
    content = await content_of(request)
    if not content.strip():
        return {}
    try:
        body: Any = strict_json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ArmError(
            400, "InvalidRequestContent", f"The request content was invalid and could not be deserialized: '{error}'."
        ) from error
    if not isinstance(body, dict):
        raise ArmError(400, "InvalidRequestContent", "The request content was invalid: it is not a JSON object.")
    return body


async def content_of(request: Request) -> bytes:
    """The body as it came. ArmError 413 as soon as it is over the limit."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > MAX_BODY_BYTES:
            raise ArmError(413, "RequestEntityTooLarge", f"The request content is larger than {MAX_BODY_BYTES} bytes.")
    return bytes(content)
