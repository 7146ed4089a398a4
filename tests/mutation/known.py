"""Mutants that once survived: every test of the library passed with each of them. All have to die.

They are edits of the text of a package, wherever in it the text is: one that isn't found any more has to be written anew.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from tests.mutation.mutants import modules


@dataclass(frozen=True, kw_only=True)
class Known:
    """One edit."""

    name: str
    package: str
    found: str  # a regular expression that matches once in the package
    replaced: str

    @property
    def module(self) -> str:
        return self._place()[0]

    def code(self) -> CodeType:
        _, path, text = self._place()
        return compile(text, str(path), "exec")

    def _place(self) -> tuple[str, Path, str]:
        """The module, its file, and its text with the edit."""
        places: list[tuple[str, Path, str]] = []
        for module, path in modules((self.package,)):
            text, number = re.subn(self.found, self.replaced, path.read_text(encoding="utf-8"))
            places += [(module, path, text)] * number
        if len(places) != 1:
            raise LookupError(f"{self.name}: its place is there {len(places)} times in {self.package}")
        return places[0]


KNOWN = (
    Known(
        name="the kubelet may read blobs in place of pulling images",
        package="aks",
        found=r'"pull-role", pull_role_of\(registry\)',
        replaced='"pull-role", roles.STORAGE_BLOB_DATA_READER',
    ),
    Known(
        name="a cluster doesn't wait for the roles of its identity",
        package="aks",
        found=r"depends_on=(self\._network_roles\([^)]*\)),",
        replaced=r"depends_on=\1[:0],",
    ),
    Known(
        name="the stack's identity is lent to a service account of another namespace",
        package="aks",
        found=r"subject=workload_identity\.subject\(spec\.objects\.namespace, ",
        replaced='subject=workload_identity.subject("default", ',
    ),
    Known(
        name="role assignments of a cluster have no parent",
        package="aks",
        found=r"(role_of_identity\.assign\([^)]*opts=pulumi\.ResourceOptions\()parent=self, ",
        replaced=r"\1",
    ),
    Known(
        name="the protected settings of the extension aren't sent",
        package="ml",
        found=r"configuration_protected_settings=secrets or None,",
        replaced="",
    ),
    Known(
        name="a role assignment doesn't say which kind its principal is",
        package="shared",
        found=r"principal_type=kind,",
        replaced="",
    ),
    Known(
        name="a component registers no outputs",
        package="shared",
        found=r"self\.register_outputs\(\{key: [^\n]*\}\)",
        replaced="pass",
    ),
    Known(
        name="the extension doesn't wait for what is on the cluster",
        package="aks",
        found=r"(pulumi\.Output\.all\(cluster\.resource_id), \*\([^)]*\)\)",
        replaced=r"\1)",
    ),
)
