"""The passphrase of a private key, read without importing a library of cryptography."""

from __future__ import annotations

import os

#: The environment variable with the passphrase of a private key.
PASSPHRASE_VARIABLE = "FAIRSTATS_PASSPHRASE"


def passphrase() -> bytes | None:
    """Return the passphrase of a private key; as an option, other users could read it."""
    found = os.environ.get(PASSPHRASE_VARIABLE)
    return None if found is None else os.fsencode(found)
