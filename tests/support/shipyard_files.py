"""Configurations in the format of Batch Shipyard, written for these tests: what people had in 2017 (2.x, JSON) and until 2023."""

TRAIN_POOL = """\
pool_specification:
  id: digits-gpu
  vm_configuration:
    platform_image:
      publisher: Canonical
      offer: UbuntuServer
      sku: 16.04-LTS
  vm_size: STANDARD_NC6
  vm_count:
    dedicated: 2
    low_priority: 0
  max_tasks_per_node: 1
  ssh:
    username: someone
  reboot_on_start_task_failed: false
  block_until_all_global_resources_loaded: true
"""
TRAIN_CONFIG = """\
batch_shipyard:
  storage_account_settings: lab
global_resources:
  docker_images:
  - docker.io/library/python:3.11-slim
"""
TRAIN_JOBS = """\
job_specifications:
- id: digits
  auto_complete: true
  environment_variables:
    EPOCHS: '3'
  tasks:
  - id: prepare
    docker_image: docker.io/library/python:3.11-slim
    command: python -c "print('ready')"
    resource_files:
    - blob_source: https://example.org/data/digits.npz?sv=2020-01-01&sig=c2VjcmV0
      file_path: data/digits.npz
      file_mode: '0640'
  - docker_image: docker.io/library/python:3.11-slim
    task_factory:
      parametric_sweep:
        product:
        - start: 1
          stop: 4
          step: 1
    command: python train.py --seed {0}
    depends_on: [prepare]
    max_task_retries: 1
    max_wall_time: 00:30:00
    shm_size: 256m
    output_data:
      azure_storage:
      - storage_account_settings: lab
        remote_path: models/digits
        local_path: $AZ_BATCH_TASK_WORKING_DIR
        include: ['*.npz']
  merge_task:
    docker_image: docker.io/library/python:3.11-slim
    command: python -c "print('best')"
"""
CREDENTIALS = """\
credentials:
  aad:
    directory_id: contoso.example
    application_id: 11111111-2222-3333-4444-555555555555
    auth_key: thisIsTheSecretOfAnApplication
  batch:
    account_key: dGhpcyBpcyBhIGtleSBvZiBhbiBhY2NvdW50
    account_service_url: https://labbatch.southcentralus.batch.azure.com
  storage:
    lab:
      account: labstorage
      account_key: dGhpcyBpcyBhIGtleSBvZiBzdG9yYWdl
  docker_registry:
    lab.azurecr.io:
      username: lab
      password: aPasswordOfARegistry
"""
SECRETS = (
    "thisIsTheSecretOfAnApplication",
    "dGhpcyBpcyBhIGtleSBvZiBhbiBhY2NvdW50",
    "dGhpcyBpcyBhIGtleSBvZiBzdG9yYWdl",
    "aPasswordOfARegistry",
    "c2VjcmV0",
)
TRAIN = [("config.yaml", TRAIN_CONFIG), ("pool.yaml", TRAIN_POOL), ("jobs.yaml", TRAIN_JOBS), ("credentials.yaml", CREDENTIALS)]

MPI_POOL = """\
pool_specification:
  id: solver
  vm_configuration:
    platform_image: {publisher: OpenLogic, offer: CentOS-HPC, sku: '7.4', native: true}
  vm_size: Standard_H16r
  vm_count: {dedicated: 4, low_priority: 0}
  inter_node_communication_enabled: true
  max_tasks_per_node: 1
  resize_timeout: 00:30:00
  additional_node_prep_commands:
    pre: ['ulimit -l unlimited']
    post: ['echo "it is ready"']
"""
MPI_JOBS = """\
job_specifications:
- id: solve
  tasks:
  - id: cavity
    docker_image: lab.azurecr.io/solver:7
    infiniband: true
    multi_instance:
      num_instances: pool_current_dedicated
      coordination_command: /usr/sbin/sshd -p 23
      resource_files:
      - {blob_source: 'https://example.org/mesh.tar', file_path: mesh.tar}
    command: mpirun -np 64 ./solve
"""
MPI = [("pool.yaml", MPI_POOL), ("jobs.yaml", MPI_JOBS)]

# As 2.x had it: JSON, the image in the pool itself, one number of nodes, `image` of a task.
OLD_POOL = """\
{
    "pool_specification": {
        "id": "old",
        "vm_size": "STANDARD_NC24r",
        "vm_count": 3,
        "publisher": "Canonical",
        "offer": "UbuntuServer",
        "sku": "16.04-LTS",
        "gpu": {"nvidia_driver": {"source": "https://example.org/NVIDIA-Linux-x86_64-375.39.run"}}
    }
}
"""
OLD_JOBS = """\
{"job_specifications": [{"id": "oldjob", "tasks": [{"image": "alpine:3", "command": "true", "gpu": true}]}]}
"""
OLD = [("pool.json", OLD_POOL), ("jobs.json", OLD_JOBS)]

WINDOWS_POOL = """\
pool_specification:
  id: windows
  vm_configuration:
    platform_image:
      publisher: MicrosoftWindowsServer
      offer: WindowsServer
      sku: 2016-Datacenter-with-Containers
      license_type: windows_server
      native: true
  vm_size: STANDARD_D2_V2
  vm_count: {dedicated: 1}
  rdp: {username: someone, password: aPasswordOfAUser}
"""
_SUBNET = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/lab/providers/Microsoft.Network/virtualNetworks/v"
CUSTOM_POOL = """\
pool_specification:
  id: Own_Image
  vm_configuration:
    custom_image:
      arm_image_id: /subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/lab/providers/Microsoft.Compute/images/gpu
      node_agent: batch.node.ubuntu 16.04
      native: true
  vm_size: STANDARD_NC6
  vm_count: {dedicated: 0, low_priority: 5}
  virtual_network:
    arm_subnet_id: SUBNET
  certificates:
    0123456789abcdef0123456789abcdef01234567: {visibility: [task]}
""".replace("SUBNET", f"{_SUBNET}/subnets/s")
VOLUMES_CONFIG = """\
global_resources:
  additional_registries: {docker: [lab.azurecr.io]}
  volumes:
    data_volumes:
      scratch: {container_path: /scratch, host_path: /mnt/scratch, bind_options: ro}
      own: {container_path: /own}
    shared_data_volumes:
      files:
        volume_driver: azurefile
        storage_account_settings: lab
        azure_file_share_name: share
        container_path: $AZ_BATCH_NODE_SHARED_DIR/azfile
        mount_options: [file_mode=0777]
      blobs:
        volume_driver: azureblob
        storage_account_settings: lab
        azure_blob_container_name: input
        container_path: $AZ_BATCH_NODE_SHARED_DIR/azblob
      server:
        volume_driver: custom_linux_mount
        container_path: $AZ_BATCH_NODE_SHARED_DIR/nfs
        fstab_entry: {fs_spec: '10.0.0.4:/export', fs_vfstype: nfs4, fs_mntops: 'defaults,_netdev'}
      cluster: {volume_driver: storage_cluster, container_path: $AZ_BATCH_NODE_SHARED_DIR/gluster}
"""
