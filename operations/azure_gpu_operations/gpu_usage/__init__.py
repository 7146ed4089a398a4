"""`gpu-usage`: GPU utilisation of a cluster, in total and by job, from DCGM's metrics or nvidia-smi."""
