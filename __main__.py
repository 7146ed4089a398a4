"""The Pulumi program: reads the stack file, declares the components and exports the outputs.

`azure_gpu.stack` makes the plan from the configuration and today's date, and the components declare from it. All problems are
raised together, before anything is declared.
"""

import gc
import os
from datetime import UTC, datetime
from typing import Any

import pulumi
from pulumi.runtime.config import CONFIG, get_config_env

from azure_gpu.shared.provider_keys import cloud_from
from azure_gpu.shared.refusal import refuse, warn
from azure_gpu.stack import ended, entry_options, keep, other_stacks, own_source, secret_values, switches, written_by
from azure_gpu.stack.kinds import KINDS, Kind, outputs
from azure_gpu.stack.look_ups import BY_PROVIDER
from azure_gpu.stack.plan import plan as make_plan
from azure_gpu.stack.settings import read

# Declared resources live until the program ends, and Pulumi's SDK creates millions of objects for them. Garbage collection with
# Python's default thresholds takes three fifths of the CPU time for 250 groups; these thresholds cost 3 MiB of 235.
gc.set_threshold(100_000, 50, 1000)

refuse(written_by.newer())
# All keys, to find misspelt ones; `pulumi.Config` can't list keys. The provider's environment variables have lower precedence.
configuration = {**cloud_from(os.environ), **get_config_env(), **CONFIG.get()}
settings = read(
    configuration,
    datetime.now(UTC).date().isoformat(),
    secret_values.of_engine(os.environ, pulumi.get_stack(), pulumi.get_project()),
    pulumi.get_project(),
    outputs_of=other_stacks.by_engine,
    own_source=own_source.find,
    ended_of=ended.taken_down,
)
plan = make_plan(settings, BY_PROVIDER, pulumi.get_project(), pulumi.get_stack())
refuse(plan.problems)
warn(plan.problems)
switches.announce(settings.off)
own_source.announce(settings.own_source)


def options(kind: Kind, name: str) -> pulumi.ResourceOptions | None:
    """Returns the engine's options of a part: those of the settings, those that keep it unchanged after its last day, and those
    that keep it in Azure when the stack is destroyed."""
    opts = entry_options.of(settings.opts.get(kind.path(name)), kind.section)
    opts = ended.options(plan.ended, kind.section, name if kind.by_name else "", opts)
    return keep.options(plan.kept, name, opts) if kind.can_be_kept else opts


declared: dict[str, dict[str, Any]] = {}  # components, by section and logical name
for kind in KINDS:  # such as `pools`, whose component is `BatchPool`
    declared[kind.section] = {}
    if kind.section not in settings.planned_only:
        for name, args in settings.parts[kind.section].items():
            spec, opts = plan.parts[kind.section][name], options(kind, name)
            declared[kind.section][name] = kind.declare(name, args, spec, declared, settings.stack, opts)

pulumi.export(written_by.OUTPUT, written_by.own_version())  # of the package; an older one refuses the stack from now on
for output, value in outputs(declared).items():
    pulumi.export(output, value)
if settings.taken_down:
    pulumi.export(ended.TAKEN_DOWN, dict(settings.taken_down))  # ends by paths of parts that aren't declared any more
