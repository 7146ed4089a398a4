"""Posts results of workflows to GitHub, GitLab and Azure DevOps: reviews, deployments, drift.

Runs on any Python 3.11 without installed packages, so that a workflow with a token installs nothing.
"""
