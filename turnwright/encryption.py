"""Encryption of what Temporal stores (`TURNWRIGHT_PAYLOAD_KEY`): AES-256-GCM, key by key id."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
)

ENCODING: Final = b"binary/encrypted"
NONCE: Final = 12
KEY_ID: Final = "encryption-key-id"


class Encryption(PayloadCodec):
    """Encrypts with the first key; decrypts with whichever of them the payload names."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = {key_id(key): AESGCM(key) for key in keys}
        self._first = key_id(keys[0])

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [self._encrypt(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [self._decrypt(payload) for payload in payloads]

    def _encrypt(self, payload: Payload) -> Payload:
        nonce = os.urandom(NONCE)
        secret = self._ciphers[self._first].encrypt(nonce, payload.SerializeToString(), None)
        return Payload(
            metadata={"encoding": ENCODING, KEY_ID: self._first.encode()}, data=nonce + secret
        )

    def _decrypt(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") != ENCODING:
            # Written before encryption was turned on.
            return payload
        named = payload.metadata.get(KEY_ID, b"").decode()
        cipher = self._ciphers.get(named)
        if cipher is None:
            raise ValueError(f"no key {named} in TURNWRIGHT_PAYLOAD_KEY: keep old keys behind it")
        nonce, secret = payload.data[:NONCE], payload.data[NONCE:]
        try:
            return Payload.FromString(cipher.decrypt(nonce, secret, None))
        except InvalidTag:
            raise ValueError(f"a payload was not written with key {named}") from None


def key_id(key: bytes) -> str:
    """A short name for a key, that says nothing about it."""
    return hashlib.sha256(b"turnwright payload key" + key).hexdigest()[:12]


def data_converter(keys: Sequence[bytes]) -> DataConverter:
    """The converter for pydantic models; with keys, all that it writes is encrypted."""
    if not keys:
        return pydantic_data_converter
    return replace(
        pydantic_data_converter,
        payload_codec=Encryption(keys),
        failure_converter_class=DefaultFailureConverterWithEncodedAttributes,
    )
