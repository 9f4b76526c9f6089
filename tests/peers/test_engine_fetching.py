"""Pulling what is lacking: shared among neighbours, resumed elsewhere when one fails, and not fooled by who lies."""

from itertools import pairwise

from mesh.core.feed import encode_range
from mesh.core.ids import Feed
from mesh.core.operation import Add
from mesh.core.version_vector import Head
from peers.proto.engine_events import LinkDown, MergeDone, MergeThis
from peers.proto.gossip_config import ANSWER_BYTES, HAVE_ENTRIES, Config
from peers.proto.messages import FEEDS, Busy, Ending, FeedEntry, Have, Pull, Push, Ranges, pack_ranges
from peers.proto.neighbour import CLAIMED_MOST
from peers.proto.replica import Changes, Merge, MergeVerdict
from tests.peers.engines import CLAN, MEMBERS, Desk, Library, chain_of, node
from tests.worlds import Chain

CONFIG = Config()
PULLS = 1000  # more than any test here needs


def desk_with(*links: int) -> Desk:
    desk = Desk()
    for link in links:
        desk.link(link, link)
    desk.forget()
    return desk


def serve(desk: Desk, libraries: dict[int, Library]) -> dict[int, list[Pull]]:
    """Answer every pull, neighbour by neighbour, until none is open; returns who was asked what."""
    seen: dict[int, list[Pull]] = {link: [] for link in libraries}
    for _ in range(PULLS):
        waiting = [(link, desk.sent(link, Pull)[len(pulls) :]) for link, pulls in seen.items()]
        if not any(pulls for _, pulls in waiting):
            return seen
        for link, pulls in waiting:
            seen[link] += pulls
            for pull in pulls:
                desk.receive(link, libraries[link].answer(pull))
    raise AssertionError("pulls without end")


def only_pull(desk: Desk, link: int) -> Pull:
    (pull,) = desk.sent(link, Pull)
    return pull


def wait_for_pull(desk: Desk, link: int) -> None:
    """Wait until a neighbour is asked for something; those who are open to questions are asked in any order."""
    for _ in range(200):
        if desk.sent(link, Pull):
            return
        desk.wait(0.5)
    raise AssertionError("it was never asked")


def test_many_feeds_are_asked_of_several_neighbours_at_once() -> None:
    """Each is asked for other feeds, none is asked for twice, and in the end everything is here."""
    library = Library(*(chain_of(index, 2, epoch) for index in range(1, 39) for epoch in (1, 2)))
    desk = desk_with(1, 2, 3)
    for link in (1, 2, 3):
        desk.receive(link, library.have())
    assert all(desk.sent(link, Pull) for link in (1, 2, 3)), "all three are busy with something"
    asked = serve(desk, dict.fromkeys((1, 2, 3), library))
    feeds = [feed for pulls in asked.values() for pull in pulls for feed, _ in pull.wants]
    assert len(feeds) == len(set(feeds)) == 76
    assert desk.engine.root == library.notebook.root()
    assert desk.engine.fetching == 0
    assert desk.noticed("fault") == 0


def test_a_long_feed_is_pulled_on_from_where_an_answer_ended() -> None:
    """In answers that grow, one after the other."""
    chain = chain_of(5, 8000)
    library = Library()
    for first in range(1, 8001, 100):
        library.notebook.merge((), [chain.encoded(first, first + 99)])
    library.chains.append(chain)
    desk = desk_with(1)
    desk.receive(1, library.have())
    pulls = serve(desk, {1: library})[1]
    starts = [head.seq for pull in pulls for _, head in pull.wants]
    assert starts == sorted(set(starts))
    assert starts[0] == 0
    assert [pull.room for pull in pulls] == sorted(pull.room for pull in pulls)
    assert pulls[0].room < pulls[-1].room <= ANSWER_BYTES
    assert desk.engine.root == library.notebook.root()


