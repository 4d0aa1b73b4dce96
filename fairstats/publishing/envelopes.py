"""Sign a payload as a DSSE envelope, and read such envelopes from outside.

Reference: https://github.com/secure-systems-lab/dsse (protocol and envelope, version 1.0).
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import UnverifiedSignatureError
from securesystemslib.signer import (  # type: ignore[attr-defined]
    CryptoSigner,
    Signature,
    SSlibKey,
)

from fairstats._lib.problems import InputError, Problem
from fairstats._lib.table_text import json_text
from fairstats._lib.untrusted_files import read_text
from fairstats._lib.untrusted_json import parse_json
from fairstats.publishing.keys import PublicKey, public_part
from fairstats.publishing.statements import PAYLOAD_TYPE

#: A statement about a hundred releases takes some tens of kilobytes.
LARGEST_ENVELOPE = 1 << 20
_KEY_ID = re.compile(r"[0-9a-f]{64}")
_SIGNATURE_BYTES = 64
_REMEDY = "get the file again from whoever signed it, or remove it"


def sign_payload(payload: bytes, key: Ed25519PrivateKey) -> str:
    """Return an envelope with this payload and one signature, as JSON."""
    public = SSlibKey.from_crypto(key.public_key(), keyid=public_part(key).id)
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(CryptoSigner(key, public))
    return json_text(envelope.to_dict())


def read_envelope(path: str | os.PathLike[str]) -> Envelope:
    """Read an envelope with one signature; the signature is not checked.

    Raises
    ------
    InputError
        If the file is too large, not UTF-8 or not an envelope, or has another type of payload, or
        does not have exactly one signature.
    """
    text = read_text(path, LARGEST_ENVELOPE)
    try:
        return _envelope(parse_json(text))
    except ValueError as error:
        message = f"is not a signed statement of fairstats: {error}"
        raise InputError([Problem(str(path), message, _REMEDY)]) from None


def _envelope(found: Any) -> Envelope:
    # DSSE lets readers ignore other entries. Nobody signed those, so they are refused here.
    if not isinstance(found, dict) or set(found) != {"payload", "payloadType", "signatures"}:
        raise ValueError("it does not have just the entries of a DSSE envelope")
    if found["payloadType"] != PAYLOAD_TYPE:
        raise ValueError(f"payloadType is not {PAYLOAD_TYPE}")
    signatures = found["signatures"]
    # DSSE allows several. With one per file, each signer adds a file and changes no other.
    if not isinstance(signatures, list) or len(signatures) != 1:
        raise ValueError("it does not have exactly one signature")
    (signature,) = signatures
    if not isinstance(signature, dict) or set(signature) != {"keyid", "sig"}:
        raise ValueError("its signature does not have just keyid and sig")
    if not _is_key_id(signature["keyid"]):
        raise ValueError("keyid is not a sha256")
    sig = _decoded(signature["sig"], "sig")
    if len(sig) != _SIGNATURE_BYTES:
        raise ValueError(f"sig does not have the {_SIGNATURE_BYTES} bytes of ed25519")
    keyid = signature["keyid"]
    payload = _decoded(found["payload"], "payload")
    return Envelope(payload, PAYLOAD_TYPE, {keyid: Signature(keyid, sig.hex())})


def _is_key_id(value: object) -> bool:
    return isinstance(value, str) and _KEY_ID.fullmatch(value) is not None


def _decoded(text: object, name: str) -> bytes:
    """Decode base64; the library would skip characters that are not part of it."""
    if not isinstance(text, str):
        raise ValueError(f"{name} is not a text")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{name} is not base64") from None


def key_id_of(envelope: Envelope) -> str:
    """Return the id of the key that an envelope names."""
    (keyid,) = envelope.signatures
    return str(keyid)


def is_signed_by(envelope: Envelope, key: PublicKey) -> bool:
    """Check an envelope's signature with a key."""
    signature = envelope.signatures.get(key.id)
    if signature is None:
        return False
    try:
        SSlibKey.from_crypto(key.ed25519, keyid=key.id).verify_signature(signature, envelope.pae())
    except UnverifiedSignatureError:
        return False
    return True
