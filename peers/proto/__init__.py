"""Gossip without I/O: messages in, effects out. No asyncio, no sockets, no clock or randomness of its own."""
