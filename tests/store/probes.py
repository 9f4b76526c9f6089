"""What the index over written fields holds, asked by tests alone. No test lives here."""

from mesh.store.reader import Reader


def written_repos(reader: Reader) -> list[str]:
    """Every repo that a live record was written for."""
    used = "SELECT name FROM scopes WHERE EXISTS(SELECT 1 FROM elements WHERE elements.scope=scopes.scope)"
    return [name for (name,) in reader.connection.execute(used + " ORDER BY name")]


def frequent(reader: Reader, least: int, log: str | None = None) -> list[str]:
    """The patterns that a log (some log, if none is said) names in at least so many sessions."""
    rows = reader.connection.execute(
        "SELECT DISTINCT patterns.name FROM tallies JOIN logs USING(log) JOIN patterns USING(pattern)"
        " WHERE logs.name=ifnull(?, logs.name) AND sessions>=? ORDER BY patterns.name",
        (log, least),
    )
    return [name for (name,) in rows]
