"""The process for derived work beside a running node: search indexes, rendered files, captured and harvested sessions.

The node starts, feeds and watches it, and alone writes to the store. Whatever is lost with it is made again.
"""
