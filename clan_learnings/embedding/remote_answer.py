"""What a server of embeddings may answer, and vectors of it. Pure, and suspicious: the bytes are anybody's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mesh.core.errors import Malformed

if TYPE_CHECKING:
    from clan_learnings.embedding.embedder import Rows

DIMENSIONS = 8192  # more than any model has
BATCH = 32
ANSWER_BYTES = BATCH * DIMENSIONS * 25 + 100_000  # a float takes 25 characters at most, with its comma


def parse_rows(body: bytes, count: int, dimensions: int | None) -> Rows:
    """The vectors of an answer of the OpenAI kind, in the order of the texts, each of length 1.

    `dimensions`: what they had before; None for the first time.
    """
    import numpy as np

    from clan_learnings.embedding.local_model import unit

    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Malformed("the server's answer is no JSON") from error
    given = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(given, list) or len(given) != count:
        raise Malformed(f"the server's answer has not the {count} vectors that were asked for")
    rows: dict[int, list[float]] = {}
    for place, each in enumerate(given):
        index, vector = _vector(each, place)
        rows[index] = vector
    if set(rows) != set(range(count)):
        raise Malformed("the server's vectors are not numbered as the texts were")
    wanted = dimensions or len(rows[0])
    if any(len(vector) != wanted for vector in rows.values()):
        raise Malformed(f"the server's vectors have not {wanted} dimensions, as before")
    try:
        table = np.array([rows[number] for number in range(count)], np.float64)
    except (OverflowError, ValueError) as error:  # a whole number of a thousand digits
        raise Malformed("the server's vectors have numbers that are none") from error
    return np.stack([unit(row) for row in table])


def _vector(given: object, place: int) -> tuple[int, list[float]]:
    vector = given.get("embedding") if isinstance(given, dict) else None
    index = given.get("index", place) if isinstance(given, dict) else None
    if not isinstance(vector, list) or not 0 < len(vector) <= DIMENSIONS or type(index) is not int:
        raise Malformed("the server's answer has something that is no vector")
    if not set(map(type, vector)) <= {int, float}:
        raise Malformed("the server's vectors have something in them that is no number")
    return index, vector
