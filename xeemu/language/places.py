"""Places: a file and a line of the user's source, as messages name them."""

import os
import re
import sys

# Where IPython says that the code of a cell is: Jupyter names a file that does not exist, by a hash of the text.
_CELL = re.compile(r"[/\\]ipykernel_\d+[/\\]\d+\.py$|^<ipython-input-")


def full_place(file: str, line: int) -> str:
    """The path, as `from_here` has it, and the line; `cell In[3], line 11` in a cell of a notebook."""
    return f"{_cell(file)}, line {line}" if is_cell(file) else f"{from_here(file)}:{line}"


def short_place(file: str, line: int) -> str:
    """The same with the name of the file alone."""
    return full_place(file if is_cell(file) else os.path.basename(file), line)


def _cell(file: str) -> str:
    """A cell by the number that IPython shows beside it; without one where that is not known."""
    module = sys.modules.get("IPython")
    shell = module and module.get_ipython()
    label = shell and getattr(shell.compile, "format_code_name", lambda name: None)(file)
    return f"cell {label[1]}" if label else "cell"


def file_name(file: str) -> str:
    """The name of a file without its folders, for headings; `cell` for a cell of a notebook."""
    return "cell" if is_cell(file) else os.path.basename(file)


def is_cell(file: str) -> bool:
    """True if a file stands for a cell of a notebook."""
    return _CELL.search(file) is not None


def from_here(file: str) -> str:
    """The path of a file as texts show it: from the folder in which the program runs, if it lies in there."""
    try:
        here = os.path.join(os.getcwd(), "")
    except FileNotFoundError:  # the folder is gone
        return file
    return file.removeprefix(here)
