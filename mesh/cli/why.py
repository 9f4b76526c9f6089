"""`mesh why`: the history of a record."""

from mesh.cli.arguments import parser
from mesh.cli.output import plain, print_json, when
from mesh.cli.records import locate
from mesh.core.ids import display_name, text_id
from mesh.store.home import open_home
from mesh.store.provenance import provenance
from mesh.store.store import Store


def main(argv: list[str]) -> int:
    """Author, time, signature, place in the chain, and what befell the record."""
    arguments = parser("why", "mesh why 7k3qmzpa")
    arguments.add_argument("id", metavar="ID", help="a record's id, or its beginning")
    given = arguments.parse_args(argv)
    store, tag = locate(open_home(given.home), given.id)
    story = provenance(store, tag)
    if given.json:
        print_json(
            {
                "id": text_id(tag),
                "kind": story.kind,
                "author": text_id(story.node),
                "name": _name(store, story.node),
                "written": when(story.written_ms or 0),
                "feed": story.feed,
                "seq": story.seq,
                "hash": story.hash.hex(),
                "signed_at": story.point,
                "signature_holds": story.signature_holds,
                "state": story.state,
                "copies": story.copies,
                "record": story.record,
                "events": [
                    {
                        "what": event.what,
                        "by": text_id(event.node),
                        "name": _name(store, event.node),
                        "at": when(event.at_ms),
                        "detail": event.detail,
                    }
                    for event in story.events
                ],
            }
        )
        return 0
    print(f"{text_id(tag)}  {story.kind}, {story.state}")
    if story.record is not None:
        print(f"  says      {plain(story.record)}")
    print(f"  author    {_name(store, story.node)}  {text_id(story.node)}")
    print(f"  written   {when(story.written_ms or 0)}")
    print(f"  chain     operation {story.seq} of {story.feed}, hash {story.hash.hex()[:16]}")
    print(f"  signature over operation {story.point}: {'holds' if story.signature_holds else 'DOES NOT HOLD'}")
    if story.copies > 1:
        print(f"  copies    {story.copies}: written again after a feed was lost or forked")
    for event in story.events:
        print(f"  {event.what:<9} {when(event.at_ms)} by {_name(store, event.node)}: {plain(event.detail)}")
    return 0


def _name(store: Store, node: bytes) -> str:
    trust = store.trust()
    if node in trust.roots:
        return "the root key"
    member = trust.members.get(node)
    return display_name(member.name if member else "", node)
