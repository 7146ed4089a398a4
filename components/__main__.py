"""What the engine runs of this folder, as `PulumiPlugin.yaml` says: the components for programs in other languages."""

from azure_gpu.host.provider import main

if __name__ == "__main__":
    main()
