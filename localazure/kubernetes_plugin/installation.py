"""Puts this plugin where Pulumi's engine finds it, beside azure-native's."""

from pathlib import Path

from localazure.plugin import installation


def install(pulumi_home: Path, python: Path, checkout: Path) -> Path:
    """The plugin's folder in `pulumi_home`. Does nothing where it is there already."""
    return installation.install(pulumi_home, python, checkout, "kubernetes", "localazure.kubernetes_plugin")
