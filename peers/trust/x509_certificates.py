"""X.509 certificates of a mesh: create, read, chain. Which node may have one is decided by statements, not here.

A certificate ties a TLS connection to a node's key and no more. The root's key signs itself and admins, admins sign members.
The recovery key signs itself when a mesh is founded, and later roots: who was away while the root was replaced, and knows
only the founding keys, can follow a chain to one of them all the same.
Subject and authority key identifiers are the public keys themselves, so that a chain can be followed by key.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, SignatureAlgorithmOID

from mesh.core.errors import Forged, Malformed
from mesh.core.identity import Identity, verify
from mesh.core.ids import KEY_BYTES, named_digest, short, text_id

CERTIFICATE_BYTES = 2048  # ours have about 700
CHAIN_CERTIFICATES = 4  # member, admin, root, and the recovery key's above a root that it named
EARLY_MS = 3_600_000  # so long before it was made a certificate begins: a peer's clock may be behind ours
_ROOT_DAYS = 36_500
_ROOT, _RECOVERY = "clan-mesh root", "clan-mesh recovery"
_REMEMBERED = 4096  # certificates that were read: all of a mesh are looked through again and again
_NAME_CHARS = 40
_HARMLESS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._-")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXTENSIONS = frozenset(
    {
        x509.BasicConstraints.oid,
        x509.KeyUsage.oid,
        x509.ExtendedKeyUsage.oid,
        x509.SubjectAlternativeName.oid,
        x509.SubjectKeyIdentifier.oid,
        x509.AuthorityKeyIdentifier.oid,
    }
)


class Certificate(NamedTuple):
    """What a certificate says, once read. Its signature has not been checked: `check_chain` does."""

    subject: bytes  # the public key it is about: a node id, or the root's
    issuer: bytes  # the public key that signed it, as it claims
    not_before_ms: int
    not_after_ms: int
    may_issue: bool
    name: bytes  # of the subject, and of the issuer: TLS follows a chain by these
    issuer_name: bytes
    data: bytes


def authority(root: Identity, mesh: bytes, now_ms: int) -> bytes:
    """The founding root's own certificate, which it signs itself: the anchor of all others."""
    name = _name(text_id(mesh), _ROOT, root.public)
    return _build(root, root.public, name, name, now_ms, _ROOT_DAYS, path_length=1)


def recovery_authority(recovery: Identity, mesh: bytes, now_ms: int) -> bytes:
    """The recovery key's own certificate: the anchor of roots to come."""
    name = _name(text_id(mesh), _RECOVERY, recovery.public)
    return _build(recovery, recovery.public, name, name, now_ms, _ROOT_DAYS, path_length=2)


def crown(recovery: Identity, mesh: bytes, root: bytes, now_ms: int) -> bytes:
    """The certificate of a root that the recovery key has named."""
    above = _name(text_id(mesh), _RECOVERY, recovery.public)
    return _build(recovery, root, _name(text_id(mesh), _ROOT, root), above, now_ms, _ROOT_DAYS, path_length=1)


def issue(
    issuer: Identity,
    issuer_certificate: bytes,
    node: bytes,
    name: str,
    now_ms: int,
    *,
    may_issue: bool,
    days: int = 365,
) -> bytes:
    """A node's certificate. `may_issue`: an admin's, which signs members' ones."""
    if read(issuer_certificate).subject != issuer.public:
        raise ValueError("the issuer's certificate is of another key")
    above = x509.load_der_x509_certificate(issuer_certificate).subject
    (mesh,) = (str(item.value) for item in above.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))
    shown = "".join(char if char in _HARMLESS else "?" for char in name[:_NAME_CHARS])
    subject = _name(mesh, f"{shown or 'node'}-{short(node)}", node)
    return _build(issuer, node, subject, above, now_ms, days, path_length=0 if may_issue else None)


@lru_cache(_REMEMBERED)
def read(data: bytes) -> Certificate:
    """What a certificate says, or Malformed if it is not exactly of the sort we make."""
    if len(data) > CERTIFICATE_BYTES:
        raise Malformed(f"a certificate of {len(data)} bytes is above the limit of {CERTIFICATE_BYTES}")
    try:
        return _read(data)
    except Malformed:
        raise
    except Exception as error:  # the parser's errors share no base class
        raise Malformed(f"not a certificate: {type(error).__name__}") from error


def check_chain(chain: Sequence[bytes], roots: frozenset[bytes] | set[bytes], recovery: bytes | None = None) -> None:
    """Raise Forged unless each certificate is issued by the next, and the last by a root or by the recovery key.

    Certificates of these keys may end the chain or be left out. Times are not looked at: see `is_expired`.
    """
    certificates = [read(data) for data in chain[: CHAIN_CERTIFICATES + 1]]
    for anchors in ({recovery}, roots):
        if len(certificates) > 1 and certificates[-1].subject in anchors:
            check_anchor(certificates.pop(), recovery)
    if not 0 < len(certificates) < 3:
        raise Forged("a chain has one certificate for a node, or two with an admin between it and the root")
    last = certificates[-1]
    if last.issuer not in roots:
        raise Forged("a certificate was not issued by a root of this mesh")
    _require_issued(last, last.issuer)
    if len(certificates) == 2:
        leaf = certificates[0]
        if not last.may_issue or last.subject in roots:
            raise Forged("a certificate was issued by a node that may not issue any")
        if leaf.may_issue:
            raise Forged("only the root makes a node an issuer")
        if leaf.issuer != last.subject:
            raise Forged("a certificate was not issued by the next of its chain")
        _require_issued(leaf, last.subject)


