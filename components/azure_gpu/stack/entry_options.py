"""The key `opts` of a stack file's entries: validates the engine's options and converts them to `pulumi.ResourceOptions`."""

import re
from collections.abc import Iterator, Mapping
from typing import cast

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.shared import overrides
from azure_gpu.stack.file import EntryOptions
from azure_gpu.stack.kinds import BY_SECTION

_DURATION = re.compile(r"(\d+(\.\d+)?(ms|s|m|h))+")
_AZURE = "azure-native:"


def problems(options: EntryOptions, section: str, path: str) -> Iterator[Problem]:
    """Validates the options at `path`."""
    for operation, text in cast(Mapping[str, str], options.get("custom_timeouts", {})).items():
        if not _DURATION.fullmatch(text):
            yield refused("stack.no_duration", f"{path}.custom_timeouts.{operation}", text)
    what = " or ".join(each.token.split(":")[-1] for each in BY_SECTION[section].azure_types)
    names = sorted({name for each in BY_SECTION[section].azure_types for name in overrides.properties(each)})
    for index, given in enumerate(options.get("ignore_changes", [])):
        first = re.split(r"[.\[]", given, maxsplit=1)[0]
        if first not in names:
            yield overrides.unknown(f"{path}.ignore_changes[{index}]", given, first, names, what)


def of(options: EntryOptions | None, section: str) -> pulumi.ResourceOptions | None:
    """Converts the options of an entry to those of its component, which its resources inherit."""
    if not options:
        return None
    ignored = {each.token: set(overrides.properties(each)) for each in BY_SECTION[section].azure_types}
    timeouts = pulumi.CustomTimeouts(**options["custom_timeouts"]) if "custom_timeouts" in options else None

    def handed_down(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if not args.type_.startswith(_AZURE):
            return None
        # pyrefly: ignore[missing-attribute]
        own = [path for path in options.get("ignore_changes", []) if re.split(r"[.\[]", path)[0] in ignored.get(args.type_, ())]
        more = pulumi.ResourceOptions(ignore_changes=own or None, custom_timeouts=timeouts)
        return pulumi.ResourceTransformationResult(args.props, pulumi.ResourceOptions.merge(args.opts, more))

    return pulumi.ResourceOptions(protect=options.get("protect") or None, transformations=[handed_down])
