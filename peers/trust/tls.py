"""TLS contexts for the mesh port and for joining. Whether a peer is a member is asked of the statements, not here.

TLS 1.3 only. Expiry is judged by `certificates.is_expired`, so that an expired node can still be told so and renew.
"""

import os
import ssl
from collections.abc import Sequence
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mesh.core.errors import Forged
from peers.trust.x509_certificates import read

_NO_CHECK_TIME = ssl.VerifyFlags(0x200000)  # X509_V_FLAG_NO_CHECK_TIME, which `ssl` has no name for


class Credentials(NamedTuple):
    """What a node shows, and by what it judges what others show."""

    key_seed: bytes
    chain: Sequence[bytes]  # DER: ours, then those above it
    authorities: Sequence[bytes]  # DER: the founding keys' own certificates, which sign themselves

    def server_context(self, path: str) -> ssl.SSLContext:
        """For the mesh port: both sides show certificates. The key is written to `path`, which `ssl` reads it from."""
        context = self._mutual(ssl.PROTOCOL_TLS_SERVER, path)
        context.num_tickets = 0  # no resumption: a revoked node must not come back on an old ticket
        return context

    def client_context(self, path: str) -> ssl.SSLContext:
        """For dialling. Give `text_id(node)` as server_hostname: the node we mean is the node that answers."""
        context = self._mutual(ssl.PROTOCOL_TLS_CLIENT, path)
        context.check_hostname = True
        return context

    def join_server_context(self, path: str) -> ssl.SSLContext:
        """For the join port: we show our chain, the joiner has none yet."""
        context = _context(ssl.PROTOCOL_TLS_SERVER)
        context.num_tickets = 0
        self.load(context, path)
        return context

    def _mutual(self, protocol: int, path: str) -> ssl.SSLContext:
        context = _context(protocol)
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= _NO_CHECK_TIME
        context.load_verify_locations(cadata=b"".join(self.authorities))
        self.load(context, path)
        return context

    def load(self, context: ssl.SSLContext, path: str) -> None:
        """Show these from now on, also in a context that is in use."""
        draft = f"{path}.{os.getpid()}.new"
        key = Ed25519PrivateKey.from_private_bytes(self.key_seed)
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        text += "".join(map(ssl.DER_cert_to_PEM_cert, self.chain))
        if os.path.exists(draft):
            os.unlink(draft)  # of a process that was killed here
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        os.replace(draft, path)
        context.load_cert_chain(path)


def join_client_context() -> ssl.SSLContext:
    """For a joiner, who knows nothing but the mesh's id: `joining` checks the server's chain before anything is sent."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def peer_leaf(connection: ssl.SSLObject | ssl.SSLSocket) -> bytes:
    """The certificate the other side has shown, and whose key it has."""
    data = connection.getpeercert(binary_form=True)
    if data is None:
        raise Forged("the other side has shown no certificate")
    return data


def peer_node(connection: ssl.SSLObject | ssl.SSLSocket) -> bytes:
    """The node at the other end, from its certificate, whose name is that of its key."""
    return read(peer_leaf(connection)).subject


def _context(protocol: int) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_COMPRESSION
    return context
