"""What the clan knows: records, promotion, context, recall, harvest. Never imports `peers`. Not built yet."""
