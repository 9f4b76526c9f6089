"""The scale of an embedder's cosines: measured once, so that thresholds mean the same for every embedder. Stores nothing.

Some models put all texts into one corner of the space: there, texts that have nothing to do with each other have a cosine of 0.6.
The scale is that of MiniLM-L6, with which every bar was chosen. See docs/adr/0054.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from clan_learnings.search.embedders.embedder import Embedder
from clan_learnings.search.embedders.local_model import PREFIX
from mesh.core.errors import MeshError

_LINES = """
how do I take back my last commit => to undo the newest commit and keep its changes, run git reset --soft HEAD~1
the disk of the build machine is full => the build server ran out of space: old images on its disk have to be deleted every week
dates are off by one day for some users => store dates in UTC: users in other time zones saw the day before
how to rename a column without downtime => renaming a database column takes steps while the service runs: add the new one, copy, drop the old
the list jumps while I scroll => scrolling a list of rows with unknown heights makes it hop: give each row a fixed height
our emails end up in the spam folder => mail that we send is taken for spam unless SPF and DKIM are set up
two workers handled the same job => a job was processed twice by different workers: take a lease before starting on it
the type checker knows nothing about this library => mypy cannot check a library without stubs: install its types
how can I see which query is slow => find the slowest SQL query with EXPLAIN ANALYZE
the app crashes when the phone is turned => rotating the device ends the activity: keep its state or the app crashes
the container cannot reach the database => inside a container localhost is not the host: connect to the database by the name of its service
a test passes alone and fails with the others => tests that fail only in the whole suite share state with another test
prices are wrong by a cent => never calculate money with floats: amounts are rounded and lose cents
the certificate of the website has expired => renew TLS certificates automatically, before they expire
memory grows until the process is killed => the process has a memory leak: listeners are never removed, and it is killed in the end
the linter and the formatter disagree => turn off the linter's rules about style: the formatter takes care of that
who may approve a release => a release to production has to be approved by the owner of the service
the keyboard cannot reach the buttons of the dialog => buttons in a modal dialog must be reachable with the keyboard, for accessibility
search finds nothing for plural words => the search index has no stemming: singular and plural are different words to it
the API answers 429 too many requests => we send too many requests to the API and are rate limited: back off and try again later
the readings of the sensor have gaps => measurements are lost while the sensor sleeps: buffer them and send them afterwards
the model predicts the same class for everything => the classifier always picks one label since the training data is unbalanced
the printed label is cut off on the right => the printer clips the right edge of a label: set the width of its paper
the sound lags behind the video => audio and video drift apart: resample the audio to the clock of the stream
the same customer is in the table twice => duplicates of customers: there was no unique key on their address
can I retry a payment safely => payments may be repeated without charging twice if you send an idempotency key
the robot stops when the wireless network drops => losing wifi halts the robot: let it drive on to a safe place by itself
map markers appear in the ocean => points on the map are misplaced if latitude and longitude are swapped
the game stutters every few seconds => frame drops in the game come from garbage collection: reuse objects
nobody can read the log of the night job => output of the nightly task goes to a file only root may open: change its permissions
how much does the cluster cost a month => the monthly bill for our Kubernetes nodes is about four thousand dollars
the translator shows keys instead of words => untranslated strings show up as their keys: add them to the language files
"""

PAIRS = tuple(
    (question, record) for question, _, record in (line.partition(" => ") for line in _LINES.strip().split("\n"))
)


# What it was measured with: after a change of that, what was measured before is of no use.
_SET = blake2b(repr(PAIRS).encode(), digest_size=4).hexdigest()
_FEWEST = len(PAIRS) // 2  # pairs that a server has to have vectors for: of fewer nothing can be told
_QUANTILE = 0.95  # where the bars are: higher ones depend on a few odd pairs, the mean says nothing of the spread


class Scale(NamedTuple):
    """Two cosines of one embedder: what 19 of 20 unrelated texts stay below, and what half of all rewordings reach."""

    unrelated: float
    same: float

    @property
    def is_useful(self) -> bool:
        """Whether it can tell the two apart at all."""
        return self.unrelated < self.same

    @property
    def is_usual(self) -> bool:
        """Whether its cosines are on the one scale as they are."""
        return self.unrelated == USUAL.unrelated

    def put(self, cosine: float) -> float:
        """A cosine on the one scale: 1 stays 1, what unrelated texts stay below becomes what MiniLM's do. Keeps the order."""
        return 1.0 - (1.0 - cosine) * (1.0 - USUAL.unrelated) / (1.0 - self.unrelated)

    def kept(self) -> list[float | str]:
        """For a state file."""
        return [self.unrelated, self.same, _SET]


USUAL = Scale(0.195, 0.606)  # MiniLM-L6's: pinned, so that nothing about it depends on a measurement


def scale_of(embedder: Embedder, kept: object = None) -> Scale:
    """The scale of an embedder: MiniLM's is known, another is as it was kept, or measured: 64 texts are embedded for it."""
    if embedder.name.startswith(PREFIX):
        return USUAL
    return _read(kept) or _measured(embedder)


def _read(kept: object) -> Scale | None:
    """What a state file says, if it is of this set and sound."""
    match kept:
        case [float(unrelated), float(same), str(of)] if of == _SET and -1 <= unrelated < same <= 1:
            return Scale(unrelated, same)
    return None


def _measured(embedder: Embedder) -> Scale:
    import numpy as np

    rows = embedder.embed([text for pair in PAIRS for text in pair])
    has_both = rows[0::2].any(axis=1) & rows[1::2].any(axis=1)
    if int(has_both.sum()) < _FEWEST:
        raise MeshError(f"{embedder.name} has no vectors for plain sentences", "mesh index use auto")
    questions, records = rows[0::2][has_both], rows[1::2][has_both]
    cosines = np.vecdot(questions[:, np.newaxis], records[np.newaxis])
    own = np.eye(len(cosines), dtype=bool)
    return Scale(round(float(np.quantile(cosines[~own], _QUANTILE)), 4), round(float(np.median(cosines[own])), 4))
