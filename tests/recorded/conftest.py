"""A resource group of its own for a test that needs one, as in the tests of the embedded Azure."""

from tests.localazure.conftest import group

__all__ = ["group"]
