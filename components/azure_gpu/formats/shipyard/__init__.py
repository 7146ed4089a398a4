"""Reads the configuration of Batch Shipyard, which drove pools and jobs of Azure Batch from YAML files until 2023."""
