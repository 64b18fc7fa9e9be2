"""Proofs that both ends of the session link have the session's token, which neither says.

HMAC (RFC 2104) with SHA-256, keyed by the token, over who proves, the nonces of both ends and what is said with the
proof. With a nonce of its own in it no end takes an answer to somebody else's, or to an earlier, question.
"""

import hashlib
import hmac
import json
import secrets

from framelane.session.session import Session
from framelane.session.session_link import Hello

NONCE_BYTES = 32


def nonce() -> str:
    """A number that is used once, in hexadecimal."""
    return secrets.token_hex(NONCE_BYTES)


def client_proof(token: bytes, asked: str, hello: Hello) -> str:
    """The client's proof of `hello`, without its `proof` field, in answer to the receiver's nonce `asked`."""
    return _proof(token, "client", asked, hello.model_dump(exclude={"proof"}))


def receiver_proof(token: bytes, asked: str, hello: Hello, session: Session) -> str:
    """The receiver's, which has asked `asked`, in answer to `hello`."""
    return _proof(token, "receiver", asked, hello.model_dump(), session.model_dump(mode="json"))


def same(proof: str, expected: str) -> bool:
    """Whether two proofs are the same, in a time that does not tell where they differ."""
    return hmac.compare_digest(proof.encode(), expected.encode())


def _proof(token: bytes, *said: object) -> str:
    return hmac.new(token, json.dumps(said, sort_keys=True).encode(), hashlib.sha256).hexdigest()
