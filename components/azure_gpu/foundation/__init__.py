"""The foundation of a stack: resource group, identity, registry, log workspace, storage account."""
