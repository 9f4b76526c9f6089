"""Which repository a folder belongs to: remotes in every form, layouts that git itself made, and files that are broken."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clan_learnings.repository import git_config
from clan_learnings.repository.consent import trust
from clan_learnings.repository.detection import GLOBAL, LOCAL, Repository, claim, find
from clan_learnings.repository.remote_name import identity_of
from clan_learnings.repository.repository_settings import RepoFile, parse_repo_file, plain_lines

TOOL = "github.com/acme/tool"
ENVIRON = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}


def git(folder: Path, *words: str) -> None:
    """Let git itself make a layout."""
    subprocess.run(
        [
            "git",
            *("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"),
            *("-c", "protocol.file.allow=always"),
            *words,
        ],
        cwd=folder,
        check=True,
        capture_output=True,
        env=ENVIRON | {"HOME": str(folder)},
    )


def repository(folder: Path, config: str = "") -> Path:
    """A git folder written by hand, with more configuration than git would write."""
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text("[core]\n\tbare = false\n" + config)
    return folder


def here(folder: Path, environ: dict[str, str] | None = None) -> Repository:
    return find(str(folder), ENVIRON if environ is None else environ)


def remote(url: str, name: str = "origin") -> str:
    return f'[remote "{name}"]\n\turl = {url}\n'


@pytest.mark.parametrize(
    ("address", "identity"),
    [
        ("https://github.com/acme/tool.git", TOOL),
        ("https://github.com/acme/tool", TOOL),
        ("https://github.com/acme/tool/", TOOL),
        ("https://github.com/acme/tool.git/", TOOL),
        ("https://GitHub.com/Acme/Tool.git", TOOL),
        ("http://github.com:80//acme//tool.git", TOOL),
        ("https://ghp_secret@github.com/acme/tool.git", TOOL),
        ("https://x-access-token:ghs_secret@github.com/acme/tool", TOOL),
        ("https://user:p@ss:word@github.com/acme/tool", TOOL),
        ("https://user:pa/ss@github.com/acme/tool", TOOL),
        ("user:secret@github.com/acme/tool.git", TOOL),
        ("https://github.com/acme/tool.git?private_token=secret#x", TOOL),
        ("git@github.com:acme/tool.git", TOOL),
        ("github.com:acme/tool", TOOL),
        ("git@github.com:/acme/tool.git", TOOL),
        ("ssh://git@github.com/acme/tool.git", TOOL),
        ("ssh://git@github.com:22/acme/tool.git", TOOL),
        ("ssh://git@ssh.github.com:443/acme/tool.git", TOOL),
        ("git+ssh://git@github.com/acme/tool.git", TOOL),
        ("git://github.com/acme/tool.git", TOOL),
        ("[git@github.com:2222]:acme/tool.git", TOOL),
        ("https://github.com./acme/tool", TOOL),
        ("persistent-https::https://github.com/acme/tool", TOOL),
        ("https://git.example.org:8443/group/sub/tool.git", "git.example.org/group/sub/tool"),
        ("git@git.example.org:group/sub/tool.git", "git.example.org/group/sub/tool"),
        ("ssh://git@[2001:DB8::1]:2222/acme/tool.git", "2001:db8::1/acme/tool"),
        ("https://[2001:db8::1]/acme/tool.git", "2001:db8::1/acme/tool"),
        ("git@[2001:db8::1]:acme/tool.git", "2001:db8::1/acme/tool"),
        ("git@ssh.dev.azure.com:v3/acme/plan/tool", "dev.azure.com/acme/plan/tool"),
        ("https://acme@dev.azure.com/acme/plan/_git/tool", "dev.azure.com/acme/plan/tool"),
        ("https://example.org/acme/my%20tool.git", "example.org/acme/my tool"),
        ("https://example.org/acme/100%", "example.org/acme/100%"),
        ("ssh://git@example.org/~ada/tool.git", "example.org/~ada/tool"),
        ("https://example.org/tool", "example.org/tool"),
        # What names no host, or nothing on it, is no name.
        ("/srv/git/tool.git", ""),
        ("../tool.git", ""),
        ("./a:b", ""),
        ("C:/src/tool", ""),
        ("file:///srv/git/tool.git", ""),
        ("https://github.com", ""),
        ("https://github.com/", ""),
        ("https:///acme/tool", ""),
        ("https://github.com/.git", ""),
        ("https://github.com/../tool", ""),
        ("ext::ssh -t host %S /tool", ""),
        ("https://github.com/a\x1b[2Jb/tool", ""),
        ("https://github.com/" + "x" * 400, ""),
        ("", ""),
    ],
)
def test_an_address_gives_the_name(address: str, identity: str) -> None:
    """Scheme, user, token, port, `.git` and case do not matter; the rest does."""
    assert identity_of(address) == identity


@pytest.mark.parametrize(
    ("config", "identity"),
    [
        (remote("git@github.com:acme/tool.git"), TOOL),
        (remote("https://github.com/ada/tool") + remote("https://github.com/acme/tool", "upstream"), TOOL),
        (remote("https://github.com/acme/tool", "upstream") + remote("https://github.com/ada/tool"), TOOL),
        (remote("https://github.com/acme/tool") + remote("https://github.com/x/y", "another"), TOOL),
        (remote("https://github.com/acme/tool", "hub"), TOOL),
        (remote("https://github.com/a/b", "one") + remote("https://github.com/c/d", "two"), ""),
        (remote("https://github.com/acme/tool") + "\tpushurl = git@example.org:x/y\n", TOOL),
        ('[remote "origin"]\n\tpushurl = git@github.com:acme/tool\n', TOOL),
        (remote("https://github.com/acme/tool") + "\turl = https://example.org/second\n", TOOL),
        (remote("https://example.org/old/one") + "\turl =\n\turl = https://github.com/acme/tool\n", TOOL),
        ('[remote "origin"]\n\tprune = true\n' + remote("https://github.com/acme/tool", "hub"), TOOL),
        ('# a comment\n; another\n[remote "origin"] ; why\n url = "https://github.com/acme/tool" # note\n', TOOL),
        ('[remote "origin"]\n\turl = https://github.com/\\\nacme/tool\n', TOOL),
        ('[REMOTE "origin"]\n\tURL=https://github.com/acme/tool', TOOL),
        ('[remote "origin"]url = https://github.com/acme/tool\r\n\tfetch = x\r\n', TOOL),
        ("[remote.origin]\n\turl = https://github.com/acme/tool\n", TOOL),
        ('[remote "o\\"dd"]\n\turl = https://github.com/acme/tool\n', TOOL),
        ('[remote "origin"]\n\turl = "https://github.com/a b/\\"c\\""\n', 'github.com/a b/"c"'),
        (remote("https://github.com/acme/tool") + "[broken\n" + remote("https://x.org/y/z", "upstream"), TOOL),
        (remote("https://github.com/acme/tool") + '[x]\n\ty = "open\n', TOOL),
        ("\x00\x01 not a configuration", ""),
        ("[remote]\n\tpushDefault = x\n", ""),
        # Rules of the configuration explain a nickname; a mirror of one machine makes no other repository.
        (remote("gh:acme/tool") + '[url "git@github.com:"]\n\tinsteadOf = gh:\n', TOOL),
        (remote("work://tool") + '[url "https://github.com/acme/"]\n\tinsteadOf = work://\n', TOOL),
        (
            remote("gh:acme/tool")
            + '[url "https://example.org/"]\n\tinsteadOf = g\n[url "https://github.com/"]\n\tinsteadOf = gh:\n',
            TOOL,
        ),
        (remote("tool") + '[url "https://github.com/acme/tool"]\n\tinsteadOf = tool\n', TOOL),
        (
            remote("https://github.com/acme/tool")
            + '[url "https://mirror.example.org/"]\n\tinsteadOf = https://github.com/\n',
            TOOL,
        ),
        (remote("https://github.com/acme/tool") + '[url "git@github.com:"]\n\tinsteadOf = https://github.com/\n', TOOL),
        (remote("gh:acme/tool") + '[url "git@github.com:"]\n\tpushInsteadOf = gh:\n', "gh/acme/tool"),
        (remote("/nowhere/tool", "upstream") + remote("https://github.com/acme/tool"), TOOL),
        (remote("/nowhere/tool"), ""),
        (remote("file:///nowhere/tool"), ""),
    ],
)
def test_a_configuration_gives_the_name(tmp_path: Path, config: str, identity: str) -> None:
    """`upstream`, else `origin`, else the only one, read as git reads it, up to where a file breaks."""
    assert here(repository(tmp_path / "tool", config)).identity == identity


def test_the_same_folder_from_below_and_through_a_link(tmp_path: Path) -> None:
    """Where in the repository a command runs does not matter."""
    root = repository(tmp_path / "tool", remote("git@github.com:acme/tool.git"))
    (root / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(root / "a")
    assert here(root / "a" / "b") == here(root)
    assert here(root).root == str(root)
    assert here(root / ".git").identity == TOOL
    assert here(root / ".git").root == str(root)
    assert here((tmp_path / "link").resolve() / "b").identity == TOOL


def test_a_worktree_a_submodule_and_a_bare_repository(tmp_path: Path) -> None:
    """Git's own layouts: a worktree is its repository, a submodule is not the one around it."""
    tool, whole = tmp_path / "tool", tmp_path / "whole"
    for folder, name in ((tool, "tool"), (whole, "whole")):
        git(tmp_path, "init", "-q", str(folder))
        git(folder, "commit", "-q", "--allow-empty", "-m", "first")
        git(folder, "remote", "add", "origin", f"https://github.com/acme/{name}.git")
    git(tool, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(whole, "submodule", "add", "-q", str(tool), "parts/tool")
    git(whole / "parts" / "tool", "remote", "set-url", "origin", "git@github.com:acme/tool")
    git(whole, "worktree", "add", "-q", str(tmp_path / "second"))
    git(tmp_path, "clone", "-q", "--bare", str(tool), str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "remote", "set-url", "origin", "https://github.com/acme/tool")
    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "apart"), str(tmp_path / "split"))
    git(tmp_path / "split", "remote", "add", "origin", "https://github.com/acme/tool")
    assert here(tmp_path / "tree") == here(tool)._replace(root=str(tmp_path / "tree"))
    assert here(tmp_path / "tree").identity == TOOL
    assert here(whole).identity == "github.com/acme/whole"
    assert here(whole / "parts").identity == "github.com/acme/whole"
    assert here(whole / "parts" / "tool").identity == TOOL
    assert here(whole / "parts" / "tool").root == str(whole / "parts" / "tool")
    assert here(tmp_path / "second").identity == "github.com/acme/whole"
    assert here(tmp_path / "bare.git").identity == TOOL
    assert here(tmp_path / "bare.git").root == ""
    assert here(tmp_path / "split").identity == TOOL


