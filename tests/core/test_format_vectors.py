"""The test vectors of `docs/FORMAT.md`, so that the document and the code cannot drift apart.

The first test computes every vector with `mesh.core`. The second computes some of them from the words of the
document alone: blake2b and bytes written out by hand, nothing of ours.
"""

from hashlib import blake2b
from pathlib import Path

import pytest

from mesh.core import clock
from mesh.core.feed import ENVELOPE_WEIGHT, Link, Range, decode_range, encode_range, range_weight, sign_range, weight
from mesh.core.identity import Identity, point_message, statement_message
from mesh.core.ids import Feed, digest, first_prev, mesh_id, private_mesh_id, tag_of, text_id
from mesh.core.limits import (
    FUTURE_SECONDS,
    HEADS_PER_REVOKE,
    LOG_CHARS,
    OPERATION_BYTES,
    RANGE_BYTES,
    RANGE_OPERATIONS,
    SALT_BYTES,
    STATEMENT_BYTES,
    STATEMENTS_PER_REVOKE,
    TAGS_PER_BODY,
    TEXT_CHARS,
    VALUE_DEPTH,
)
from mesh.core.operation import Add, Count, Remove, Set, encode, kind_of
from mesh.core.statement import ADMIN, Erase, Member, Quota, Recover, Revoke, decode_statement, fork_between, sign
from mesh.core.version_vector import Head, Vector, bucket_of, statements_digest
from mesh.store.bundles import HEADER, MAGIC, RANGE, STATEMENT, Header, encode_header, frame

DOCUMENT = Path(__file__).parents[2] / "docs" / "FORMAT.md"
EPOCH = 0x0123456789ABCDEF
STAMP = clock.pack(1_790_000_000_000)


def documented() -> dict[str, str]:
    """Every `name = value` line of the blocks marked `vectors`."""
    found: dict[str, str] = {}
    inside = False
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = line == "```vectors"
        elif inside and " = " in line:
            name, value = line.split(" = ", 1)
            assert name.strip() not in found, f"{name} is documented twice"
            found[name.strip()] = value.strip()
    return found


def link(stamp: int, body: Add | Remove | Set | Count, salt: bytes) -> Link:
    raw = encode(body, salt)
    return Link(stamp, kind_of(body), raw, digest(raw))


