"""Certificates: what they say, whom they chain to, and that nothing odd is read."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from mesh.core.errors import Forged, Malformed, RemoteError
from mesh.core.identity import Identity
from mesh.core.ids import text_id
from peers.trust.x509_certificates import (
    CERTIFICATE_BYTES,
    authority,
    chain_for,
    check_chain,
    is_expired,
    issue,
    needs_renewal,
    read,
)
from tests.worlds import NOW_MS, Clan

CLAN, OTHER = Clan(), Clan(3)
ADMIN, ANN, BEN = (CLAN.node(index) for index in range(3))
DAY_MS = 86_400_000
ROOT = authority(CLAN.root, CLAN.mesh, NOW_MS)
OFFICE = issue(CLAN.root, ROOT, ADMIN.public, "office", NOW_MS, may_issue=True)
MEMBER = issue(ADMIN, OFFICE, ANN.public, "ann", NOW_MS, may_issue=False)
ROOTS = {CLAN.root.public}


def test_a_certificate_says_whose_it_is_and_who_issued_it() -> None:
    """The node by its key, the issuer by its key, the time it holds."""
    found = read(MEMBER)
    assert (found.subject, found.issuer, found.may_issue) == (ANN.public, ADMIN.public, False)
    assert found.not_before_ms == NOW_MS - 3_600_000
    assert found.not_after_ms == found.not_before_ms + 365 * DAY_MS
    assert read(OFFICE).may_issue
    root = read(ROOT)
    assert root.subject == root.issuer == CLAN.root.public
    assert root.not_after_ms - NOW_MS > 99 * 365 * DAY_MS
    assert len(MEMBER) < 800


def test_the_name_in_a_certificate_is_harmless() -> None:
    """Whatever the node calls itself; its mesh is in every certificate."""
    for name in ("x" * 500, "", "a\x00b\n", "\u202egnp.exe", "ä·ö", "CN=root,O=x"):
        made = issue(CLAN.root, ROOT, ANN.public, name, NOW_MS, may_issue=False)
        subject = x509.load_der_x509_certificate(made).subject
        (common,) = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        assert str(common.value).isascii()
        assert str(common.value).isprintable()
        assert str(common.value).endswith(text_id(ANN.public)[:5])
        (mesh,) = subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        assert mesh.value == text_id(CLAN.mesh)


def test_an_issuer_needs_a_certificate_of_its_own() -> None:
    """Not somebody else's."""
    with pytest.raises(ValueError, match="another key"):
        issue(ANN, OFFICE, BEN.public, "ben", NOW_MS, may_issue=False)


@pytest.mark.parametrize("chain", [[MEMBER, OFFICE, ROOT], [MEMBER, OFFICE], [OFFICE, ROOT], [OFFICE], [ROOT]])
def test_a_chain_to_the_root_holds(chain: list[bytes]) -> None:
    """With the root's own certificate or without."""
    check_chain(chain, ROOTS)


def _forgeries() -> dict[str, list[bytes]]:
    strange_root = authority(OTHER.root, OTHER.mesh, NOW_MS)
    strange_admin = issue(OTHER.root, strange_root, ADMIN.public, "office", NOW_MS, may_issue=True)
    by_member = issue(ANN, MEMBER, BEN.public, "ben", NOW_MS, may_issue=False)
    second_admin = issue(ADMIN, OFFICE, BEN.public, "ben", NOW_MS, may_issue=True)
    by_second = issue(BEN, second_admin, ANN.public, "ann", NOW_MS, may_issue=False)
    plain = issue(CLAN.root, ROOT, ADMIN.public, "office", NOW_MS, may_issue=False)
    false_root = authority(Identity(bytes(32)), CLAN.mesh, NOW_MS)
    # The names and key identifiers of the true root, signed by another key.
    liar = x509.load_der_x509_certificate(OFFICE)
    builder = x509.CertificateBuilder(
        liar.issuer,
        liar.subject,
        liar.public_key(),
        liar.serial_number,
        liar.not_valid_before_utc,
        liar.not_valid_after_utc,
        list(liar.extensions),
    )
    lie = builder.sign(ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)), None).public_bytes(Encoding.DER)
    return {
        "nothing": [],
        "another mesh": [strange_admin, strange_root],
        "another mesh above ours": [MEMBER, strange_admin, strange_root],
        "another root in the name of ours": [OFFICE, false_root],
        "the root's name without its signature": [lie, ROOT],
        "a leaf without its issuer": [MEMBER],
        "a leaf without its issuer but the root": [MEMBER, ROOT],
        "issued by a member": [by_member, MEMBER, OFFICE],
        "issued by a member of the root": [MEMBER, plain, ROOT],
        "an admin made by an admin": [second_admin, OFFICE, ROOT],
        "issued by an admin made by an admin": [by_second, second_admin, OFFICE],
        "too long": [by_second, second_admin, OFFICE, ROOT],
        "the wrong way round": [ROOT, OFFICE, MEMBER],
        "twice": [MEMBER, MEMBER, OFFICE],
    }


@pytest.mark.parametrize(("why", "chain"), list(_forgeries().items()), ids=list(_forgeries()))
def test_any_other_chain_is_forged(why: str, chain: list[bytes]) -> None:
    """Each of these would let in somebody whom neither the root nor an admin of the root let in."""
    with pytest.raises(Forged):
        check_chain(chain, ROOTS)


