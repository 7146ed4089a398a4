"""Template deployments, Microsoft.Resources/deployments: a template checked, compared or carried out in a resource group."""
