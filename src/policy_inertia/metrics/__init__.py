"""From episodes to figures, and the tables of figures that policies carry."""
