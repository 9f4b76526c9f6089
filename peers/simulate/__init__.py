"""Many engines under one virtual clock, with faults and a hostile peer. No wall clock, no sockets, no disk."""
