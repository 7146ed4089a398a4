"""Which roles a registry honours: that depends on its mode, which only newer API versions tell.

Source: Microsoft Learn, container-registry/container-registry-rbac-abac-repository-permissions (2026-11-24): a registry in the
mode with conditions for repositories honours neither AcrPull nor AcrPush.
"""

API_VERSION = "2025-04-01"  # the first that is no preview and has it
PROPERTY = "roleAssignmentMode"
ABAC, LEGACY = "AbacRepositoryPermissions", "LegacyRegistryPermissions"
