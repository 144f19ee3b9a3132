"""From pods that wait to NodeClaims."""