def test_who_does_not_answer_is_given_up_and_another_is_asked() -> None:
    """And a late answer is welcome all the same."""
    chain = chain_of(5, 3)
    library = Library(chain)
    desk = desk_with(1, 2)
    desk.receive(1, library.have())
    desk.receive(2, library.have())
    first = only_pull(desk, 1)
    assert not desk.sent(2, Pull)
    wait_for_pull(desk, 2)
    assert desk.noticed("unanswered") >= 1
    second = only_pull(desk, 2)
    assert second.wants == first.wants
    desk.receive(1, library.answer(first))
    assert desk.verdicts == [MergeVerdict.NEW]
    desk.receive(2, library.answer(second))
    assert desk.verdicts == [MergeVerdict.NEW, MergeVerdict.KNOWN]
    assert desk.noticed("fault") == 0
    assert desk.engine.root == library.notebook.root()


def test_the_same_answer_twice_is_a_fault() -> None:
    """Nobody asked for the second one; it is not even unpacked."""
    library = Library(chain_of(5, 3))
    desk = desk_with(1)
    desk.receive(1, library.have())
    answer = library.answer(only_pull(desk, 1))
    desk.receive(1, answer, answer)
    assert desk.verdicts == [MergeVerdict.NEW]
    assert desk.noticed("fault") == 1


def test_patience_grows_with_every_miss_and_the_room_shrinks() -> None:
    """A slow neighbour is asked for less, and given longer."""
    library = Library(chain_of(5, 3))
    desk = desk_with(1)
    times: list[float] = []
    for _ in range(5):
        desk.receive(1, library.have())
        before = len(desk.sent(1, Pull))
        for _ in range(200):
            desk.wait(0.5)
            desk.receive(1, library.have())
            if len(desk.sent(1, Pull)) > before:
                break
        times.append(desk.now)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps == sorted(gaps)
    rooms = [pull.room for pull in desk.sent(1, Pull)]
    assert rooms == sorted(rooms, reverse=True)
    assert rooms[-1] == 65_536


def test_an_ending_that_lies_is_believed_a_few_times_at_most() -> None:
    """It claims to have sent up to a thousand, and sends nothing: the want is forgotten, and nothing has changed."""
    chain = chain_of(5, 3)
    desk = desk_with(1)
    root = desk.engine.root
    far = Head(1000, bytes(32))
    desk.receive(1, Have(FEEDS, b"", answer=False, entries=[FeedEntry(chain.feed, far, far)]))
    for number in range(PULLS):
        pulls = desk.sent(1, Pull)
        if number == len(pulls):
            break
        desk.receive(1, Ranges(pulls[number].pull, [Ending(chain.feed, far, False, [])], b""))
    assert len(desk.sent(1, Pull)) <= 4
    assert desk.engine.fetching == 0
    assert desk.engine.root == root


def test_an_ending_that_claims_more_than_its_blob_holds_does_not_hide_the_rest() -> None:
    """What an answer says about itself only steers the next question: in the end another neighbour brings it."""
    chain = chain_of(5, 6)
    library = Library(chain)
    desk = desk_with(1)
    desk.receive(1, library.have())
    part = Library(chain_of(5, 2)).answer(only_pull(desk, 1))
    lie = part._replace(endings=[Ending(chain.feed, Head(6, chain.head), False, [])])
    desk.receive(1, lie)
    desk.link(2, 2)
    desk.receive(2, library.have())
    wait_for_pull(desk, 2)
    desk.receive(2, library.answer(only_pull(desk, 2)))
    assert desk.engine.root == library.notebook.root()


def test_endings_of_feeds_that_were_not_asked_for_mean_nothing() -> None:
    """Neither do they begin a want, nor end one."""
    desk = desk_with(1)
    library = Library(chain_of(5, 3))
    desk.receive(1, library.have())
    other = Ending(chain_of(6, 1).feed, Head(50, bytes(32)), True, [])
    answer = library.answer(only_pull(desk, 1))
    desk.receive(1, answer._replace(endings=[other, *answer.endings]))
    assert desk.engine.fetching == 0
    assert desk.engine.root == library.notebook.root()


def test_who_is_busy_is_left_alone_for_as_long_as_it_says() -> None:
    """Then asked again; meanwhile another could be asked."""
    library = Library(chain_of(5, 3))
    desk = desk_with(1)
    desk.receive(1, library.have())
    desk.receive(1, Busy(5000, only_pull(desk, 1).pull))
    desk.wait(4.9)
    assert len(desk.sent(1, Pull)) == 1
    desk.wait(1.5)  # the next beat
    assert len(desk.sent(1, Pull)) == 2
    desk.receive(1, Busy(60_000, desk.sent(1, Pull)[-1].pull))
    desk.link(2, 2)
    desk.receive(2, library.have())
    assert only_pull(desk, 2).wants == desk.sent(1, Pull)[0].wants


