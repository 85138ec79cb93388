"""Show the results of a study: an HTML page, figures and Markdown tables."""
