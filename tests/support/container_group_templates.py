"""Templates with container groups: that of Microsoft's page of 2019-04-17, and one in the form of later years.

PASSWORD stands wherever such a file has a secret, so that a test can look for it.
"""

PASSWORD = "hunter2-Tr0ub4dor"

GPU_TEMPLATE = """\
{
    "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
    "contentVersion": "1.0.0.0",
    "parameters": {
      "containerGroupName": {
        "type": "string",
        "defaultValue": "gpucontainergrouprm",
        "metadata": {
          "description": "Container Group name."
        }
      }
    },
    "variables": {
      "containername": "gpucontainer",
      "containerimage": "microsoft/samples-tf-mnist-demo:gpu"
    },
    "resources": [
      {
        "name": "[parameters('containerGroupName')]",
        "type": "Microsoft.ContainerInstance/containerGroups",
        "apiVersion": "2018-10-01",
        "location": "[resourceGroup().location]",
        "properties": {
            "containers": [
            {
              "name": "[variables('containername')]",
              "properties": {
                "image": "[variables('containerimage')]",
                "resources": {
                  "requests": {
                    "cpu": 4.0,
                    "memoryInGb": 12.0,
                    "gpu": {
                        "count": 1,
                        "sku": "V100"
                  }
                }
              }
            }
          }
        ],
        "osType": "Linux",
        "restartPolicy": "OnFailure"
        }
      }
    ]
}
"""

# A template with its storage account, a key that it asks Azure for, two groups, a password parameter, a loop.
TEMPLATE_2021 = f"""\
{{
  // two groups that share a file share
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  "contentVersion": "1.0.0.0",
  "parameters": {{
    "prefix": {{"type": "string", "defaultValue": "night"}},
    "location": {{"type": "string", "defaultValue": "[resourceGroup().location]"}},
    "cpuCores": {{"type": "int", "defaultValue": 2, "minValue": 1}},
    "registryPassword": {{"type": "secureString", "minLength": 40}},
    "apiToken": {{"type": "string", "defaultValue": "{PASSWORD}"}}
  }},
  "variables": {{
    "account": "[concat('st', uniqueString(resourceGroup().id))]",
    "image": "nvidia/cuda:10.1-base"
  }},
  "resources": [
    {{
      "type": "Microsoft.Storage/storageAccounts",
      "apiVersion": "2019-06-01",
      "name": "[variables('account')]",
      "location": "[parameters('location')]",
      "sku": {{"name": "Standard_LRS"}},
      "kind": "StorageV2"
    }},
    {{
      "type": "Microsoft.ContainerInstance/containerGroups",
      "apiVersion": "2021-03-01",
      "name": "[concat(parameters('prefix'), '-train')]",
      "location": "eastus",
      "properties": {{
        "containers": [
          {{
            "name": "train",
            "properties": {{
              "image": "[variables('image')]",
              "environmentVariables": [
                {{"name": "API_TOKEN", "value": "[parameters('apiToken')]"}},
                {{"name": "MODE", "value": "[if(equals(parameters('prefix'), 'night'), 'full', 'short')]"}}
              ],
              "resources": {{
                "requests": {{"cpu": "[parameters('cpuCores')]", "memoryInGB": 16, "gpu": {{"count": 2, "sku": "P100"}}}}
              }}
            }}
          }}
        ],
        "imageRegistryCredentials": [
          {{"server": "example.azurecr.io", "username": "example", "password": "[parameters('registryPassword')]"}}
        ],
        "osType": "Linux",
        "restartPolicy": "Never"
      }}
    }},
    {{
      "type": "Microsoft.ContainerInstance/containerGroups",
      "apiVersion": "2021-03-01",
      "name": "[concat(parameters('prefix'), '-report')]",
      "location": "[parameters('location')]",
      "dependsOn": ["[concat(parameters('prefix'), '-train')]"],
      "properties": {{
        "containers": [
          {{
            "name": "report",
            "properties": {{
              "image": "example/report:1",
              "resources": {{"requests": {{"cpu": 1, "memoryInGb": 1}}}},
              "volumeMounts": [{{"name": "share", "mountPath": "/share"}}]
            }}
          }}
        ],
        "osType": "Linux",
        "volumes": [
          {{
            "name": "share",
            "azureFile": {{
              "shareName": "night",
              "storageAccountName": "examplefiles",
              "storageAccountKey": "[listKeys(variables('account'), '2019-06-01').keys[0].value]"
            }}
          }}
        ]
      }}
    }}
  ],
  "outputs": {{"address": {{"type": "string", "value": "[reference('anything').ipAddress.ip]"}}}}
}}
"""
