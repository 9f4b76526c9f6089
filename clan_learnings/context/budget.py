"""Lines, what they cost, and who gets how much of the room. What the lines say stands in `compose`."""

from __future__ import annotations

from clan_learnings.context.token_bound import LEAST_CHARS, at_most_tokens

TYPE_CHECKING = False  # see `mesh`
if TYPE_CHECKING:
    from collections.abc import Container

# Shares of the room in per cent, kept while another part still wants it.
_HOT_SHARE, _WARM_SHARE = 60, 20
# Kept for what is private, whether there is anything or not: what is public must not depend on it.
PRIVATE_SHARE = 5
HERE_SHARE = 8  # for a line or two of what only this node has seen, wherever one node's word is not enough for HOT


class Line:
    """One line and what it costs, its line end included. Tokens are counted when somebody asks."""

    __slots__ = ("_tokens", "chars", "id", "is_shown", "text")

    def __init__(self, id: str, text: str) -> None:  # noqa: A002
        self.id = id
        self.text = text
        self.chars = len(text) + 1
        self.is_shown = False
        self._tokens = 0

    @property
    def tokens(self) -> int:
        """The bound, worked out once."""
        self._tokens = self._tokens or at_most_tokens(self.text + "\n")
        return self._tokens


class Room:
    """What is left."""

    __slots__ = ("chars", "tokens")

    def __init__(self, chars: int, tokens: int) -> None:
        self.chars = chars
        self.tokens = tokens

    def has(self, chars: int, tokens: int) -> bool:
        """Whether so much fits."""
        return chars <= self.chars and tokens <= self.tokens

    def take(self, chars: int, tokens: int) -> None:
        """Use so much of it."""
        self.chars -= chars
        self.tokens -= tokens


class Part:
    """HOT, WARM, BANK or PRIVATE: a heading, paid for with its first line, and lines."""

    __slots__ = ("heading", "lines", "unseen")

    def __init__(self, heading: str, lines: list[Line], unseen: int = 0) -> None:
        """`unseen`: how many more there are, which nobody has looked at because they would not fit."""
        self.heading = Line("", heading)
        self.lines = lines
        self.unseen = unseen

    def fill(self, room: Room, reserved: Room) -> None:
        """Show what fits, in the order given, and leave what is reserved for others."""
        bare = not any(line.is_shown for line in self.lines)
        for line in self.lines:
            if line.is_shown:
                continue
            chars, tokens = (self.heading.chars, self.heading.tokens) if bare else (0, 0)
            chars += line.chars
            # Most lines that do not fit are told by their length: counting tokens is the dear part.
            least = tokens + line.chars // LEAST_CHARS
            if not room.has(chars + reserved.chars, least + reserved.tokens):
                continue
            tokens += line.tokens
            if room.has(chars + reserved.chars, tokens + reserved.tokens):
                room.take(chars, tokens)
                line.is_shown = True
                bare = False

    def shown(self, without: Container[str] = ()) -> list[str]:
        """The heading and the lines that fit, but for those of these ids; nothing if none is left."""
        lines = [line.text for line in self.lines if line.is_shown and line.id not in without]
        return [self.heading.text, *lines] if lines else []

    def left_out(self) -> int:
        """How many did not fit."""
        return sum(not line.is_shown for line in self.lines) + self.unseen


def share_out(hot: Part, warm: Part, bank: Part, room: Room) -> None:
    """HOT up to its share, WARM up to its own and what HOT left, BANK; what is left then goes round once more."""

    def share(percent: int) -> Room:
        return Room(whole.chars * percent // 100, whole.tokens * percent // 100)

    whole, nothing = Room(room.chars, room.tokens), Room(0, 0)
    hot.fill(room, share(100 - _HOT_SHARE))
    warm.fill(room, share(100 - _HOT_SHARE - _WARM_SHARE))
    bank.fill(room, nothing)
    hot.fill(room, nothing)
    warm.fill(room, nothing)
