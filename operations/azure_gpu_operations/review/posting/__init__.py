"""What workflows send to GitHub, GitLab and Azure DevOps: reviews as comments, results, issues of drift.

In: files that the verbs write, and the variables of the runner. Out: requests to the hosting service's API. It runs by any Python
3.11 without a package beside it, so that a workflow that holds a token installs nothing.
"""
