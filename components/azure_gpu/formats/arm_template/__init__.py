"""Evaluates ARM templates, for reading files and for deploying them.

`expand` returns resources, outputs and all problems; `finish` and its like evaluate what only a running deployment knows."""

from azure_gpu.formats.arm_template.frame import Ask, Runtime, Scope, ScopeOf
from azure_gpu.formats.arm_template.model import Expanded, Nested, Output, TemplateResource
from azure_gpu.formats.arm_template.parameters import Declared, declared, read_file, read_values
from azure_gpu.formats.arm_template.template import Finished, expand, expand_nested, finish, finish_outputs
from azure_gpu.formats.arm_template.values import DEFERRED, Deferred, RefusedError

__all__ = [
    "DEFERRED", "Ask", "Declared", "Deferred", "Expanded", "Finished", "Nested", "Output", "RefusedError", "Runtime", "Scope",
    "ScopeOf", "TemplateResource", "declared", "expand", "expand_nested", "finish", "finish_outputs", "read_file", "read_values",
]  # fmt: skip
