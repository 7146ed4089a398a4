"""JobSet, which starts and ends groups of workers on a Kubernetes cluster together, and Kueue, which admits them.

The versions are those that this project is tested with; charts and images are published by their projects.
"""

from typing import NamedTuple

from azure_gpu.catalog.sources import observed

SOURCE = observed("kubernetes-sigs/jobset v0.10.1 and kubernetes-sigs/kueue v0.14.0, charts and releases", 2026, 11, 26)


class Chart(NamedTuple):
    """A Helm chart, and the controller that it runs."""

    address: str
    version: str
    namespace: str  # which its own manifests name
    image: str  # without the tag, which is the version

    @property
    def name(self) -> str:
        """Under which it is installed, as its documentation has it."""
        return self.namespace.removesuffix("-system")

    def of(self, mirror: str) -> "Chart":
        """The chart and its image in another registry; as they are if that is empty."""
        scheme, _, address = self.address.partition("://")
        return self._replace(address=f"{scheme}://{mirrored(address, mirror)}", image=mirrored(self.image, mirror))


def mirrored(image: str, mirror: str) -> str:
    """A reference under the same repository, tag and digest in another registry; as it is if that is empty."""
    return f"{mirror}/{image.partition('/')[2]}" if mirror else image


JOBSET = Chart("oci://registry.k8s.io/jobset/charts/jobset", "0.10.1", "jobset-system", "registry.k8s.io/jobset/jobset")
KUEUE = Chart("oci://registry.k8s.io/kueue/charts/kueue", "0.14.0", "kueue-system", "registry.k8s.io/kueue/kueue")
