"""Container-group files and templates, in the folder `container_groups`: those of Microsoft's page of 2019-04-17, and others in
the forms that people wrote over the years.

PASSWORD stands wherever such a file has a secret, so that a test can look for it. The forms are those of public files: what is
quoted and what isn't, which spelling of memoryInGB, what `az container export` adds.
"""

from pathlib import Path

PASSWORD = "hunter2-Tr0ub4dor"

FILES = {file.name: file.read_text(encoding="utf-8") for file in sorted((Path(__file__).parent / "container_groups").iterdir())}
YAML_FILES = {name: text for name, text in FILES.items() if name.endswith(".yaml")}

GPU_YAML = FILES["gpu-deploy-aci.yaml"]
SIDECAR_2018 = FILES["sidecar-2018.yaml"]  # a web server and its watcher; an unquoted date, ports as text
EXPORTED_2018 = FILES["exported-2018.yaml"]  # by `az container export`: nulls, a secret variable without its value
VOLUMES_2019 = FILES["volumes-2019.yaml"]  # a share of Azure Files, a secret volume, a repository, logs, a registry's password
NETWORK_PROFILE_2021 = FILES["profile-2021.yaml"]  # a private network by a profile, which Azure has given up
PROBES_2021 = FILES["probes-2021.yaml"]  # init containers, probes with headers, an identity, a subnet
SPOT_2023 = FILES["spot-2023.yaml"]  # Spot, a zone; a GPU wasn't to be had with either
WINDOWS_2020 = FILES["windows-2020.yaml"]
GPU_TEMPLATE = FILES["gpudeploy.json"]
# With its storage account, a key that it asks Azure for, two groups, a password parameter, a loop.
TEMPLATE_2021 = FILES["template-2021.json"]