def test_a_link_that_is_lost_frees_what_it_was_asked_for() -> None:
    """Another neighbour is asked at once; without one the want is forgotten."""
    library = Library(chain_of(5, 3))
    desk = desk_with(1, 2)
    desk.receive(1, library.have())
    desk.receive(2, library.have())
    wants = only_pull(desk, 1).wants
    desk.handle(LinkDown(1, "reset"))
    assert only_pull(desk, 2).wants == wants
    desk.handle(LinkDown(2, "reset"))
    assert desk.engine.fetching == 0


def test_refused_ranges_are_fetched_from_someone_else() -> None:
    """Who sent them gets a fault."""
    chain = chain_of(5, 3)
    library = Library(chain)
    desk = desk_with(1, 2)
    desk.receive(1, library.have())
    desk.receive(2, library.have())
    forged = Chain(CLAN, CLAN.node(6), chain.feed.epoch)
    forged.feed, forged.links, forged.hashes = chain.feed, chain.links, chain.hashes
    answer = library.answer(only_pull(desk, 1))
    desk.receive(1, answer._replace(blob=pack_ranges([forged.encoded()])))
    assert desk.verdicts == [MergeVerdict.REFUSED]
    assert desk.noticed("fault") == 1
    desk.receive(2, library.answer(only_pull(desk, 2)))
    assert desk.engine.root == library.notebook.root()


def test_a_push_beyond_a_gap_pulls_what_lies_before() -> None:
    """From who pushed it, from where we are."""
    chain = chain_of(5, 9)
    library = Library(chain)
    desk = desk_with(1)
    desk.receive(1, Push([chain.encoded(1, 3)]))
    desk.receive(1, Push([chain.encoded(7, 9)]))
    assert only_pull(desk, 1).wants == [(chain.feed, Head(3, chain.hash_at(3)))]
    desk.receive(1, library.answer(only_pull(desk, 1)))
    assert desk.engine.root == library.notebook.root()


def test_another_branch_is_fetched_from_where_both_agree() -> None:
    """The neighbour has another history of a feed: it is pulled from the common point, and the fork is proved."""
    ours = chain_of(5, 4)
    theirs = ours.fork(2)
    for number in range(4):
        theirs.add(Add(theirs.next_hlc(), "facts", {"text": f"another story {number}"}))
    library = Library(theirs)
    desk = desk_with(1)
    desk.hold(ours)
    desk.receive(1, library.have())
    pulls = serve(desk, {1: library})[1]
    assert pulls
    assert MergeVerdict.FORKED in desk.verdicts
    held = desk.notebook.chain(ours.feed)
    assert held is not None
    assert held.accepted == 2
    assert desk.engine.fetching == 0


def test_a_neighbour_cannot_make_us_remember_feeds_without_end() -> None:
    """Claims beyond a bound are passed over; nobody is blamed for feeds that others may have made."""
    desk = desk_with(1)
    epoch = 0
    for _ in range(40):
        made_up = [Feed(node(5), epoch + number) for number in range(1, HAVE_ENTRIES + 1)]
        epoch += HAVE_ENTRIES
        entries = [FeedEntry(feed, Head(9, bytes(32)), Head(9, bytes(32))) for feed in made_up]
        desk.receive(1, Have(FEEDS, b"", answer=False, entries=entries))
    assert desk.noticed("shunned") == 0
    assert not desk.closed(1)
    assert desk.engine.fetching <= CLAIMED_MOST


def test_a_claimed_end_without_ranges_blocks_no_feed() -> None:
    """Whoever claims to have sent what it has not is not believed, and an honest neighbour is asked instead."""
    library = Library(chain_of(5, 20))
    desk = desk_with(1, 2)
    far = Head(2**40, bytes([2]) * 32)
    desk.receive(1, Have(FEEDS, b"", answer=False, entries=[FeedEntry(chain_of(5, 20).feed, far, far)]))
    claim = Ending(chain_of(5, 20).feed, Head(2**39, bytes([1]) * 32), more=True, points=[])
    desk.receive(1, Ranges(only_pull(desk, 1).pull, [claim], b""))
    desk.receive(2, library.have())
    serve(desk, {2: library})
    assert desk.engine.root == library_root(desk, library)


