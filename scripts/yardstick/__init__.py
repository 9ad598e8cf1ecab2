"""Real OpenCL C as the yardstick: what `scripts/corpus` runs, with our descriptions of others' kernels in manifest/."""
