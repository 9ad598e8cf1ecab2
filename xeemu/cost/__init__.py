"""What a launch costs on a modelled device, and how long it would take there."""