def test_an_unanswered_question_about_a_branch_is_in_nobodys_way() -> None:
    """A neighbour claims another history and falls silent; the feed is fetched from an honest one all the same."""
    short, full = chain_of(5, 3), chain_of(5, 20)
    desk = Desk()
    desk.hold(short)
    desk.link(1, 1)
    desk.link(2, 2)
    other = Head(3, bytes([7]) * 32)
    desk.receive(1, Have(FEEDS, b"", answer=False, entries=[FeedEntry(short.feed, other, other)]))
    desk.forget()
    library = Library(full)
    desk.receive(2, library.have())
    serve(desk, {2: library})
    assert desk.engine.root == library_root(desk, library)


def test_an_empty_answer_that_promises_more_is_not_asked_for_again() -> None:
    """A neighbour that says there is more and sends nothing has nothing."""
    chain = chain_of(5, 3)
    desk = desk_with(1)
    head = Head(9, bytes([1]) * 32)
    desk.receive(1, Have(FEEDS, b"", answer=False, entries=[FeedEntry(chain.feed, head, head)]))
    pull = only_pull(desk, 1)
    desk.receive(1, Ranges(pull.pull, [Ending(chain.feed, pull.wants[0][1], more=True, points=[])], b""))
    assert len(desk.sent(1, Pull)) == 1


def library_root(desk: Desk, library: Library) -> bytes:
    """The root that a node has once it holds all of a library."""
    other = Desk()
    other.hold(*library.chains)
    return other.engine.root


def judged(desk: Desk, verdicts: list[MergeVerdict], full: set[Feed]) -> None:
    """The notebook has judged what it was asked about."""
    (question,) = desk.questions
    assert isinstance(question, MergeThis)
    desk.questions.clear()
    desk.handle(MergeDone(question.job, Merge((), verdicts, Changes(), (), full)))


def test_a_feed_that_another_pushed_out_is_no_fault_of_who_gave_it() -> None:
    """It was there, and is one too many of its author's by now. It is not asked for again for a minute."""
    desk, library = desk_with(1), Library(chain_of(5, 1))
    desk.answers = False
    desk.receive(1, library.have())
    desk.receive(1, library.answer(only_pull(desk, 1)))
    judged(desk, [MergeVerdict.KNOWN], {chain_of(5, 1).feed})
    assert desk.noticed("fault") == 0
    assert desk.engine.fetching == 0
    desk.receive(1, library.have())
    assert len(desk.sent(1, Pull)) == 1
    desk.wait(61.0)
    desk.link(2, 2)
    desk.receive(2, library.have())
    assert len(desk.sent(2, Pull)) == 1


def test_who_brings_too_much_of_one_feed_keeps_no_other_away() -> None:
    """It claims a feed of somebody else, and gives only of its own, for which there is no room: the other is asked of others."""
    mine, other = chain_of(1, 3), chain_of(5, 3)
    desk, liar, honest = desk_with(1, 2), Library(mine, other), Library(other)
    desk.answers = False
    desk.receive(1, liar.have())
    pull = only_pull(desk, 1)
    answer = liar.answer(pull)
    desk.receive(1, Ranges(pull.pull, answer.endings, pack_ranges([mine.encoded()])))
    judged(desk, [MergeVerdict.FULL], {mine.feed})
    desk.receive(2, honest.have())
    assert [feed for feed, _ in only_pull(desk, 2).wants] == [other.feed]


def test_feeds_without_room_that_a_neighbour_passes_on_leave_room_for_its_claims() -> None:
    """More than may be claimed on one link come by pushes, and none is kept: it is still asked for what it announces."""
    desk, library = desk_with(1), Library(chain_of(5, 2))
    desk.answers = False
    pushed = chain_of(6, 1)
    for epoch in range(CLAIMED_MOST + MEMBERS):
        feed = Feed(pushed.feed.node, 100 + epoch)
        data = encode_range(pushed.range()._replace(feed=feed))  # nobody verifies it here
        desk.receive(1, Push([data]))
        judged(desk, [MergeVerdict.FULL], {feed})
    desk.receive(1, library.have())
    assert [feed for feed, _ in only_pull(desk, 1).wants] == [chain_of(5, 2).feed]