def test_a_chain_is_found_by_following_issuers() -> None:
    """Empty if a part of it is not known, or if it leads nowhere."""
    known = {read(item).subject: item for item in (ROOT, OFFICE, MEMBER)}
    assert chain_for(ANN.public, known) == [MEMBER, OFFICE, ROOT]
    assert chain_for(ADMIN.public, known) == [OFFICE, ROOT]
    assert chain_for(CLAN.root.public, known) == [ROOT]
    assert chain_for(BEN.public, known) == []
    assert chain_for(ANN.public, {ANN.public: MEMBER}) == []
    circle = issue(ANN, MEMBER, ADMIN.public, "office", NOW_MS, may_issue=True)
    assert chain_for(ANN.public, {ANN.public: MEMBER, ADMIN.public: circle}) == []


def test_a_certificate_is_renewed_in_the_last_quarter_of_its_life() -> None:
    """Before it expires, while any admin may still be away for a while."""
    found = read(MEMBER)
    assert not needs_renewal(found, NOW_MS)
    assert not needs_renewal(found, NOW_MS + 270 * DAY_MS)
    assert needs_renewal(found, NOW_MS + 280 * DAY_MS)
    assert not is_expired(found, NOW_MS)
    assert is_expired(found, NOW_MS - 2 * 3_600_000)
    assert is_expired(found, NOW_MS + 366 * DAY_MS)


def _made(
    *extensions: tuple[x509.ExtensionType, bool],
    key: ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey | None = None,
    signer: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | None = None,
    days: int = 1,
) -> bytes:
    """A certificate that is not ours: whatever it is given."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    builder = x509.CertificateBuilder(
        name, name, key or ed25519.Ed25519PublicKey.from_public_bytes(ANN.public), 7, start, start + timedelta(days)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    if isinstance(signer, ec.EllipticCurvePrivateKey):
        return builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.DER)
    return builder.sign(signer or ed25519.Ed25519PrivateKey.from_private_bytes(ANN.seed), None).public_bytes(
        Encoding.DER
    )


_USAGE = x509.load_der_x509_certificate(MEMBER).extensions.get_extension_for_class(x509.KeyUsage).value
_SAN = x509.SubjectAlternativeName([x509.DNSName(text_id(ANN.public))])
_GOOD: list[tuple[x509.ExtensionType, bool]] = [
    (x509.BasicConstraints(False, None), True),
    (_USAGE, True),
    (_SAN, False),
    (x509.SubjectKeyIdentifier(ANN.public), False),
    (x509.AuthorityKeyIdentifier(ADMIN.public, None, None), False),
]


def _odd() -> dict[str, bytes]:
    curve = ec.generate_private_key(ec.SECP256R1())
    two = x509.SubjectAlternativeName([x509.DNSName(text_id(ANN.public)), x509.DNSName("example.org")])
    other = x509.SubjectAlternativeName([x509.DNSName(text_id(BEN.public))])
    return {
        "no extensions": _made(),
        "no name": _made(*_GOOD[:2], *_GOOD[3:]),
        "another's name": _made(*_GOOD[:2], (other, False), *_GOOD[3:]),
        "two names": _made(*_GOOD[:2], (two, False), *_GOOD[3:]),
        "another key identifier": _made(*_GOOD[:3], (x509.SubjectKeyIdentifier(BEN.public), False), _GOOD[4]),
        "no issuer": _made(*_GOOD[:4]),
        "a short issuer": _made(*_GOOD[:4], (x509.AuthorityKeyIdentifier(b"x", None, None), False)),
        "an issuer without key": _made(*_GOOD[:4], (x509.AuthorityKeyIdentifier(None, [x509.DNSName("x")], 1), False)),
        "a claim that its usage denies": _made((x509.BasicConstraints(True, 0), True), *_GOOD[1:]),
        "an unknown extension": _made(*_GOOD, (x509.OCSPNoCheck(), False)),
        "a key of another sort": _made(*_GOOD, key=curve.public_key()),
        "a signature of another sort": _made(*_GOOD, signer=curve),
        "too large": _made(*_GOOD) + bytes(CERTIFICATE_BYTES),
        "bytes behind it": MEMBER + b"\x00",
        "cut short": MEMBER[:-1],
        "nothing": b"",
    }


@pytest.mark.parametrize(("why", "data"), list(_odd().items()), ids=list(_odd()))
def test_an_odd_certificate_is_malformed(why: str, data: bytes) -> None:
    """Read as strictly as a statement: there is one sort of certificate here."""
    read(_made(*_GOOD))
    with pytest.raises(Malformed):
        read(data)


@given(st.integers(0, len(MEMBER) - 1), st.integers(1, 255))
def test_no_byte_of_a_certificate_can_be_altered(position: int, flip: int) -> None:
    """It is malformed, or its chain is forged."""
    altered = bytearray(MEMBER)
    altered[position] ^= flip
    with pytest.raises(RemoteError):
        check_chain([bytes(altered), OFFICE, ROOT], ROOTS)


@given(st.binary(max_size=300))
def test_any_bytes_are_malformed(data: bytes) -> None:
    """And nothing worse."""
    with pytest.raises(Malformed):
        read(data)
