"""Pages that people edit at once: any delivery, one text on every node, and nothing that was typed is lost."""

import itertools
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.core.ids import digest, tag_of, text_id
from mesh.core.operation import Add, Page, Set, parse
from mesh.pages import page_texts
from mesh.pages.book import PageInfo
from mesh.pages.edit_codec import DeletedRange, Id, InsertedText, Update, client_of, encode
from mesh.pages.page_erasure import erase_text
from mesh.pages.page_fields import split
from tests.pages.nodes import CLAN, MOST, Node, agree, exchange, meet, nodes, remains
from tests.worlds import Chain

EXAMPLES = 2000 if settings.get_current_profile_name() == "soak" else 12
KEYS = ("owner", "state", "tags")
SEEDS = st.integers(0, 2**32)
ODD: tuple[Any, ...] = (None, 7, True, "", [], ["x", 7], {"a": 1}, {"page": 1}, 1.5, "x" * 600, b"\xff", -3, [[1, 2]])


def word(number: int) -> str:
    """Words that have little in common: an edit of one never looks like an edit of another."""
    return "".join(chr(ord("a") + byte % 26) for byte in digest(number.to_bytes(4, "big"))[:9])


class Session:
    """Some nodes, what each of them was told, and what must be true in the end."""

    def __init__(self, rng: random.Random, everybody: Sequence[Node]) -> None:
        self.rng = rng
        self.everybody = everybody
        self.parcels: list[bytes] = []
        self.words = (word(number) for number in itertools.count(rng.randrange(10**6)))
        self.wanted: set[str] = set()
        self.deleted: set[str] = set()
        self.bases: dict[tuple[int, bytes], str] = {}  # what a person has in the editor since some time
        self.merged = self.removed = self.erased = False

    def step(self) -> None:
        rng = self.rng
        node = rng.choice(self.everybody)
        infos = node.book.pages()
        choice = rng.random()
        if not infos or choice < 0.04:
            node.editor.new(f"page{rng.randint(1, 3)}", self.first())
        elif choice < 0.6:
            self._edit(node, rng.choice(infos))
        elif choice < 0.7:
            node.editor.append(rng.choice(infos), self.new_word())
        elif choice < 0.74:
            node.editor.rename(rng.choice(infos), f"page{rng.randint(1, 5)}")
        elif choice < 0.76 and not self.merged and len(infos) > 1:
            kept, other = rng.sample(infos, 2)
            node.editor.merge(kept, other)
            self.merged = True
        elif choice < 0.78 and not self.removed and not self.merged:
            self.merged = self.removed = True
            node.editor.remove(rng.choice(infos), "no more")
        elif choice < 0.81:
            node.restart()
        elif choice < 0.84:
            node.kill_worker()
        else:
            self._deliver(node)
        self.parcels += node.collect()

    def _deliver(self, node: Node) -> None:
        some = self.rng.sample(self.parcels, self.rng.randint(0, len(self.parcels)))
        node.author.merge_ranges(some + self.rng.sample(some, len(some) // 3))
        if self.rng.random() < 0.5:
            node.joiner.join_twins()
            node.joiner.carry()

    def first(self) -> str:
        rng = self.rng
        if rng.random() < 0.3:
            return rng.choice(("", "# same\n", "---\nowner: me\n---\nthe same on all nodes\n"))
        fields = "---\nowner: me\n---\n" if rng.random() < 0.4 else ""
        return fields + "".join(f"{self.new_word()} {self.new_word()}.\n" for _ in range(rng.randint(0, 4)))

    def new_word(self) -> str:
        made = next(self.words)
        self.wanted.add(made)
        return made

    def _edit(self, node: Node, info: PageInfo) -> None:
        """Save what somebody made of the text as it is, or as it was a while ago."""
        rng = self.rng
        place = (self.everybody.index(node), info.id)
        base = self.bases.pop(place, None) if rng.random() < 0.4 else None
        base = node.book.read(info).text if base is None else base
        front, plain = split(base)
        pieces = plain.split(" ")
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(pieces) + 1)
            if rng.random() < 0.7:
                pieces.insert(at, self.new_word() + rng.choice(("", "", ",", "\n", "\U0001f600", "é")))
            elif at < len(pieces):
                gone = pieces.pop(at)
                self.deleted |= {one for one in self.wanted if one in gone}
        fields = dict(front.fields)
        if rng.random() < 0.4:
            key = rng.choice(KEYS)
            fields[key] = f"{key}: {rng.randrange(10**9)}\n"
        if fields and rng.random() < 0.1:
            del fields[rng.choice(sorted(fields))]
        top = "---\n" + "".join(fields.values()) + "---\n" if fields else ""
        saved = node.editor.save(info, base, top + " ".join(pieces))
        if rng.random() < 0.3:
            self.bases[place] = saved.text

    def check(self) -> None:
        self.rng.shuffle(self.parcels)
        for node in self.everybody:
            exchange(self.rng.choice(self.everybody), node, self.rng, 0.7)
        meet(*self.everybody)
        pages = agree(*self.everybody)
        everything = "\n".join(pages.values())
        is_carried = self.erased or any(node.book.ended() for node in self.everybody)
        for one in self.wanted - self.deleted:
            count = everything.count(one)
            # What is carried over is merged as text, by each writer for itself: two of them may keep one word twice.
            assert count == 1 or (count > 1 and is_carried) or (not count and self.removed), (one, count, pages)
        node = self.everybody[0]
        for info in node.book.pages():
            page = node.book.read(info)
            assert page.front.fields == fields_by_the_rules(node, info)
            assert not page.troubles


def fields_by_the_rules(node: Node, info: PageInfo) -> dict[str, str]:
    """Greatest (time, tag) wins, over all operations there are."""
    best: dict[str, tuple[int, bytes, Any]] = {}
    feeds = node.author.store.feeds
    for row in feeds.all():
        for op in feeds.rows(row.number, 1, row.accepted.seq):
            if op.body is None:
                continue
            tag, said = tag_of(row.feed.node, digest(op.body)), parse(op.kind, op.hlc, op.body)
            if isinstance(said, Add) and tag == info.id:
                for key, value in said.record.get("front", {}).items():
                    best.setdefault(key, (0, b"", value))
            elif isinstance(said, Set) and said.target == info.id and said.field.startswith("front."):
                key = said.field.removeprefix("front.")
                best[key] = max(best.get(key, (0, b"", None)), (said.at, tag, said.value), key=lambda item: item[:2])
    return {key: value for key, (_, _, value) in best.items() if value is not None}


@given(SEEDS)
@settings(max_examples=EXAMPLES)
def test_concurrent_edits_come_to_one_text_with_every_word_once(seed: int) -> None:
    """With workers that are killed, processes that start anew, old texts in editors, states that are kept or not."""
    rng = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch, nodes(rng.choice((2, 2, 3, 3, 4, MOST))) as everybody:
        patch.setattr(page_texts, "_KEEP_UPDATES", rng.choice((0, 2, 5, 256)))
        session = Session(rng, everybody)
        everybody[0].editor.new("page1", session.first())
        session.parcels += everybody[0].collect()
        for node in everybody:
            node.author.merge_ranges(session.parcels)
        for _ in range(rng.randint(5, 30)):
            session.step()
        session.check()


@given(SEEDS)
@settings(max_examples=EXAMPLES)
def test_an_erased_word_is_gone_and_all_that_was_typed_meanwhile_is_there(seed: int) -> None:
    """While others go on in the old text, without knowing."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, nodes(3, Path(folder), admins=[0]) as everybody:
        session = Session(rng, everybody)
        session.merged = True  # no page is merged or removed here
        one = everybody[0]
        one.editor.new("page1", f"{session.new_word()} {session.new_word()}\n{session.new_word()}.\n")
        meet(*everybody)
        for _ in range(rng.randint(0, 8)):
            session.step()
        one.editor.append(one.book.pages()[0], session.new_word())
        there = [(info, one.book.read(info).text) for info in one.book.pages()]
        choice = [(info, word) for info, text in there for word in sorted(session.wanted) if word in text]
        info, secret = rng.choice(choice)
        erase_text(one.home, one.editor, info, secret, "a secret")
        session.deleted.add(secret)
        session.erased = True
        session.parcels += one.collect()
        for _ in range(rng.randint(0, 10)):
            session.step()
        session.check()
        if remains(Path(folder), secret):  # somebody who could not know has typed it, too
            erase_text(one.home, one.editor, one.find(text_id(info.id)), secret, "a secret")
            session.check()
        for node in everybody:
            assert node.author.store.scrub()
        assert remains(Path(folder), secret) == []


class Hostile:
    """A member who writes whatever it likes to the pages of the others."""

    def __init__(self, rng: random.Random, infos: Sequence[PageInfo], real: Sequence[Page]) -> None:
        self.rng = rng
        self.identity = CLAN.node(90)
        self.chain = Chain(CLAN, self.identity, rng.randint(1, 9))
        self.infos = infos
        self.real = real
        self.mine: list[bytes] = []
        self.hexed = infos[-1]  # the page whose registers are tampered with
        self.has_joined = False

    def write(self) -> None:
        for _ in range(self.rng.randint(3, 25)):
            self.rng.choice((self._update, self._update, self._page, self._register))()

    def _update(self) -> None:
        rng = self.rng
        body = rng.choice([info.body for info in self.infos] + self.mine)
        own = client_of(self.identity.public, self.chain.feed.epoch)
        other = rng.choice((1, own + 1, client_of(CLAN.node(0).public, 7)))
        missing = Id(rng.choice((own + 1, 12345)), rng.randrange(50, 2**31))
        real = rng.choice(self.real)
        update = rng.choice(
            (
                real.update,  # somebody else's, under this name
                rng.randbytes(rng.randint(0, 60)),
                mutated(rng, real.update),
                encode(Update(other, (InsertedText(0, None, None, "not mine"),), ())),
                encode(Update(own, (InsertedText(7, None, None, "out of nowhere"),), ())),
                encode(Update(own, (InsertedText(0, missing, None, "beside nothing"),), ())),
                encode(Update(None, (), (DeletedRange(missing.client, missing.clock, 5),))),
                encode(Update(own, (InsertedText(0, None, None, "hm"),), (DeletedRange(12345, 3, 9),))),
            )
        )
        heads = [rng.randbytes(8) for _ in range(rng.randint(0, 3))]
        epoch = rng.choice((self.chain.feed.epoch, real.epoch, 0))
        self.chain.add(Page(body, epoch, heads, update))

    def _page(self) -> None:
        rng = self.rng
        record: dict[str, Any] = {
            "name": rng.choice((*ODD, "page1", "../..", "a" * 300, "x~abcde", "\x00")),
            "body": rng.choice((*ODD, text_id(rng.randbytes(32)), text_id(self.infos[0].body))),
            "first": rng.choice((*ODD, 0, 1, -1, 2**60)),
            "front": rng.choice((*ODD, {"a": "b"}, {"a": "a: 1\n---\n"}, {"a": "a: 1\n", "b": 7})),
        }
        record = {key: value for key, value in record.items() if rng.random() < 0.8}
        self.mine.append(self.chain.add(Add(self.chain.next_hlc(), "pages", record)))

    def _register(self) -> None:
        rng = self.rng
        target = rng.choice([*self.mine, self.hexed.id])
        ids = [text_id(info.id) for info in self.infos] + [text_id(tag) for tag in self.mine] + ["7", 7]
        value = rng.choice(
            (
                *ODD,
                {"page": rng.choice(ids), "seen": rng.choice(ODD), "body": rng.choice(ids), "front": rng.choice(ODD)},
                {
                    "body": rng.choice(ids),
                    "from": rng.choice((*ODD, [[rng.choice(ids), 7, [[1, 2]]], ["x"], [1, 2, 3]])),
                },
                {"body": rng.choice(ids), "from": [[rng.choice(ids), rng.choice(ODD), rng.choice(ODD)]], "first": 3},
            )
        )
        field = rng.choice(("name", "body", "into", "front", "front.a", "front.", "settled", "other"))
        self.has_joined |= target == self.hexed.id and field in ("into", "body")
        self.chain.add(Set(self.chain.next_hlc(), target, field, value))


def mutated(rng: random.Random, update: bytes) -> bytes:
    data = bytearray(update)
    for _ in range(rng.randint(1, 3)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


@given(SEEDS)
@settings(max_examples=EXAMPLES)
def test_hostile_operations_change_no_honest_page_and_break_nothing(seed: int) -> None:
    rng = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch, nodes(2) as (one, two):
        patch.setattr(page_texts, "_KEEP_UPDATES", rng.choice((0, 3, 256)))
        for name in ("page1", "page2", "page3"):
            one.editor.new(name, f"---\nof: {name}\n---\nthe text of {name}, see [[page1]]\n")
        meet(one, two)
        two.editor.append(two.find("page1"), "written by two")
        meet(one, two)
        honest = {info.id: one.book.read(info).text for info in one.book.pages()}
        infos = one.book.pages()
        ops = [op for info in infos for op in one.book.shelf.rows(info.body)]
        hostile = Hostile(rng, infos, [op.page for op in ops])
        hostile.write()
        for node in (one, two):
            node.author.merge_statements([CLAN.member(hostile.identity, "hostile").encode()])
            at = 1
            while at <= len(hostile.chain.links):
                last = rng.randint(at, len(hostile.chain.links))
                node.author.merge_ranges([hostile.chain.encoded(at, last)])
                at = last + 1
                if rng.random() < 0.4:
                    node.look_at_everything()
        meet(one, two)
        agree(one, two)
        for node in (one, two):
            node.look_at_everything()
            now = {info.id: node.book.read(info).text for info in node.book.pages()}
            for tag in honest.keys() - {hostile.hexed.id}:
                if hostile.has_joined:  # any member may join pages: then what the one said is carried into the other
                    assert set(honest[tag].splitlines()) <= set(now[tag].splitlines())
                else:
                    assert now[tag] == honest[tag]
        two.editor.append(two.find(text_id(infos[0].id)), "and it goes on")
        meet(one, two)
        assert "and it goes on" in one.book.read(infos[0]).text
        agree(one, two)
