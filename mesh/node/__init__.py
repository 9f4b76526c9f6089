"""The process beside the agent: composes store, peers and learnings. Nothing below imports it."""
