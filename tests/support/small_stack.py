"""A stack of a program of a test's own, on the real engine."""

import json
import shlex
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

LIMIT_S = 120
RUN = ("--yes", "--skip-preview")


class SmallStack:
    """`environment` has the engine and the backend."""

    def __init__(self, folder: Path, environment: Mapping[str, str], program: str) -> None:
        self.folder = folder
        self.environment = dict(environment)
        (folder / "Pulumi.yaml").write_text("name: small\nruntime: python\n")
        (folder / "__main__.py").write_text(program)
        self.run("stack", "init", f"s{uuid.uuid4().hex[:8]}")

    def run(self, *arguments: str, expected: int = 0) -> str:
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == expected, f"{shlex.join(arguments[:3])}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def operations(self) -> dict[str, str]:
        """What a preview would do to which resource, by name."""
        steps = json.loads(self.run("preview", "--json"))["steps"]
        return {step["urn"].split("::")[-1]: step["op"] for step in steps if step["op"] not in ("same", "read")}
