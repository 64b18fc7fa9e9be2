"""TLS for the session link: a receiver makes a certificate for one session, and its sources know it by its hash."""

import hashlib
import importlib
import os
import ssl
from datetime import UTC, datetime, timedelta
from typing import Any

from framelane.base.errors import ConfigError

_DAYS = 3650
"""A certificate is of one session and known by its hash: how long it holds says nothing, but it must say something."""


def server_context() -> tuple[ssl.SSLContext, str]:
    """A receiver's end with a new certificate and key, which are on no disk; the SHA-256 of the certificate.

    ConfigError without the package `cryptography`, which makes certificates.
    """
    pem, digest = _certificate()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    with os.fdopen(os.memfd_create("certificate"), "r+b", buffering=0) as file:  # ssl reads files only
        file.write(pem)
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
    return context, digest


def client_context() -> ssl.SSLContext:
    """A source's end, which takes any certificate: ask `is_of` before anything is said."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def is_of(connection: ssl.SSLSocket, certificate: str) -> bool:
    """Whether the other end has the certificate with this SHA-256, in hexadecimal; and its key, as TLS has found."""
    shown = connection.getpeercert(binary_form=True)
    return shown is not None and hashlib.sha256(shown).hexdigest() == certificate


def _certificate() -> tuple[bytes, str]:
    """A key and a certificate that is signed by itself, in PEM; the certificate's SHA-256."""
    try:
        x509: Any = importlib.import_module("cryptography.x509")
        ec: Any = importlib.import_module("cryptography.hazmat.primitives.asymmetric.ec")
        hashes: Any = importlib.import_module("cryptography.hazmat.primitives.hashes")
        coding: Any = importlib.import_module("cryptography.hazmat.primitives.serialization")
    except ImportError as error:
        raise ConfigError("TLS needs the package cryptography: pip install framelane[tls]") from error
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "framelane session")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(coding.Encoding.PEM, coding.PrivateFormat.PKCS8, coding.NoEncryption())
    return secret + certificate.public_bytes(coding.Encoding.PEM), certificate.fingerprint(hashes.SHA256()).hex()
