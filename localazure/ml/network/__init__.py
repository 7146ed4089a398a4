"""The network of a container: see `sitecustomize`."""

from pathlib import Path

_ROOT = Path("/proc/self/root")


def python_path() -> str:
    """What goes in front of a container's own `PYTHONPATH`."""
    return outside(Path(__file__).parent)


def outside(path: Path) -> str:
    """A path of this machine that a container's variable may hold: written so that it isn't taken for one of the container's."""
    return f"{_ROOT if _ROOT.exists() else '/.'}{path}"
