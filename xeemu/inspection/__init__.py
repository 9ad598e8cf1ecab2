"""What one work-group does, step by step: what its work-items hold and its local memory, after each line."""
