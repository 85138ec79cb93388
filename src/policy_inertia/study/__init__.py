"""Studies: many runs declared as data, carried out, analysed and reported."""
