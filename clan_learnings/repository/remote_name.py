"""The name of a repository from the address of a git remote: `host/owner/name`. Pure: no files, no git.

By ssh or https, with a token or without: the name must come out the same on every machine, and no secret of an address may get into it.
"""

from __future__ import annotations

from mesh.core.errors import UsageError

IDENTITY_CHARS = 300

# Schemes that name a host. Anything else before `://` is a nickname that a rule of git's configuration explains.
_SCHEMES = frozenset(
    {"ssh", "git", "http", "https", "ftp", "ftps", "rsync", "git+ssh", "ssh+git", "git+https", "git+http"}
)

# Second doors of well-known hosts, most of them for ssh through firewalls.
_SAME_HOST = {
    "ssh.github.com": "github.com",
    "www.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}


def identity_of(address: str) -> str:
    """`host/owner/name` of an address; empty if it names no host."""
    host, path = _split(address.strip())
    host = host.rpartition("@")[2]  # all that may be secret stands before the last @
    host = _without_port(host).lower().rstrip(".")
    host = _SAME_HOST.get(host, host)
    parts = [part for part in _unquote(path).lower().split("/") if part not in ("", ".")]
    if host == "dev.azure.com":
        parts = [part for number, part in enumerate(parts) if part != "_git" and not (number == 0 and part == "v3")]
    if parts:
        parts[-1] = parts[-1].removesuffix(".git")
        parts = parts if parts[-1] else parts[:-1]
    name = "/".join([host, *parts])
    is_name = host and parts and ".." not in parts and len(name) <= IDENTITY_CHARS
    return name if is_name and name.isprintable() and " " not in host else ""


def names_host(address: str) -> bool:
    """Whether an address says by itself where the repository is, whatever the rules of one machine make of it."""
    scheme, sep, _ = _without_helper(address).partition("://")
    if sep:
        return scheme.lower() in _SCHEMES
    host = _without_port(_split(address)[0].rpartition("@")[2])
    return "." in host or ":" in host


def local_path(address: str) -> str:
    """The path of a repository on this machine; empty if the address is another's."""
    if address[:7].lower() == "file://":
        rest = address[7:]
        return _unquote(rest[rest.find("/") :]) if "/" in rest else ""
    if "://" in address or "::" in address.partition("/")[0]:
        return ""
    return "" if _split(address)[0] else address


def _split(address: str) -> tuple[str, str]:
    """Authority and path. The authority of a path on this machine is empty."""
    address = _without_helper(address)
    scheme, sep, rest = address.partition("://")
    if sep:
        if scheme.lower() == "file":
            return "", rest
        authority, _, path = rest.partition("/")
        if "@" in path and not _port(authority).isdigit() and ":" in authority:  # a password with a slash in it
            authority, _, path = rest.rpartition("@")[2].partition("/")
        return authority, path.partition("?")[0].partition("#")[0]
    if "::" in address.partition("/")[0].partition("[")[0]:
        return "", ""  # whatever that helper makes of it
    # scp's way: host:path, with a colon before the first slash. An address in brackets has colons of its own.
    start = address.find("]") + 1 if "[" in address.partition("/")[0] else 0
    host, colon, path = address[start:].partition(":")
    host = address[:start] + host
    if not colon or "/" in host or len(host) < 2:  # one letter is a drive
        return "", address
    first, slash, rest = path.partition("/")
    if "@" in first and slash:  # an https address without its scheme: what stands before the @ is a password
        return first, rest
    return host, path


def _without_helper(address: str) -> str:
    """Without the `helper::` that git hands an address to."""
    helper, sep, rest = address.partition("::")
    return rest if sep and helper.replace("-", "").isalnum() and "://" in rest else address


def _port(authority: str) -> str:
    return authority.rpartition("@")[2].rpartition("]")[2].rpartition(":")[2]


def _without_port(host: str) -> str:
    if host.startswith("["):
        inner = host[1:].partition("]")[0]
        if inner.count(":") != 1:
            return inner  # an IPv6 address
        host = inner  # scp's way to give a port: [host:port]:path
        host = host.rpartition("@")[2]
    return host.partition(":")[0]


def _unquote(path: str) -> str:
    """`%20` and the like as the characters they stand for; bytes that are no text stay as they are written."""
    first, *rest = path.split("%")
    data = first.encode("utf-8", "surrogateescape")
    for piece in rest:
        try:
            data += bytes((int(piece[:2].strip() if len(piece) > 1 else "x", 16),)) + piece[2:].encode()
        except ValueError:
            data += b"%" + piece.encode("utf-8", "surrogateescape")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return path


def named_repo(text: str) -> str:
    """A repository's identity from its name or address."""
    if text.startswith("local/"):
        return text
    identity = identity_of(text) or identity_of("ssh://" + text)
    if not identity:
        raise UsageError(f"{text!r} names no repository", "host/owner/name, like: --repo github.com/acme/api")
    return identity
