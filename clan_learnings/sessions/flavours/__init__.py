"""One module for each flavour of transcripts: it recognises its own by content and reads them as `transcript_events`. Adding one is one file.

A module here has `NAME`, as in `flavour:id` of records; `recognises(source)`, asked before anything is read; and
`read(source)`, which gives the sessions of a transcript. `ORDER`, a number, says who is asked later (0 if a module has none):
the more transcripts of others it would take for its own, the higher. They never look at a file's name to tell what it is, and
reach what lies beside it only through `source.beside`. What they raise is caught in `recognise`, but costs the session.
"""
