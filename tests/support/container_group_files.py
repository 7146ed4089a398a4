"""Container-group files: the two of Microsoft's page of 2019-04-17, and files in the forms that people wrote over the years.

PASSWORD stands wherever such a file has a secret, so that a test can look for it. The forms are those of public files: what is
quoted and what isn't, which spelling of memoryInGB, what `az container export` adds.
"""

from tests.support.container_group_templates import GPU_TEMPLATE, PASSWORD, TEMPLATE_2021

GPU_YAML = """\
additional_properties: {}
apiVersion: '2018-10-01'
name: gpucontainergroup
properties:
  containers:
  - name: gpucontainer
    properties:
      image: k8s-gcrio.azureedge.net/cuda-vector-add:v0.1
      resources:
        requests:
          cpu: 1.0
          memoryInGB: 1.5
          gpu:
            count: 1
            sku: K80
  osType: Linux
  restartPolicy: OnFailure
"""

# 2018: a web server and what watches it; an unquoted date, ports as text, protocols in lower case.
SIDECAR_2018 = """\
apiVersion: 2018-06-01
location: westus
name: shop
properties:
  containers:
  - name: web
    properties:
      image: nginx:1.15
      resources:
        requests:
          cpu: 1
          memoryInGb: 1.5
      ports:
      - port: 80
      - port: 9100
  - name: watcher
    properties:
      image: example/watcher
      command: ["/bin/watch", "--target", "http://localhost:80"]
      resources:
        requests:
          cpu: 0.5
          memoryInGb: 0.5
  osType: Linux
  ipAddress:
    type: Public
    ports:
    - protocol: tcp
      port: '80'
    dnsNameLabel: shop-front
tags: null
type: Microsoft.ContainerInstance/containerGroups
"""

# 2018, as `az container export` wrote it: nulls, answers of the service, a secret variable without its value.
EXPORTED_2018 = """\
additional_properties: {}
apiVersion: '2018-10-01'
location: northeurope
name: trainer
properties:
  containers:
  - name: trainer
    properties:
      command:
      - python
      - train.py
      environmentVariables:
      - name: EPOCHS
        value: '20'
      - name: BUCKET_KEY
      image: example.azurecr.io/trainer:7
      instanceView:
        restartCount: 0
      ports: []
      resources:
        requests:
          cpu: 6.0
          memoryInGB: 56.0
          gpu: {count: 1, sku: K80}
  imageRegistryCredentials:
  - server: example.azurecr.io
    username: example
  ipAddress: null
  osType: Linux
  provisioningState: Succeeded
  restartPolicy: Never
  volumes: null
tags: {}
type: Microsoft.ContainerInstance/containerGroups
"""

# 2019: a share of Azure Files, a secret volume, a repository, logs, a registry's password.
VOLUMES_2019 = f"""\
# nightly report
apiVersion: '2019-12-01'
location: westeurope
name: report
properties:
  containers:
  - name: report
    properties:
      image: example.azurecr.io/report:2019.12
      environmentVariables:
      - {{name: LANG, value: C.UTF-8}}
      - name: SMTP_PASSWORD
        secureValue: {PASSWORD}
      resources:
        requests: {{cpu: 2, memoryInGB: 4}}
        limits: {{cpu: 2, memoryInGB: 8}}
      volumeMounts:
      - name: out
        mountPath: /out
      - name: certificates
        mountPath: /etc/certificates
        readOnly: true
      - name: code
        mountPath: /code
  imageRegistryCredentials:
  - server: example.azurecr.io
    username: example
    password: "{PASSWORD}"
  osType: Linux
  restartPolicy: Never
  diagnostics:
    logAnalytics:
      workspaceId: 11111111-2222-3333-4444-555555555555
      workspaceKey: {PASSWORD}==
  volumes:
  - name: out
    azureFile:
      shareName: reports
      storageAccountName: examplefiles
      storageAccountKey: {PASSWORD}==
  - name: certificates
    secret:
      client.pem: {PASSWORD}
      ca.pem: {PASSWORD}
  - name: code
    gitRepo:
      repository: https://example.com/reports.git
      directory: .
tags:
  owner: finance
"""