def test_a_worktree_may_have_its_own_configuration(tmp_path: Path) -> None:
    """Only if the repository says so."""
    git(tmp_path, "init", "-q", "tool")
    git(tmp_path / "tool", "commit", "-q", "--allow-empty", "-m", "first")
    git(tmp_path / "tool", "worktree", "add", "-q", str(tmp_path / "tree"))
    own = tmp_path / "tool" / ".git" / "worktrees" / "tree" / "config.worktree"
    own.write_text(remote("https://github.com/acme/tool"))
    assert here(tmp_path / "tree").identity == ""
    git(tmp_path / "tool", "config", "extensions.worktreeConfig", "true")
    assert here(tmp_path / "tree").identity == TOOL
    assert here(tmp_path / "tool").identity == ""


def test_a_clone_of_a_clone_is_the_first_ones_repository(tmp_path: Path) -> None:
    """An agent's own clone of a folder on this machine counts as that folder, by path, link and file address."""
    first = repository(tmp_path / "first", remote("https://github.com/acme/tool"))
    second = repository(tmp_path / "second", remote(str(first)))
    third = repository(tmp_path / "third", remote(f"file://{second}/.git"))
    fourth = repository(tmp_path / "fourth", remote("../third"))
    assert [here(folder).identity for folder in (second, third, fourth)] == [TOOL] * 3
    circle = repository(tmp_path / "circle", remote(str(tmp_path / "back")))
    repository(tmp_path / "back", remote(str(circle)))
    assert here(circle).identity == ""
    assert here(repository(tmp_path / "self", remote("."))).identity == ""


