"""The modelled devices, and what follows from their figures alone."""
