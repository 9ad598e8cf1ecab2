"""A launch: what is asked for, checked, cut into chunks and carried out, on one device or many."""