# 2021-07: a private network by network profile, which Azure has given up since, and name servers.
NETWORK_PROFILE_2021 = """\
apiVersion: 2021-07-01
location: eastus
name: inside
properties:
  containers:
  - name: api
    properties:
      image: mcr.microsoft.com/azuredocs/aci-helloworld
      ports:
      - protocol: TCP
        port: 8080
      resources:
        requests:
          memoryInGB: 1
          cpu: 1
  dnsConfig:
    nameServers: [10.0.0.10, 10.0.0.11]
    searchDomains: example.internal
  networkProfile:
    id: /subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/net/providers/Microsoft.Network/networkProfiles/aci
  ipAddress:
    type: Private
    ports:
    - port: 8080
      protocol: TCP
  osType: linux
  restartPolicy: always
"""

# 2021-09: init containers, probes with headers, an identity, a subnet.
PROBES_2021 = """\
apiVersion: '2021-09-01'
location: West Europe
name: model-server
identity:
  type: UserAssigned
  userAssignedIdentities:
    '/subscriptions/0/resourceGroups/r/providers/Microsoft.ManagedIdentity/userAssignedIdentities/server': {}
properties:
  initContainers:
  - name: wait-for-db
    properties:
      image: busybox:1.34
      command: [sh, -c, 'until nc -z db 5432; do sleep 1; done']
  - name: fetch-model
    properties:
      image: curlimages/curl:7.80.0
      environmentVariables: [{name: MODEL, value: resnet}]
      volumeMounts: [{name: model, mountPath: /model}]
  containers:
  - name: server
    properties:
      image: example/server:3
      resources: {requests: {cpu: 2, memoryInGB: 8}}
      volumeMounts: [{name: model, mountPath: /model, readOnly: true}]
      ports: [{port: 8000}]
      livenessProbe:
        httpGet:
          path: /alive
          port: 8000
          scheme: http
          httpHeaders: [{name: X-Probe, value: alive}]
        periodSeconds: 20
        failureThreshold: 3
      readinessProbe:
        exec: {command: [cat, /tmp/ready]}
        initialDelaySeconds: 5
  subnetIds:
  - id: /subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/r/providers/Microsoft.Network/virtualNetworks/v/subnets/aci
  ipAddress:
    type: Private
    ports: [{port: 8000, protocol: TCP}]
  osType: Linux
  restartPolicy: OnFailure
  volumes:
  - name: model
    emptyDir: {}
"""  # noqa: E501

# 2023: Spot, a zone; a GPU wasn't to be had with either.
SPOT_2023 = """\
apiVersion: '2023-05-01'
name: sweep
location: westeurope
properties:
  priority: Spot
  sku: Standard
  osType: Linux
  restartPolicy: Never
  containers:
  - name: sweep
    properties:
      image: python:3.11
      command: [python, -c, print(1)]
      resources:
        requests: {cpu: 4, memoryInGB: 8}
"""

WINDOWS_2020 = """\
apiVersion: '2019-12-01'
location: eastus
name: iis
properties:
  containers:
  - name: iis
    properties:
      image: mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2019
      ports: [{port: 80, protocol: TCP}]
      resources:
        requests: {cpu: 2.0, memoryInGb: 3.5}
  osType: Windows
  restartPolicy: Always
  ipAddress:
    type: Public
    dnsNameLabel: iis-demo
    ports: [{port: 80}]
"""

YAML_FILES = {
    "gpu-deploy-aci.yaml": GPU_YAML,
    "sidecar-2018.yaml": SIDECAR_2018,
    "exported-2018.yaml": EXPORTED_2018,
    "volumes-2019.yaml": VOLUMES_2019,
    "profile-2021.yaml": NETWORK_PROFILE_2021,
    "probes-2021.yaml": PROBES_2021,
    "spot-2023.yaml": SPOT_2023,
    "windows-2020.yaml": WINDOWS_2020,
}
FILES = {**YAML_FILES, "gpudeploy.json": GPU_TEMPLATE, "template-2021.json": TEMPLATE_2021}
