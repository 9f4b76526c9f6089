"""One module a flavour of transcripts: recognises its own by content, and tells it in the words of `events`. Adding one is one file.

A module here has `NAME`, as in `flavour:id` of records; `recognises(source)`, asked before anything is read; and
`read(source)`, which gives the sessions of a transcript. They never look at a file's name to tell what it is.
"""
