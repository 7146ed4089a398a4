"""Virtual machines with GPUs, as one has them for oneself: their drivers, boot security, administrators, shutdown and cost."""
