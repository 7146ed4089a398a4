"""The process that stands for the kubelets of one cluster: its nodes, and their pods as processes of this machine."""
