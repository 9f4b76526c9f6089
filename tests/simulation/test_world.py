"""One fault at a time, on a small world, in plain words; and proof that the checks can fail."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from random import Random

import pytest

from mesh.core.limits import FEEDS, QUOTA_BYTES, THROW_AWAY_BYTES
from mesh.core.statement import ADMIN
from peers.proto.engine_events import Effect, Event, MergeThis, Tick
from peers.proto.gossip_config import FRAME_BYTES, Config
from peers.proto.replica import Changes
from peers.simulate.hostile_member import Hostile
from peers.simulate.invariants import InvariantBroken
from peers.simulate.run import find_peace, simulate
from peers.simulate.scenario import Scenario, chaos
from peers.simulate.simulated_node import SimNode
from peers.simulate.world import World
from peers.transport.network_conditions import Conditions

DAY = 86_400.0
LINKS = Conditions((0.005, 0.05))
# For an hour of virtual time: what is compared every few seconds otherwise, is compared every few minutes here.
SLOW = Config(
    ping_seconds=300.0, behind_seconds=60.0, settled_seconds=900.0, renew_seconds=36_000.0, stray_seconds=7200.0
)


def world_of(nodes: int, seed: int = 1, config: Config | None = None, conditions: Conditions = LINKS) -> World:
    world = World(seed, nodes, conditions=conditions, config=config)
    world.start_connected()
    world.run(5.0)
    return world


def is_everywhere(world: World, tags: Sequence[bytes]) -> bool:
    return all(set(tags) <= node.notebook.live_tags() for node in world.honest())


def everyone_sleeps(world: World, seconds: float) -> None:
    """Laptops are closed: days of virtual time in which hardly anything has to be computed."""
    awake = [node for node in world.nodes if node.is_up]
    for node in awake:
        node.sleep()
    world.run(seconds)
    for node in awake:
        node.wake()


# The beginning


def test_a_write_reaches_every_node_within_a_second() -> None:
    """Fifty nodes, links of 5 to 50 ms."""
    world = world_of(50)
    tags = world.write(world.nodes[0])
    world.run(1.0)
    assert is_everywhere(world, tags)
    find_peace(world)


def test_a_newcomer_that_knows_one_member_gets_everything() -> None:
    """Statements, contacts and records, through whoever it meets."""
    world = world_of(10)
    tags = [tag for node in world.nodes for tag in world.write(node, records=20)]
    newcomer = world.add_node()
    world.join(newcomer, world.nodes[3])
    world.run(20.0)
    assert newcomer.notebook.live_tags() == set(tags)
    assert len(newcomer.ends) >= world.config.neighbours
    assert is_everywhere(world, world.write(newcomer)) is False
    find_peace(world, 10.0)


def test_a_large_write_is_announced_and_fetched() -> None:
    """Bulk is pulled, so that hardly any byte comes twice."""
    report = simulate(Scenario(nodes=40, writes=1, write_bytes=60_000, warm_seconds=5.0))
    assert report.payload_per_copy is not None
    assert report.payload_per_copy < 1.3
    assert report.received["ranges"] > 0


def test_a_node_behind_nat_that_only_dials_out_is_part_of_the_mesh() -> None:
    """Its links carry both ways."""
    world = World(1, 12, conditions=LINKS)
    hidden = world.nodes[4]
    hidden.listens = False
    world.start_connected()
    world.run(5.0)
    assert all(end.dialed for end in hidden.ends.values())
    out, back = world.write(hidden), world.write(world.nodes[0])
    world.run(2.0)
    assert is_everywhere(world, [*out, *back])


# The network fails


def test_two_halves_agree_once_the_partition_heals() -> None:
    """Both wrote meanwhile; neither knew of the other."""
    world = world_of(20)
    left, right = world.nodes[:10], world.nodes[10:]
    world.partition(left, right)
    tags = [*world.write(left[0]), *world.write(right[0])]
    world.run(60.0)
    assert not world.agreed()
    world.heal()
    find_peace(world, 90.0)
    assert is_everywhere(world, tags)


def test_two_halves_that_were_apart_for_days_agree() -> None:
    """Long enough that all have given up on each other."""
    world = world_of(8)
    left, right = world.nodes[:4], world.nodes[4:]
    world.partition(left, right)
    tags = []
    for _ in range(3):
        tags += [*world.write(left[0]), *world.write(right[0])]
        world.run(120.0)
        everyone_sleeps(world, DAY)
    world.heal()
    find_peace(world, 120.0)
    assert is_everywhere(world, tags)


def test_what_gets_only_one_way_still_gets_there() -> None:
    """Everything from one node to one neighbour vanishes, the way back works."""
    world = world_of(6)
    deaf = world.nodes[0]
    for other in world.nodes[1:-1]:
        world.wire.block(deaf.index, other.index)
    tags = world.write(deaf)
    find_peace(world, 120.0)
    assert is_everywhere(world, tags)


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions((0.005, 0.05), loss=0.3),
        Conditions((0.005, 0.05), duplicate=0.5),
        Conditions((0.005, 0.05), reorder=0.5, jitter_seconds=0.1),
        Conditions((0.005, 0.05), bandwidth_bytes_per_second=20_000.0),
    ],
    ids=["loss", "duplicates", "disorder", "narrow"],
)
def test_bad_lanes_delay_but_lose_nothing(conditions: Conditions) -> None:
    """Each kind alone, and it never gets better."""
    world = world_of(15, conditions=conditions)
    for node in world.nodes[:5]:
        world.write(node)
        world.write(node, "x" * 5000)
    find_peace(world, 60.0)


# Machines fail


def test_a_node_that_crashed_has_everything_soon_after_it_is_back() -> None:
    """Its notebook and its cards were on disk; its links were not."""
    world = world_of(12)
    node = world.nodes[5]
    own = world.write(node)
    node.stop(silently=True)
    world.run(30.0)
    others = world.write(world.nodes[0])
    world.run(5.0)
    node.start()
    find_peace(world, 10.0)
    assert {*own, *others} <= node.notebook.live_tags()


def test_the_dead_do_not_keep_the_living_apart() -> None:
    """Four of ten stop for ever, without a word."""
    world = world_of(10)
    for node in world.nodes[:4]:
        node.stop(silently=True)
    tags = world.write(world.nodes[9])
    find_peace(world, 60.0)
    assert is_everywhere(world, tags)


def test_a_node_that_slept_for_a_week_catches_up() -> None:
    """It wakes with links that are long gone."""
    world = world_of(8)
    sleeper = world.nodes[2]
    sleeper.sleep()
    tags = []
    for _ in range(7):
        tags += world.write(world.nodes[0])
        world.run(60.0)
        everyone_sleeps(world, DAY)
    sleeper.wake()
    find_peace(world, 60.0)
    assert set(tags) <= sleeper.notebook.live_tags()


@pytest.mark.parametrize("noticed", [True, False])
def test_a_restored_backup_loses_nothing_that_anyone_else_has(noticed: bool) -> None:  # noqa: FBT001
    """Noticed: a new epoch at once. Unnoticed: a fork, its proof, and both branches published again."""
    world = world_of(10)
    node = world.nodes[3]
    before = world.write(node)
    backup = node.notebook.snapshot()
    lost = world.write(node)
    world.run(2.0)
    world.restore(node, backup, noticed=noticed)
    after = world.write(node)
    find_peace(world, 90.0)
    assert is_everywhere(world, [*before, *lost, *after])
    assert bool(node.notebook.statements.trust.forks) is not noticed
    assert is_everywhere(world, world.write(node)) is False
    find_peace(world, 5.0)


# Clocks are wrong


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_is_an_hour_wrong_hides_nothing_once_peers_have_corrected_it(hours: int) -> None:
    """A node ahead is believed, a node behind believes, as soon as they have heard what time it is."""
    world = World(1, 12, conditions=LINKS)
    wrong = world.nodes[7]
    wrong.skew_ms = hours * 3_600_000
    world.start_connected()
    world.run(10.0)
    assert abs(wrong.skew_ms + wrong.correction_ms) < 1000
    tags = [*world.write(wrong), *world.write(world.nodes[0])]
    world.run(2.0)
    assert is_everywhere(world, tags)


def test_what_was_written_an_hour_ahead_waits_until_its_time_has_come() -> None:
    """It wrote before it met anyone: nobody counts that for 55 minutes, and then everyone does."""
    world = World(1, 6, conditions=LINKS, config=SLOW)
    wrong = world.nodes[2]
    wrong.skew_ms = 3_600_000
    world.start_connected()
    world.run(1e-9)
    tags = world.write(wrong)
    world.run(30 * 60.0)
    others = [node for node in world.nodes if node is not wrong]
    assert not any(set(tags) & node.notebook.live_tags() for node in others)
    world.run(40 * 60.0)
    find_peace(world, 60.0)
    assert is_everywhere(world, tags)


# Members fail


def test_what_a_revoked_member_wrote_later_counts_nowhere() -> None:
    """Its links close, and only what its revocation lists stays."""
    world = world_of(12)
    node = world.nodes[6]
    before = world.write(node)
    world.run(2.0)
    world.revoke(node, world.nodes[0])
    after = world.write(node)
    find_peace(world, 30.0)
    assert is_everywhere(world, before)
    assert after
    assert not any(set(after) & other.notebook.live_tags() for other in world.honest())
    assert not node.ends


@pytest.mark.parametrize("habit", Hostile.HABITS)
def test_a_hostile_member_changes_nothing_for_the_others(habit: str) -> None:
    """One bad habit at a time, for half a minute, while the others write."""
    world = World(3, 12, conditions=LINKS)
    enemies = world.nodes[:2]
    for enemy in enemies:
        enemy.twist = Hostile(world, enemy, Random(enemy.index), [habit], flood=200)
    world.start_connected()
    world.run(3.0)
    for enemy in enemies:
        assert isinstance(enemy.twist, Hostile)
        enemy.twist.begin()
    for round_ in range(5):
        world.write(enemies[0], "also the enemy writes")
        world.write(world.nodes[4], "x" * (6000 if round_ % 2 else 60))
        world.write(world.nodes[8])
        world.run(6.0)
    find_peace(world, 90.0)
    done = {name for enemy in enemies if isinstance(enemy.twist, Hostile) for name in enemy.twist.done}
    assert done == {habit}
    assert all(node.is_up for node in world.nodes)


def test_an_author_that_tells_two_stories_is_believed_in_neither() -> None:
    """The proof of the fork is on every node, and the feed ends before the two differ."""
    world = World(3, 12, conditions=LINKS)
    enemy = world.nodes[0]
    enemy.twist = Hostile(world, enemy, Random(1), ["equivocate"])
    world.start_connected()
    world.run(3.0)
    enemy.twist.begin()
    world.run(5.0)
    find_peace(world, 60.0)
    for node in world.honest():
        (fork,) = node.notebook.statements.trust.forks.values()
        chain = node.notebook.chain(fork.feed)
        assert fork.feed.node == enemy.identity.public
        assert chain is None or chain.accepted == fork.first - 1


def test_a_member_that_forks_without_end_is_believed_in_nothing() -> None:
    """One proof more than feeds may count is kept on every node, and nothing it ever wrote counts."""
    world = World(3, 12, conditions=LINKS)
    enemy = world.nodes[0]
    enemy.twist = Hostile(world, enemy, Random(1), ["many_forks"], flood=200)
    world.start_connected()
    world.run(3.0)
    written = world.write(enemy, "before it began")
    world.run(2.0)
    assert is_everywhere(world, written)
    enemy.twist.begin()
    world.run(20.0)
    find_peace(world, 60.0)
    for node in world.honest():
        assert len(node.notebook.statements.trust.forks) == FEEDS + 1
        assert not any(chain.accepted for chain in node.notebook.chains() if chain.feed.node == enemy.identity.public)


def test_of_a_reader_that_writes_nothing_counts() -> None:
    """Its operations come to every node that listens to it, and are nowhere."""
    world = World(3, 12, conditions=LINKS)
    enemy = world.nodes[0]
    enemy.twist = Hostile(world, enemy, Random(1), ["reader_writes"])
    world.start_connected()
    world.run(3.0)
    enemy.twist.begin()
    world.run(20.0)
    find_peace(world, 60.0)
    assert enemy.twist.done["reader_writes"] > 10
    for node in world.honest():
        assert not any(chain.accepted for chain in node.notebook.chains() if chain.feed.node == enemy.identity.public)


@pytest.mark.parametrize("habit", ["many_bytes", "own_quota"])
def test_of_a_throw_away_node_that_writes_too_much_its_share_counts(habit: str) -> None:
    """The rest waits, within the room for what waits; also of one that says itself that it may write more."""
    world = World(3, 12, conditions=LINKS)
    enemy = world.nodes[0]
    enemy.twist = Hostile(world, enemy, Random(1), [habit])
    world.start_connected()
    world.run(3.0)
    enemy.twist.begin()
    world.run(30.0)
    find_peace(world, 60.0)
    for node in world.honest():
        (chain,) = (chain for chain in node.notebook.chains() if chain.feed.node == enemy.identity.public)
        weights = [len(link.body or b"") for link in chain.links]
        assert sum(weights) > THROW_AWAY_BYTES
        assert THROW_AWAY_BYTES - 70_000 < sum(weights[: chain.accepted]) <= THROW_AWAY_BYTES


def test_what_a_member_says_of_settings_changes_none_that_an_admin_set() -> None:
    """Neither before nor after the admin says more; its words are on every node, and its statements give it no right."""
    world = World(3, 12, conditions=LINKS)
    enemy, admin = world.nodes[:2]
    enemy.twist = Hostile(world, enemy, Random(1), ["own_settings"])
    admin.role = ADMIN
    world.start_connected()
    world.run(3.0)
    world.change_setting(admin, "hot_at", 5)
    enemy.twist.begin()
    world.run(20.0)
    world.change_setting(admin, "moderation", "open")
    world.run(20.0)
    find_peace(world, 60.0)
    for node in world.honest():
        (said,) = (chain for chain in node.notebook.chains() if chain.feed.node == enemy.identity.public)
        assert said.accepted > 20
        assert node.notebook.settings().keys() == {"hot_at", "moderation"}


# The same seed, the same run


def test_the_same_seed_gives_the_same_report() -> None:
    """Byte for byte; another seed gives another."""
    one, two, other = (simulate(chaos(20, seed)).json() for seed in (11, 11, 12))
    assert one == two
    assert one != other


def test_the_same_seed_gives_the_same_report_in_another_process() -> None:
    """No order of a set or dictionary leaks into a run: Python hashes bytes differently in each process."""
    command = [
        sys.executable,
        "-c",
        "from mesh.cli.main import run; run(['simulate', '--nodes', '20', '--seed', '6', '--chaos', '--json'])",
    ]
    reports = {
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": number}, check=True, capture_output=True).stdout
        for number in ("1", "2")
    }
    assert len(reports) == 1
    assert b'"root"' in reports.pop()


# The checks can fail


def test_a_notebook_that_forgets_a_write_is_found_out() -> None:
    """Heads and roots are right, one body is gone: content is read, not counted."""
    world = world_of(6)
    world.write(world.nodes[0])
    find_peace(world, 10.0)
    (chain,) = world.nodes[3].notebook.chains()
    chain.links[0] = chain.links[0]._replace(body=None)
    with pytest.raises(
        InvariantBroken, match=r"every acknowledged write is live everywhere; but node 3 .* World\(1, 6\)"
    ):
        world.checker.eventually_everything()


class Deaf:
    """An engine that takes nothing in."""

    def __init__(self, node: SimNode) -> None:
        assert node.engine is not None
        self._engine = node.engine

    def handle(self, event: Event, now: float) -> list[Effect]:
        return [effect for effect in self._engine.handle(event, now) if not isinstance(effect, MergeThis)]

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)


def test_an_engine_that_never_repairs_is_found_out() -> None:
    """It hears of everything and takes in nothing: one node stays behind."""
    world = world_of(6)
    world.nodes[2].engine = Deaf(world.nodes[2])  # type: ignore[assignment]
    world.write(world.nodes[0])
    with pytest.raises(InvariantBroken, match="all honest nodes have one root; but there are 2; node 2"):
        find_peace(world, 30.0)


def test_an_engine_that_claims_what_its_notebook_has_not_is_found_out() -> None:
    """Its mirror misses a change."""
    world = world_of(4)
    node = world.nodes[1]
    node.notebook.write([{"text": "beside the engine"}])
    node.notebook.refresh()
    with pytest.raises(InvariantBroken, match="the engine's idea of the notebook"):
        world.checker.changed(node, Changes())


def test_an_operation_nobody_signed_is_found_out() -> None:
    """A notebook that took in a forgery would be seen at once."""
    world = world_of(4)
    node = world.nodes[1]
    node.notebook.write([{"text": "signed, but the checker was not told"}])
    with pytest.raises(InvariantBroken, match="no operation is held whose author did not sign it"):
        world.checker.anytime_only_authors_extend_their_feeds(node, node.notebook.refresh().feeds)


def test_what_is_taken_back_without_a_statement_is_found_out() -> None:
    """What counted once counts until a statement says otherwise."""
    world = world_of(4)
    world.write(world.nodes[0])
    world.run(2.0)
    node = world.nodes[1]
    (chain,) = node.notebook.chains()
    chain.accepted = 0
    state = node.notebook.everything().feeds[0]
    with pytest.raises(InvariantBroken, match="only shrinks by statements"):
        world.checker.anytime_what_counts_only_shrinks_by_statements(node, Changes([state]))


def test_more_bytes_than_may_wait_for_a_link_are_found_out() -> None:
    """By the next event of that node, also if they have left by then."""
    world = world_of(4)
    node = world.nodes[1]
    end = next(iter(node.ends.values()))
    node.transmit(end, bytes(world.config.link_bytes + 2 * FRAME_BYTES + 1), "push")
    with pytest.raises(InvariantBroken, match=r"queues are bounded; but node 1 .* bytes waiting for one link"):
        world.run(2.0)


def test_more_bytes_than_may_wait_to_be_merged_are_found_out() -> None:
    """Whoever asked for them."""
    world = world_of(4)
    node = world.nodes[1]
    node.queue.merging_bytes = 2**30
    with pytest.raises(InvariantBroken, match=r"queues are bounded; but node 1 .* bytes waiting to be merged"):
        node.handle(Tick())


def test_a_broken_run_names_the_command_that_repeats_it() -> None:
    """The seed is in it."""

    def sabotage(world: World) -> None:
        world.nodes[1].sleep = lambda: None  # type: ignore[method-assign]
        world.nodes[1].notebook.live_tags = set  # type: ignore[method-assign]

    with pytest.raises(
        InvariantBroken, match=re.escape("mesh simulate --nodes 8 --seed 21 --loss 0.1 --writes 2 --warm 3")
    ):
        simulate(Scenario(nodes=8, seed=21, loss=0.1, writes=2, warm_seconds=3.0), prepare=sabotage)


def test_a_member_of_which_more_counts_than_its_share_is_found_out() -> None:
    """A notebook that lets in more than the quota."""
    world = world_of(4)
    world.write(world.nodes[0], "x" * 60_000)
    world.run(2.0)
    node = world.nodes[1]
    (chain,) = node.notebook.chains()
    chain.links = chain.links * (QUOTA_BYTES // 60_000 + 1)
    chain.accepted = len(chain.links)
    with pytest.raises(InvariantBroken, match=r"nobody costs more than its share; but of .* bytes count on node 1"):
        world.checker.anytime_nobody_costs_more_than_its_share(node, [world.nodes[0].identity.public])


def test_a_right_that_a_member_gave_itself_is_found_out() -> None:
    """A notebook that takes a member for an admin, and so shows its word as a setting."""
    world = world_of(4)
    member, node = world.nodes[:2]
    member.change_setting("hot_at", 2)
    world.run(2.0)
    world.checker.eventually_everything()
    node.notebook.statements.trust.admins |= {member.identity.public}
    with pytest.raises(InvariantBroken, match=r"nobody has rights that it gave itself; but .* is an admin on node 1"):
        world.checker.anytime_nobody_has_rights_that_it_gave_itself(node)
    member.role = ADMIN
    with pytest.raises(InvariantBroken, match=r"but on node 1 .* 'hot_at' is what another member said"):
        world.checker.anytime_nobody_has_rights_that_it_gave_itself(node)


def test_a_setting_that_is_lost_is_found_out() -> None:
    """What an admin said last has to be on every node."""
    world = World(1, 4, conditions=LINKS)
    world.nodes[0].role = ADMIN
    world.start_connected()
    world.run(3.0)
    world.change_setting(world.nodes[0], "hot_at", 5)
    find_peace(world, 10.0)
    world.checker.setting_changed("hot_at", b"said later, and nowhere")
    with pytest.raises(InvariantBroken, match=r"but on node 0 .* 'hot_at' is not what an admin said last"):
        world.checker.eventually_settings_are_what_admins_said_last()


def test_an_honest_node_that_shuns_another_is_found_out() -> None:
    """Whatever its reason; whoever breaks the protocol may be shunned."""
    world = world_of(4)
    honest, other, enemy = world.nodes[:3]
    enemy.twist = Hostile(world, enemy, Random(1))
    world.checker.shunned(honest, enemy.identity.public, "a reason")
    with pytest.raises(
        InvariantBroken, match=r"the honest do not shun each other; but node 0 .* shuns node 1 .*: a reason"
    ):
        world.checker.shunned(honest, other.identity.public, "a reason")
