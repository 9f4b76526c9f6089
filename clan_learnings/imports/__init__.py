"""What people had before clan-mesh: rules in Markdown, other memories, files of lines. Read within bounds and with suspicion; writes nothing."""
