"""Counting what a transcript holds, without reading all of it: which lines matter is seen in their bytes, the others are not parsed.

The counts are exactly the adapters' own (`capture.flavours`), and a test says so for every transcript there is. A counter
that meets anything unusual gives up, and the adapter counts. Only sampling comes here; capturing always reads everything.
"""
