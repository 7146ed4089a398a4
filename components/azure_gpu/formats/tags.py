"""The tag keys that the program writes and that tools read: their one home, and that of the end which it proposes itself.

Azure limits: 50 tags a resource, keys to 512 characters (storage accounts: 128), values to 256.
Source: Microsoft Learn, azure-resource-manager/management/tag-resources.
"""

AS_OF = "as-of"  # YYYY-MM-DD; the date at which the resource was asked for. Only where the configuration sets `as_of`
EXPIRES_AT = "expires-at"  # RFC 3339 instant, UTC; after it a GPU should be gone
PROJECT = "project"  # the Pulumi project
STOPPED_SINCE = "stopped-since"  # RFC 3339 instant, UTC; on an online endpoint whose deployments `operations stop` has taken away
STACK = "stack"  # the Pulumi stack
TEAM = "team"  # who owns it

PROPOSED_DAYS = 7  # proposed lifetime of a GPU without a given end date

POOL_MPI = "mpi"  # no tag: a name in the metadata of a Batch pool, hpcx, intel_mpi or microsoft_mpi; tasks over nodes start by it
MODEL_STORE = "models"  # no tag: a container of the stack's storage, and its workspace's datastore on it
NODE_POOL = "azure-gpu/pool"  # no tag: a label of a cluster's GPU nodes, their pool's name in the stack file
