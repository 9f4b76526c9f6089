"""Who may speak to whom: certificates, TLS contexts, invitations, joining. Knows no gossip."""
