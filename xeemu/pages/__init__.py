"""Pages: what xeemu tells as HTML that needs nothing else, no network either."""
