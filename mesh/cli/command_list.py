"""Every command: where it is, what it does in one sentence, and under which heading the overview has it. Imports nothing.

This is what `mesh --help` prints and what a misspelt command is compared with. A command's module is loaded only to run it.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One command. `place`: its module, and the function in it if that is not `main`. Of a group: empty."""

    place: str
    sentence: str
    is_rare: bool = False  # only in `mesh help --all`


SECTIONS: dict[str, dict[str, Entry]] = {
    "every day": {
        "setup": Entry("setup", "Make or join a mesh, get into the agents here, start the node and keep it running."),
        "status": Entry("status", "Say whether the node runs, who is in step, and what needs you."),
        "discover": Entry("discover", "Record something that was found out."),
        "correct": Entry("correct", "Record a mistake and the right way, and count it under its pattern."),
        "search": Entry("search", "Find records: by words, by names, and by meaning where there are vectors."),
        "tail": Entry("tail", "Show the newest records."),
        "hot": Entry("hot", "Show the mistakes that several sessions made: what every session is told."),
        "show": Entry("one_record:run_show", "Show a record with all it says."),
        "why": Entry("one_record:run_why", "Say where a record comes from, what became of it and what it counts for."),
        "edit": Entry("one_record:run_edit", "Change what a record says."),
        "retract": Entry("one_record:run_retract", "Take a record back: it counts nowhere any more."),
        "pattern": Entry("", "Work with patterns: add, list, show, edit, supersede, alias, unalias, archive."),
        "tiers": Entry("tiers", "Say what is HOT, WARM, in the BANK and in the ARCHIVE.", is_rare=True),
        "mute": Entry("mute", "Hide a record, a node or a pattern, on this node only."),
        "demo": Entry("demo", "See it work: three nodes on this machine, in a temporary folder, for some seconds."),
    },
    "sessions of agents": {
        "context": Entry("context", "Show what a session is given at its start."),
        "quiet": Entry("quiet", "Have the hooks of this machine say nothing for a while."),
        "install": Entry("install:run_install", "Put hooks, tools and a skill of ours into coding agents."),
        "uninstall": Entry("install:run_uninstall", "Take them out of coding agents again."),
        "harvest": Entry("harvest", "Learn from finished sessions: capture, cluster, judge and record in one go."),
        "curate": Entry("curate", "Decide about what was harvested: accept, edit, reject, merge."),
        "share": Entry("share", "Say which repositories' harvest may leave this node."),
        "capture": Entry(
            "capture",
            "Take finished sessions of coding agents in, to learn from; they stay on this machine.",
            is_rare=True,
        ),
        "sample": Entry("sample", "Say which sessions are worth harvesting first.", is_rare=True),
        "detect": Entry("detect", "Say what several sessions came upon, ranked.", is_rare=True),
        "hook": Entry("hook_help", "Answer a coding agent's hook: what agents call, not people.", is_rare=True),
        "mcp": Entry("mcp", "Serve coding agents over MCP, on stdin and stdout.", is_rare=True),
    },
    "pages and documents": {
        "page": Entry(
            "", "Work with pages: new, list, show, edit, append, rename, remove, history, links, watch and more."
        ),
        "learnings": Entry("", "Work with learning documents: add, edit, list, show, stats, export, import."),
        "render": Entry("render", "Write what is known as files, for people, grep and git.", is_rare=True),
    },
    "the fleet": {
        "peers": Entry("peers", "Say who is there, who is in step and who lacks what."),
        "invite": Entry("joining:run_invite", "Let another machine join: make a token."),
        "join": Entry("joining:run_join", "Become a member of a mesh with a token."),
        "leave": Entry("membership:run_leave", "Say goodbye to the mesh."),
        "settings": Entry("settings", "Show or change what the whole mesh has agreed on."),
        "proposals": Entry(
            "proposals", "Say what others want to change and what waits for somebody to agree; grant or dismiss it."
        ),
        "revoke": Entry("revoke", "End a node: what it writes from now on counts nowhere."),
        "admit": Entry("membership:run_admit", "Certify a node, where the root key is.", is_rare=True),
        "admin": Entry(
            "membership:run_admin", "Name an admin, where the root key is, or list the admins.", is_rare=True
        ),
        "quota": Entry(
            "quota", "Say how much each member has written and may write, or let one write more.", is_rare=True
        ),
        "recover": Entry("recover", "Put a new root key in the place of a lost or stolen one.", is_rare=True),
        "homes": Entry(
            "homes",
            "Say which repositories belong to which home, where several teams share a machine.",
            is_rare=True,
        ),
        "trust-repo": Entry(
            "trust_repo",
            "Let the checkout in a folder name its repository itself, or take that back.",
            is_rare=True,
        ),
    },
    "care": {
        "up": Entry("node_process:run_up", "Run the node, in the foreground or in the background."),
        "down": Entry("node_process:run_down", "Stop the node's sidecar."),
        "doctor": Entry("doctor", "Say what is not as it should be, and what to do about it."),
        "logs": Entry("logs", "Show what the node has written into its log."),
        "service": Entry("service", "Keep the node running by the system's own means."),
        "erase": Entry("erase", "Take a record's text out of every node, for ever."),
        "export": Entry("bundles:run_export", "Write a bundle: everything, or what a vector lacks."),
        "import": Entry("bundles:run_import", "Merge bundles from other nodes, or take in what you had before."),
        "verify": Entry("integrity:run_verify", "Check every chain, signature and view from nothing."),
        "repair": Entry(
            "integrity:run_repair", "Save what can be read of a damaged database into a new one.", is_rare=True
        ),
        "index": Entry(
            "index", "Say what search runs on, make its indexes anew, or choose a model for meanings.", is_rare=True
        ),
        "init": Entry("init", "Make a node: a mesh of its own, or one that asks to belong to a mesh.", is_rare=True),
        "simulate": Entry(
            "simulate", "Run many nodes under virtual time, with faults, and check what must hold.", is_rare=True
        ),
        "op": Entry("", "Drive the replicated types by hand: add, remove, set, count, list, get, total.", is_rare=True),
        "completion": Entry("completion", "Print what makes a shell complete commands and options."),
        "help": Entry("help", "Show this overview, or the help of a command."),
        "version": Entry("version", "Say which version this is."),
    },
}
COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


