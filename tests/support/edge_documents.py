"""Jobs that share a device's GPUs, as the fourth source document and its companion show them."""

# The fourth source document: azure-stack-edge-gpu-sharing, 2021-03-05, as it stands there.
FRAGMENT = """\
// Example: application wants to limit gpu percentage to 20%

    env:
          - name: CUDA_MPS_ACTIVE_THREAD_PERCENTAGE 
            value: "20"    
"""
# Its companion: azure-stack-edge-gpu-deploy-kubernetes-gpu-sharing, 2021-03-12.
COMPANION = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: cuda-sample1
spec:
  template:
    spec:
      hostPID: true
      hostIPC: true
      containers:
        - name: cuda-sample-container1
          image: nvidia/samples:nbody
          command: ["/tmp/nbody"]
          args: ["-benchmark", "-i=1000"]
          env:
          - name: NVIDIA_VISIBLE_DEVICES
            value: "0"
      restartPolicy: "Never"
  backoffLimit: 1
"""