def check_anchor(certificate: Certificate, recovery: bytes | None) -> None:
    """Raise Forged unless a root's or the recovery key's certificate is signed by itself, or by the recovery key."""
    if certificate.issuer not in (certificate.subject, recovery):
        raise Forged("a root's certificate is signed by itself, or by the recovery key")
    _require_issued(certificate, certificate.issuer)


def check_anchor_name(certificate: Certificate, mesh: bytes, recovery: bytes | None) -> None:
    """Raise Forged unless a root's or the recovery key's certificate has the one name that those below it give it."""
    common = _RECOVERY if certificate.subject == recovery else _ROOT
    if certificate.name != _name(text_id(mesh), common, certificate.subject).public_bytes():
        raise Forged("a root's certificate has another name than a root's")


def chain_for(node: bytes, certificates: Mapping[bytes, bytes]) -> list[bytes]:
    """A node's certificate and those above it, the root's last; empty if one of them is not known, or called otherwise by now."""
    chain: list[bytes] = []
    key, name = node, None
    while len(chain) < CHAIN_CERTIFICATES:
        data = certificates.get(key)
        if data is None:
            return []
        certificate = read(data)
        if name not in (None, certificate.name):
            return []
        chain.append(data)
        if certificate.issuer == key:
            return chain
        key, name = certificate.issuer, certificate.issuer_name
    return []


def is_expired(certificate: Certificate, now_ms: int) -> bool:
    """Whether links may no longer rest on a certificate, or not yet. Operations count all the same."""
    return not certificate.not_before_ms <= now_ms < certificate.not_after_ms


def needs_renewal(certificate: Certificate, now_ms: int) -> bool:
    """Whether less than a quarter of a certificate's life is left."""
    life = certificate.not_after_ms - certificate.not_before_ms
    return certificate.not_after_ms - now_ms < life // 4


def _name(mesh: str, common: str, key: bytes) -> x509.Name:
    """The key is part of the name, so that two issuers with one name are not taken for each other."""
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, mesh),
            x509.NameAttribute(NameOID.COMMON_NAME, common),
            x509.NameAttribute(NameOID.SERIAL_NUMBER, text_id(key)),
        ]
    )


def _build(
    issuer: Identity, key: bytes, subject: x509.Name, above: x509.Name, now_ms: int, days: int, path_length: int | None
) -> bytes:
    is_ca, is_root = path_length is not None, key == issuer.public
    start = (_EPOCH + timedelta(milliseconds=now_ms - EARLY_MS)).replace(microsecond=0)
    number = int.from_bytes(named_digest(b"clan-mesh serial", key + now_ms.to_bytes(8, "big"))[:16], "big") >> 1 or 1
    usage = x509.KeyUsage(
        digital_signature=not is_root,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_ca,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(above)
        .public_key(Ed25519PublicKey.from_public_bytes(key))
        .serial_number(number)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=days))
        .add_extension(x509.BasicConstraints(is_ca, path_length), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(text_id(key))]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier(issuer.public, None, None), critical=False)
    )
    if not is_root:
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
    return builder.sign(Ed25519PrivateKey.from_private_bytes(issuer.seed), None).public_bytes(Encoding.DER)


def _read(data: bytes) -> Certificate:
    found = x509.load_der_x509_certificate(data)
    key = found.public_key()
    if not isinstance(key, Ed25519PublicKey) or found.signature_algorithm_oid != SignatureAlgorithmOID.ED25519:
        raise Malformed("a certificate of clan-mesh has Ed25519 keys")
    subject = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    extensions = found.extensions
    if any(item.oid not in _EXTENSIONS for item in extensions):
        raise Malformed("a certificate has an unknown extension")
    names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    if list(names) != [x509.DNSName(text_id(subject))]:
        raise Malformed("a certificate's name is not that of its key")
    if extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest != subject:
        raise Malformed("a certificate's key identifier is not its key")
    issuer = extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    if issuer is None or len(issuer) != KEY_BYTES:
        raise Malformed("a certificate does not say which key issued it")
    constraints = extensions.get_extension_for_class(x509.BasicConstraints).value
    usage = extensions.get_extension_for_class(x509.KeyUsage).value
    if constraints.ca != usage.key_cert_sign:
        raise Malformed("a certificate says two things about whether it may issue others")
    start, end = (_milliseconds(time) for time in (found.not_valid_before_utc, found.not_valid_after_utc))
    if start < 0 or end <= start:
        raise Malformed("a certificate ends before it begins")
    names_of = found.subject.public_bytes(), found.issuer.public_bytes()
    return Certificate(subject, issuer, start, end, constraints.ca, *names_of, data)


def _milliseconds(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(milliseconds=1)


def _require_issued(certificate: Certificate, issuer: bytes) -> None:
    """The signature, by our own check: the names in a certificate prove nothing."""
    found = x509.load_der_x509_certificate(certificate.data)
    if not verify(issuer, found.tbs_certificate_bytes, found.signature):
        raise Forged("the signature of a certificate does not hold")
