"""The data plane of Batch, over HTTP: jobs, tasks, files, pools and nodes of each account, below /batch/ACCOUNT."""
