"""Virtual machines of Microsoft.Compute as folders with processes, and the nodes of Azure ML's clusters that run jobs."""
