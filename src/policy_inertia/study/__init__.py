"""Studies: many runs as data, carried out anywhere, and what they found."""
