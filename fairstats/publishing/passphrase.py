"""The passphrase of a private key, read without importing a library of cryptography."""

from __future__ import annotations

import os

#: The environment variable with the passphrase of a private key.
PASSPHRASE_VARIABLE = "FAIRSTATS_PASSPHRASE"


def passphrase() -> bytes | None:
    """Return the passphrase of a private key; as an option, other users could read it.

    It is removed from the environment, because programs that draw pages would inherit it.
    """
    found = os.environ.pop(PASSPHRASE_VARIABLE, None)
    return None if found is None else os.fsencode(found)
