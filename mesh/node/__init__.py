"""The running node: composes store, peers and learnings into one process. Nothing below imports it."""
