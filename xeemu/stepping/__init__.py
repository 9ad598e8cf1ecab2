"""A launch whose work-items go on one after the other, in an order drawn from a key."""