def test_the_random_id_is_written_once_for_worktrees_and_clones(tmp_path: Path) -> None:
    """Without a remote the repository gets an id that git itself can read, and every later look finds."""
    git(tmp_path, "init", "-q", "tool")
    git(tmp_path / "tool", "commit", "-q", "--allow-empty", "-m", "first")
    git(tmp_path / "tool", "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path, "clone", "-q", "tool", "copy")
    before = (tmp_path / "tool" / ".git" / "config").read_bytes()
    assert here(tmp_path / "tool").needs_claim
    named = claim(here(tmp_path / "copy"), ENVIRON, b"\x01" * 16)
    assert named.identity.startswith(LOCAL)
    assert claim(here(tmp_path / "tree"), ENVIRON, b"\x02" * 16).identity == named.identity
    assert {here(tmp_path / name).identity for name in ("tool", "tree", "copy")} == {named.identity}
    config = (tmp_path / "tool" / ".git" / "config").read_bytes()
    assert config.startswith(before)
    git(tmp_path / "tool", "config", "--get", "clan-mesh.id")
    assert not list(tmp_path.rglob("*.lock"))
    git(tmp_path / "tool", "remote", "add", "origin", "https://github.com/acme/tool")
    assert here(tmp_path / "tree").identity == TOOL


def test_an_id_that_cannot_be_written_is_made_of_the_place(tmp_path: Path) -> None:
    """A configuration that is read-only, locked or broken is left as it is."""
    for name, config in (("closed", ""), ("locked", ""), ("broken", "[broken\n")):
        repository(tmp_path / name, config)
    (tmp_path / "closed" / ".git" / "config").chmod(0o444)
    lock = tmp_path / "locked" / ".git" / "config.lock"
    lock.write_text("of git")
    seen = set()
    for name in ("closed", "locked", "broken"):
        before = (tmp_path / name / ".git" / "config").read_bytes()
        found = claim(here(tmp_path / name), ENVIRON, os.urandom(16)).identity
        assert found == claim(here(tmp_path / name), ENVIRON, os.urandom(16)).identity
        assert (tmp_path / name / ".git" / "config").read_bytes() == before
        seen.add(found)
    assert len(seen) == 3
    assert lock.read_text() == "of git"
    assert [path for path in tmp_path.rglob("*.lock") if path != lock] == []


def test_two_commands_at_once_agree_on_the_id(tmp_path: Path) -> None:
    """Whoever comes second takes what the first has written."""
    repository(tmp_path / "tool")
    code = (
        "import os, sys; from clan_learnings.repository.detection import *; "
        "print(claim(find(sys.argv[1], {}), {}, os.urandom(16)).identity)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "tool")], stdout=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    said = {process.communicate()[0].strip() for process in running}
    assert said == {here(tmp_path / "tool").identity}


def test_no_git_is_global(tmp_path: Path) -> None:
    """Outside of git, and in what only looks like git, records are everybody's."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "empty" / ".git").mkdir(parents=True)
    assert here(tmp_path / "plain").identity == GLOBAL
    assert not here(tmp_path / "plain").needs_claim
    assert here(tmp_path / "empty").identity == GLOBAL
    assert here(tmp_path / "gone").identity == GLOBAL


@pytest.mark.parametrize("text", ["", "nonsense", "gitdir:", "gitdir: /nowhere", "gitdir: \0", "gitdir: .git"])
def test_a_git_file_that_leads_nowhere_is_global_and_not_the_repository_around_it(tmp_path: Path, text: str) -> None:
    """A worktree whose repository is not mounted has a root and no name, unless a person lets it name itself."""
    repository(tmp_path / "outer", remote("https://github.com/acme/outer"))
    inner = tmp_path / "outer" / "inner"
    inner.mkdir()
    (inner / ".git").write_text(text)
    assert here(inner)[:3] == (GLOBAL, str(inner), "")
    (inner / ".clan-mesh.toml").write_text('repo = "github.com/acme/tool"\n')
    assert (here(inner).identity, here(inner).unconfirmed) == (GLOBAL, TOOL)
    environ = ENVIRON | {"MESH_CONFIG": str(tmp_path / "config")}
    trust(environ, str(inner), TOOL)
    assert here(inner, environ).identity == TOOL


def test_includes_are_followed(tmp_path: Path) -> None:
    """Relative to the file, in the user's home, under conditions, never in circles and never into a pipe."""
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    (home / "remote").write_text(remote("gh:acme/tool"))
    (home / "rules").write_text('[url "https://github.com/"]\n\tinsteadOf = gh:\n[include]\n\tpath = rules\n')
    (home / "wrong").write_text('[url "https://wrong.example.org/"]\n\tinsteadOf = gh:acme\n')
    (home / ".config" / "git" / "config").write_text(
        f'[includeIf "gitdir:{tmp_path}/src/"]\n\tpath = ~/rules\n'
        '[includeIf "gitdir:other/"]\n\tpath = ~/wrong\n[includeIf "onbranch:side"]\n\tpath = ~/wrong\n'
    )
    root = repository(tmp_path / "src" / "tool", "[include]\n\tpath = ../../../home/remote\n\tpath = pipe\n")
    os.mkfifo(root / ".git" / "pipe")
    environ = ENVIRON | {"HOME": str(home)}
    assert here(root, environ).identity == TOOL
    elsewhere = repository(tmp_path / "elsewhere", "[include]\n\tpath = ~/remote\n")
    assert here(elsewhere, environ).identity == "gh/acme/tool"
    (elsewhere / ".git" / "config").write_text(
        '[includeIf "onbranch:ma*"]\n\tpath = ~/remote\n[includeIf "gitdir/i:ELSEWHERE/"]\n\tpath = ~/rules\n'
    )
    assert here(elsewhere, environ).identity == TOOL


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "home"},
        {"HOME": "nowhere", "XDG_CONFIG_HOME": "home/.config"},
        {"GIT_CONFIG_GLOBAL": "home/.gitconfig"},
        {"GIT_CONFIG_SYSTEM": "home/.gitconfig", "GIT_CONFIG_NOSYSTEM": "0"},
    ],
)
def test_rules_of_the_user_and_the_machine_count(tmp_path: Path, environ: dict[str, str]) -> None:
    """Nicknames stand in the user's configuration, wherever that is."""
    (tmp_path / "home" / ".config" / "git").mkdir(parents=True)
    for file in (".gitconfig", ".config/git/config"):
        (tmp_path / "home" / file).write_text('[url "https://github.com/"]\n\tinsteadOf = gh:\n')
    root = repository(tmp_path / "tool", remote("gh:acme/tool"))
    where = {key: value if value == "0" else str(tmp_path / value) for key, value in environ.items()}
    assert here(root, ENVIRON | where).identity == TOOL


