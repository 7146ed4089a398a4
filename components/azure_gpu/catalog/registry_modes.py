"""The modes of a registry, which decide the roles that it accepts; only newer API versions show the mode.

Source: Microsoft Learn, container-registry/container-registry-rbac-abac-repository-permissions (2026-11-24): a registry in the
mode with conditions for repositories accepts neither AcrPull nor AcrPush.
"""

API_VERSION = "2025-04-01"  # the first stable one that has it
PROPERTY = "roleAssignmentMode"
ABAC, LEGACY = "AbacRepositoryPermissions", "LegacyRegistryPermissions"
