"""The identities of this folder's tenant: a service principal with its secret, the key that signs tokens, the admin token.

Made at first start and kept, so that stacks and tokens outlive a restart.
"""

import uuid
from dataclasses import asdict, dataclass

from localazure.errors import CommandError
from localazure.folder import SECRET_MODE, LocalFolder, random_secret, read_json, write_json

KEY_BITS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Everything about the tenant that must not change from one start to the next."""

    tenant_id: str
    client_id: str  # application id of the service principal that stacks sign in with
    client_secret: str
    principal_id: str  # object id of the same
    signing_key: str  # PEM, RSA
    admin_token: str  # for faults; never given to clients
    passphrase: str  # Pulumi's, for the secrets in this folder's stacks


def load(folder: LocalFolder) -> Identity:
    """The folder's identity; made where there is none yet. CommandError where the file holds something else."""
    stored = read_json(folder.identity)
    if stored is None:
        made = _make()
        write_json(folder.identity, asdict(made), SECRET_MODE)
        return made
    try:
        return Identity(**stored)
    except TypeError as error:
        raise CommandError(f"{folder.identity}: invalid identity ({error}); remove the state folder") from error


def _make() -> Identity:
    # Here, because every command reads an identity, and only the first start makes one.
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Identity(
        tenant_id=str(uuid.uuid4()),
        client_id=str(uuid.uuid4()),
        client_secret=random_secret(),
        principal_id=str(uuid.uuid4()),
        signing_key=pem.decode("ascii"),
        admin_token=random_secret(),
        passphrase=random_secret(),
    )
