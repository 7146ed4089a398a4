"""`gpu-usage`: how much of a cluster's GPUs is used, in all and by job, from DCGM's metrics or from nvidia-smi."""