def computed() -> dict[str, str]:
    """The same names, with what the code makes of the same seeds."""
    root, recovery, node = (Identity(bytes([number]) * 32) for number in (1, 2, 3))
    mesh = mesh_id(root.public, recovery.public)
    feed = Feed(node.public, EPOCH)
    start = first_prev(mesh, feed)
    add = link(STAMP, Add(STAMP, "discoveries", {"text": "hello"}), bytes(range(16)))
    tag = tag_of(node.public, add.body_hash)
    one = sign_range(mesh, node, feed, 1, start, [add])
    field = link(STAMP + 1, Set(STAMP + 1, tag, "severity", "high"), bytes(range(16, 32)))
    count = link(STAMP + 2, Count("opened", 3), bytes(range(32, 48)))
    remove = link(STAMP + 3, Remove([tag], "no longer true"), bytes(range(48, 64)))
    lost = Count("opened", 3, sign_range(mesh, node, feed, 1, start, [add, field, count]).head)
    member = sign(mesh, root, Member(root.public, 1_790_000_000_000, node.public, "laptop", ADMIN))
    erase = sign(mesh, node, Erase(node.public, 1_790_000_000_001, (tag,), "a password got in"))
    revoke = sign(
        mesh, root, Revoke(root.public, 1_790_000_000_002, node.public, ((EPOCH, 1, one.head),), (erase.id,), "lost")
    )
    recover = sign(
        mesh, recovery, Recover(recovery.public, 1_790_000_000_003, node.public, (member.id,), "root key stolen")
    )
    quota = sign(mesh, root, Quota(root.public, 1_790_000_000_004, node.public, 134_217_728))
    ours = sign_range(mesh, node, feed, 2, one.head, [field])
    fork = fork_between(ours, sign_range(mesh, node, feed, 2, one.head, [count]), 2)
    for statement in (member, erase, revoke, recover, fork):
        assert decode_statement(mesh, statement.encode()) == statement
    assert decode_range(mesh, encode_range(one)) == one
    erased = Range(feed, 1, start, [add._replace(body=None)], one.hashes, one.signature)
    vector = Vector([(feed, Head(1, one.head))])
    header = Header(mesh, root.public, recovery.public, False)
    bundle = (
        MAGIC
        + frame(HEADER, encode_header(header))
        + frame(STATEMENT, member.encode())
        + frame(RANGE, encode_range(one))
    )
    values: dict[str, bytes | int | str] = {
        "root public key": root.public,
        "recovery public key": recovery.public,
        "node public key": node.public,
        "mesh id": mesh,
        "mesh id as text": text_id(mesh),
        "private mesh id": private_mesh_id(mesh),
        "feed id": feed.encode(),
        "feed as text": str(feed),
        "first prev": start,
        "add body": add.body or b"",
        "add body hash": add.body_hash,
        "add tag": tag,
        "add tag as text": text_id(tag),
        "add operation hash": one.head,
        "point message": point_message(mesh, feed, 1, one.head),
        "point signature": one.signature,
        "range": encode_range(one),
        "range after the body was erased": encode_range(erased),
        "range weight number": range_weight(one.links),
        "range weight number after the body was erased": range_weight(erased.links),
        "set body": field.body or b"",
        "count body": count.body or b"",
        "count slot": feed.encode(),
        "remove body": remove.body or b"",
        "hash after the set": ours.head,
        "re-published count body": encode(lost, (lost.origin or b"")[:SALT_BYTES]),
        "re-published count slot": node.public + (lost.origin or b""),
        "member payload": member.payload,
        "member message": statement_message(mesh, member.payload),
        "member id": member.id,
        "member signature": member.signature,
        "member statement": member.encode(),
        "erase payload": erase.payload,
        "erase id": erase.id,
        "erase signature": erase.signature,
        "revoke payload": revoke.payload,
        "revoke id": revoke.id,
        "revoke signature": revoke.signature,
        "recover payload": recover.payload,
        "recover id": recover.id,
        "recover signature": recover.signature,
        "quota payload": quota.payload,
        "quota id": quota.id,
        "quota signature": quota.signature,
        "fork payload": fork.payload,
        "fork id": fork.id,
        "bucket number": bucket_of(feed),
        "empty bucket digest": Vector().bucket_digest(0),
        "bucket digest": vector.bucket_digest(bucket_of(feed)),
        "statements digest": statements_digest([member.id]),
        "root of nothing": Vector().root([]),
        "root": vector.root([member.id]),
        "bundle header frame": frame(HEADER, encode_header(header)),
        "bundle end digest": digest(bundle),
    }
    return {name: value.hex() if isinstance(value, bytes) else str(value) for name, value in values.items()}


def named(purpose: bytes, data: bytes) -> bytes:
    return blake2b(data, digest_size=32, person=purpose).digest()


def test_the_code_still_makes_every_documented_vector() -> None:
    """A change of any byte shows as a vector that differs from the document."""
    assert documented() == computed()


