"""Pure: ids, clock, CRDTs, operations, feeds, statements, trust, vector. No I/O, no asyncio, nothing else of ours."""