def test_git_in_the_environment_counts(tmp_path: Path) -> None:
    """In a git hook, with a working tree kept apart, and up to a ceiling, we look where git looks."""
    root = repository(tmp_path / "tool", remote("https://github.com/acme/tool"))
    (root / "sub").mkdir()
    (tmp_path / "other").mkdir()
    apart = ENVIRON | {"GIT_DIR": str(root / ".git"), "GIT_WORK_TREE": str(tmp_path / "other")}
    assert here(tmp_path / "other", apart)[:2] == (TOOL, str(tmp_path / "other"))
    assert here(root, ENVIRON | {"GIT_DIR": ".git"})[:2] == (TOOL, str(root))
    assert here(root, ENVIRON | {"GIT_DIR": "/nowhere"}).identity == TOOL
    assert here(root / "sub", ENVIRON | {"GIT_CEILING_DIRECTORIES": f"/x:{root}"}).identity == GLOBAL


def test_another_users_repository_names_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path on this machine is followed only to what is our own."""
    first = repository(tmp_path / "first", remote("https://github.com/acme/tool"))
    second = repository(tmp_path / "second", remote(str(first)))
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(first).st_uid + 1)
    assert here(second).identity == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", RepoFile("", None, (), "")),
        (
            'repo = "GitHub.com/Acme/Tool"\nshare = true\ncategories = ["db", "ui"]\n',
            RepoFile(TOOL, True, ("db", "ui"), ""),
        ),
        ('# why\n  repo="git@github.com:acme/tool.git"  \nshare=false', RepoFile(TOOL, False, (), "")),
        ('repo = "https://token:x@github.com/acme/tool" # note\n', RepoFile(TOOL, None, (), "")),
        ("categories = [\n  'db', # first\n  \"u\\u0069\",\n]\n", RepoFile("", None, ("db", "ui"), "")),
        (
            'categories = ["a-b", "a-b"]\nother = 3\n[table]\nx = 1\n',
            RepoFile("", None, ("a-b",), "", ("other", "table")),
        ),
        ("categories = []", RepoFile("", None, (), "")),
        ('repo = "tool"\n', RepoFile("", None, (), ".clan-mesh.toml: repo is not host/owner/name")),
        (
            'repo = 3\nshare = "yes"\n',
            RepoFile("", False, (), ".clan-mesh.toml: repo is not host/owner/name, share is not true or false"),
        ),
        (
            'categories = "db"\nrepo = "github.com/acme/tool"',
            RepoFile(TOOL, None, (), ".clan-mesh.toml: categories is not a list of at most 64 short words"),
        ),
    ],
)
def test_the_repositorys_own_file(text: str, expected: RepoFile) -> None:
    """What is right in it counts, what is wrong is said."""
    assert parse_repo_file(text) == expected


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ('repo = "github.com/acme/tool"\nshare = true\ncategories = ["db"]\n', ""),
        ("[search]\nlimit = 10\n", "[search] is not supported yet"),
        ("[decay]\ndays = 90.5\n[compound]\n", "[decay], [compound] are not supported yet"),
        ("[quality_gate]\nleast = 0.5\n", "[quality_gate] is not supported yet"),
        ("shaer = false\n", "shaer (did you mean share?) is not known"),
        ("category = ['db']\ncolour = 'red'\n", "category (did you mean categories?), colour are not known"),
        ("[search]\n[mesh]\nx = 1\n", "[search] is not supported yet and mesh is not known"),
        ('"odd\\u001b" = 1\n', "odd? is not known"),
    ],
)
def test_what_is_unknown_in_the_file_is_named_and_harms_nothing(text: str, remark: str) -> None:
    """An older node must be able to read a newer file; a misspelt key must not go unnoticed."""
    file = parse_repo_file(text)
    assert file.remark == (f"{remark}: what stands there changes nothing" if remark else "")
    assert file.problem == ""


@given(st.text(alphabet='[]"#= \n.01abé_', max_size=40) | st.text(max_size=40))
def test_simple_files_are_read_as_a_toml_parser_reads_them(text: str) -> None:
    """The few lines that are read without one mean the same with one."""
    values = plain_lines(text)
    if values is not None:
        assert tomllib.loads(text) == values


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("share = maybe\n", False),
        ("share = = false\n", False),
        ('repo = "github.com/acme/tool"\nshare = 0\n', False),
        ("Share = false\n", False),
        ("[mesh]\nshare = true\n", False),
        ("\ufeffshare = false\n", False),
        ("repo = = 3\n", None),
        ('categories = ["share"]\n', None),
        ("# share = false\nshared = 1\n", None),
    ],
)
def test_sharing_that_cannot_be_understood_is_none(text: str, share: bool | None) -> None:  # noqa: FBT001
    """A file that speaks of it and cannot be read forbids it, and says what to write."""
    file = parse_repo_file(text)
    assert file.share is share
    assert ("share = true, or share = false" in file.why_unshared) == (share is False)


def test_the_repositorys_own_file_chooses_among_its_remotes(tmp_path: Path) -> None:
    """A fork may be called by any of them; a file that cannot be read is said and chooses none."""
    root = repository(
        tmp_path / "tool", remote("https://github.com/ada/fork") + remote("https://github.com/acme/tool", "hub")
    )
    file = root / ".clan-mesh.toml"
    file.write_text('repo = "github.com/acme/tool"\nshare = true\n')
    (root / "sub").mkdir()
    assert here(root / "sub").identity == TOOL
    assert here(root / "sub").file.share is True
    file.write_text('repo = "open')
    assert here(root).identity == "github.com/ada/fork"
    assert here(root).file.problem.startswith(".clan-mesh.toml is not TOML: ")
    file.unlink()
    os.mkfifo(file)
    assert here(root).file.repo == ""
    assert here(root).file.problem == ".clan-mesh.toml cannot be read as a plain file of at most 64 KB"


@given(st.text(alphabet='[]"\\#;= \t\n\rabc.-~/:', max_size=60) | st.text(max_size=60))
def test_any_configuration_is_read_to_an_end(text: str) -> None:
    """No bytes make the reader fail."""
    for section, _, key, _ in git_config.parse(text):
        assert section == section.lower()
        assert key


@given(st.text(alphabet="[]@:/.%?#ab1 ", max_size=40) | st.text(max_size=40))
def test_any_address_is_read_to_an_end_and_without_its_secret(text: str) -> None:
    """A name is printable, small, and the same when it is read again."""
    for address in (text, f"https://user:s3cret@example.org/{text}", f"ssh://{text}"):
        identity = identity_of(address)
        assert identity.isprintable()
        assert len(identity) <= 300
        assert "s3cret" not in identity


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
@pytest.mark.parametrize(
    "line",
    [
        "x = a b",
        'x = "a  b" c',
        "x = a # c",
        'x = "a # c"',
        "x",
        "x =",
        "x = a\\\n  b",
        'x = \\t\\n\\"',
        "x = a ; b",
        'x = ""',
    ],
)
def test_values_are_what_git_reads(tmp_path: Path, line: str) -> None:
    """Quotes, comments, escapes and continued lines mean the same to us as to git."""
    (tmp_path / "config").write_text(f"[s]\n\t{line}\n")
    said = subprocess.run(
        ["git", "config", "--file", "config", "--get", "s.x"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    ours = git_config.parse((tmp_path / "config").read_text())[0][3]
    assert ours == ("true" if line == "x" else said.removesuffix("\n"))
