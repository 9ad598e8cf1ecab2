"""Dialect: what advice calls the things that a user writes, in the language of the kernel.

Findings, hints and refusals say what to write instead. They say it in the language that the kernel is written in; what
they find does not depend on it.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Dialect:
    """Phrases of one language.

    Attributes:
      language: its name.
    """

    language: str


PYTHON = Dialect("Python")
OPENCL_C = Dialect("OpenCL C")
