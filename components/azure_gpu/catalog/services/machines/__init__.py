"""Virtual machines with GPUs: drivers, boot security, administrators, shutdown and cost."""