class Group(NamedTuple):
    """A command whose first word is a command of its own."""

    about: str
    example: str
    members: dict[str, Entry]


GROUPS = {
    "op": Group(
        "Drive the replicated types by hand.",
        'mesh op add discoveries "HTTP 405 on push means branch protection"',
        {
            "add": Entry("op:add", "Add a record to a log (OR-Set)."),
            "remove": Entry("op:remove", "Remove records that were seen (OR-Set); a concurrent add stays."),
            "set": Entry("op:set_", "Set a field of a record, or of a key (LWW-Register)."),
            "count": Entry("op:count", "Count something (G-Counter)."),
            "list": Entry("op:list_", "List the live records of a log."),
            "get": Entry("op:get", "Show a record with its fields, or the fields of a key."),
            "total": Entry("op:total", "Show a counter's value."),
        },
    ),
    "pattern": Group(
        "Work with patterns: what works, by name.",
        'mesh pattern add "retry uploads with a fresh token" --topic uploads',
        {
            "add": Entry("pattern:add", "Record what works, before any correction."),
            "list": Entry("pattern:list_", "List patterns: HOT ones first, then the newest."),
            "show": Entry("pattern:show", "Show a pattern: its names, its corrections, what it stands beside."),
            "edit": Entry("pattern:edit", "Change a pattern's rule or topic, or where it holds."),
            "supersede": Entry("pattern:supersede", "Put one pattern in the place of another, which ends."),
            "alias": Entry("pattern:alias", "Let two names stand for one pattern."),
            "unalias": Entry("pattern:unalias", "Let a name stand for itself again."),
            "archive": Entry(
                "pattern:archive", "End a pattern, until as many further sessions need it as make one HOT."
            ),
            "approve": Entry(
                "pattern:approve",
                "Let a pattern be HOT that one machine alone has needed, in the words that stand for it now. For admins.",
            ),
        },
    ),
    "page": Group(
        "Work with pages: Markdown that people and agents edit at once.",
        'mesh page new runbooks/deploy --text "# Deploy"',
        {
            "new": Entry("page_writing:new", "Make a page."),
            "list": Entry("page_reading:list_", "List the pages."),
            "show": Entry("page_reading:show", "Print a page, as it is or as it was."),
            "edit": Entry("page_edit:edit", "Edit a page in your editor, or replace its text."),
            "append": Entry("page_writing:append", "Add lines to the end of a page."),
            "rename": Entry("page_writing:rename", "Give a page another name."),
            "remove": Entry("page_writing:remove", "Take a page away; it can be restored."),
            "restore": Entry("page_writing:restore", "Bring a removed page back."),
            "history": Entry("page_history:history", "Say who edited a page, and when."),
            "links": Entry("page_reading:links", "Say what a page links to, and what links to it."),
            "merge": Entry("page_writing:merge", "Bring two pages into one."),
            "settle": Entry("page_writing:settle", "Say that what was edited at once has been read over."),
            "erase": Entry("page_erase:erase", "Take a text out of a page and its history, on every node."),
            "watch": Entry("page_watch:watch", "Keep a folder in step with the pages, or list such folders."),
            "unwatch": Entry("page_watch:unwatch", "Let a watched folder go; its files stay."),
            "retry": Entry("page_writing:retry", "Try again what ended the text worker."),
        },
    ),
    "learnings": Group(
        "Work with documents: a problem, its solution, how to prevent it.",
        "mesh learnings list --category build-errors --min-quality 0.7",
        {
            "add": Entry("learnings_edit:add", "Record a document: from options, from a file, or from stdin."),
            "edit": Entry("learnings_edit:edit", "Change a document: field by field, or in an editor."),
            "list": Entry("learnings:list_", "List documents, the newest first."),
            "show": Entry("learnings:show", "Show a document, as Markdown."),
            "stats": Entry(
                "learnings:stats_", "Say how many there are, how good, how old, and how often they are opened."
            ),
            "export": Entry("learnings:export", "Write documents as Markdown files, by category."),
            "import": Entry("learnings:import_", "Take in what people wrote or changed in such files."),
        },
    ),
}

NAMES = [  # as they are typed
    typed
    for name in COMMANDS
    for typed in (name, *(f"{name} {member}" for member in (GROUPS[name].members if name in GROUPS else ())))
]