def test_vectors_follow_from_the_words_of_the_document_alone() -> None:
    """Somebody with blake2b and this document gets the same ids, hashes, tags and roots."""
    given = documented()
    value = {
        name: bytes.fromhex(text) for name, text in given.items() if " as text" not in name and "number" not in name
    }
    mesh = named(b"clan-mesh mesh 1", value["root public key"] + value["recovery public key"])
    assert mesh == value["mesh id"]
    assert named(b"clan-mesh priv 1", mesh) == value["private mesh id"]
    feed = value["node public key"] + bytes.fromhex("0123456789abcdef")
    assert feed == value["feed id"]
    assert named(b"clan-mesh feed 1", mesh + feed) == value["first prev"]
    stamp = (1_790_000_000_000 << 16).to_bytes(8, "big")
    body = bytes(range(16)) + b"\x93" + b"\xcf" + stamp + b"\xabdiscoveries" + b"\x81\xa4text\xa5hello"
    assert body == value["add body"]
    body_hash = blake2b(body, digest_size=32).digest()
    assert body_hash == value["add body hash"]
    assert named(b"clan-mesh tag 1", value["node public key"] + body_hash) == value["add tag"]
    after = blake2b(value["first prev"] + stamp + b"\x01" + body_hash, digest_size=32).digest()
    assert after == value["add operation hash"]
    seq = (1).to_bytes(8, "big")
    assert value["point message"] == b"clan-mesh point 1" + mesh + feed + seq + after
    encoded = b"\x95\xc4\x28" + feed + b"\x01\xc4\x20" + value["first prev"] + b"\xc4\x40" + value["point signature"]
    assert value["range"] == encoded + b"\x93\xcf" + stamp + b"\x01\xc4" + bytes([len(body)]) + body
    assert value["range after the body was erased"] == encoded + b"\x93\xcf" + stamp + b"\x01\x91\xc4\x20" + body_hash
    assert int(given["range weight number"]) == 200 + 20 + len(body)
    assert int(given["range weight number after the body was erased"]) == 200 + 20 + 32
    assert value["member message"] == b"clan-mesh statement 1" + mesh + value["member payload"]
    assert value["member id"] == named(b"clan-mesh stmt 1", value["member payload"])
    empty = named(b"clan-mesh bucket", b"")
    full = named(b"clan-mesh bucket", feed + seq + after)
    number = int(given["bucket number"])
    assert number == feed[0] ^ feed[32]
    buckets = b"".join(full if index == number else empty for index in range(256))
    statements = named(b"clan-mesh stmts1", value["member id"])
    assert named(b"clan-mesh root 1", buckets + statements) == value["root"]
    frames = value["bundle header frame"]
    for kind, payload in ((b"S", value["member statement"]), (b"R", value["range"])):
        frames += len(payload).to_bytes(4, "big") + kind + payload
    assert blake2b(b"clan-mesh bundle 1\n" + frames, digest_size=32).digest() == value["bundle end digest"]


def test_documented_signatures_hold() -> None:
    """The signatures in the document verify under the documented keys, by libsodium and not by our wrapper."""
    from nacl.signing import VerifyKey

    value = {name: text for name, text in documented().items() if not name.endswith("as text")}
    mesh = bytes.fromhex(value["mesh id"])
    for key, message, signature in (
        ("node", bytes.fromhex(value["point message"]), "point signature"),
        ("root", bytes.fromhex(value["member message"]), "member signature"),
        ("node", b"clan-mesh statement 1" + mesh + bytes.fromhex(value["erase payload"]), "erase signature"),
        ("root", b"clan-mesh statement 1" + mesh + bytes.fromhex(value["revoke payload"]), "revoke signature"),
        ("recovery", b"clan-mesh statement 1" + mesh + bytes.fromhex(value["recover payload"]), "recover signature"),
    ):
        VerifyKey(bytes.fromhex(value[f"{key} public key"])).verify(message, bytes.fromhex(value[signature]))


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("salt", SALT_BYTES),
        ("body, salt included", OPERATION_BYTES),
        ("encoded range", RANGE_BYTES),
        ("weight of a range", RANGE_BYTES),
        ("weight of a range beside its operations", ENVELOPE_WEIGHT),
        ("operations in a range", RANGE_OPERATIONS),
        ("encoded statement", STATEMENT_BYTES),
        ("log name", LOG_CHARS),
        ("short text", TEXT_CHARS),
        ("tags in a remove or an erase", TAGS_PER_BODY),
        ("heads in a revoke", HEADS_PER_REVOKE),
        ("statements in a revoke or a recover", STATEMENTS_PER_REVOKE),
        ("nesting of a value", VALUE_DEPTH),
        ("ahead of the clock", FUTURE_SECONDS),
    ],
)
def test_the_table_of_limits_has_the_numbers_of_the_code(name: str, limit: int) -> None:
    """Each frozen limit is in the document with the number that the code uses."""
    rows = [line.strip("|").split("|") for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    numbers = [cells[1].split()[0].replace(",", "") for cells in rows if cells[0].strip() == name]
    assert numbers == [str(limit)]


@pytest.mark.parametrize(("body", "number"), [(bytes(16), 52), (bytes(32), 52), (bytes(33), 53), (None, 52)])
def test_an_operation_weighs_what_the_document_says(body: bytes | None, number: int) -> None:
    """Twenty and the greater of a hash and the body, so that an erase never makes a range heavier."""
    assert weight(body) == number
