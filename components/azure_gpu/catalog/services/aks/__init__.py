"""Azure Kubernetes Service: node pools with GPUs, their sizes, systems, drivers and add-ons, and Kubernetes versions."""
