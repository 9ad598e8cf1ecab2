"""What a program of `cprograms` gives when clang compiles it for the host: a reference that xeemu has no part in.

clang compiles OpenCL C as it stands (`-x cl`); a small host program calls the kernel for each work-item, as a coroutine
that a barrier leaves.
"""

import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

import cprograms
import numpy as np

_HOST = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#define SIZE (1 << 18)
static int item, group, size, waiting[64], done[64];
static ucontext_t back, contexts[64];
static char stacks[64][SIZE];
unsigned long _Z13get_global_idj(unsigned d) { return d ? 0 : group * size + item; }
unsigned long _Z12get_local_idj(unsigned d) { return d ? 0 : item; }
unsigned long _Z12get_group_idj(unsigned d) { return d ? 0 : group; }
void meet(void) { int me = item; swapcontext(&contexts[me], &back); item = me; }
extern void k(int*, int*, int*, float*, int*, int, unsigned);
static int out[%(out)d], in[%(inputs)d], in2[%(inputs)d], counters[%(counters)d], n, m;
static float fin[%(inputs)d];
static void enter(void) { k(out, in, in2, fin, counters, n, m); done[item] = 1; swapcontext(&contexts[item], &back); }
static void take(void* to, int bytes) { if (fread(to, 1, bytes, stdin) != bytes) exit(2); }
int main(void) {
    take(&n, 4); take(&m, 4); take(out, sizeof out); take(in, sizeof in); take(in2, sizeof in2);
    take(fin, sizeof fin); take(counters, sizeof counters);
    size = %(local)d;
    for (group = 0; group < %(groups)d; group++) {
        for (int i = 0; i < size; i++) {
            getcontext(&contexts[i]);
            contexts[i].uc_stack.ss_sp = stacks[i];
            contexts[i].uc_stack.ss_size = SIZE;
            makecontext(&contexts[i], enter, 0);
            done[i] = 0;
        }
        for (int left = size; left;) {
            left = 0;
            for (int i = 0; i < size; i++) {
                if (done[i]) continue;
                item = i;
                swapcontext(&back, &contexts[i]);
                left += !done[i];
            }
        }
    }
    fwrite(out, 1, sizeof out, stdout);
    fwrite(counters, 1, sizeof counters, stdout);
    return 0;
}
"""
_COUNTER = "({ volatile global int* p_ = (p); int x_ = (x); %s; })"
_PRELUDE = f"""
void meet(void);
#define barrier(flags) meet()
#define atomic_add(p, x) {_COUNTER % "*p_ += x_"}
#define atomic_or(p, x) {_COUNTER % "*p_ |= x_"}
#define atomic_and(p, x) {_COUNTER % "*p_ &= x_"}
#define atomic_xor(p, x) {_COUNTER % "*p_ ^= x_"}
#define atomic_max(p, x) {_COUNTER % "*p_ = *p_ > x_ ? *p_ : x_"}
#define atomic_min(p, x) {_COUNTER % "*p_ = *p_ < x_ ? *p_ : x_"}
#line 1
"""
_FLAGS = ("-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-w", "-fwrapv", "-ffp-contract=off")
_SECONDS = 10


class Unusable(Exception):
    """A program that clang does not compile, or that does not end."""


def compiler() -> str | None:
    """The path of clang, if the machine has one."""
    return shutil.which("clang")


@functools.cache
def _host() -> str:
    folder = tempfile.mkdtemp()
    source, made = os.path.join(folder, "host.c"), os.path.join(folder, "host.o")
    sizes = {
        "out": cprograms.GROUPS * cprograms.LOCAL * cprograms.SLOTS, "inputs": cprograms.INPUTS,
        "counters": cprograms.COUNTERS, "local": cprograms.LOCAL, "groups": cprograms.GROUPS,
    }  # fmt: skip
    pathlib.Path(source).write_text(_HOST % sizes)
    subprocess.run([str(compiler()), "-O1", "-w", "-c", source, "-o", made], check=True)
    return made


def run(text: str, arguments: tuple, level: str = "-O0") -> tuple[np.ndarray, np.ndarray]:
    """The outputs and counters after the kernel has run.

    Raises:
      Unusable: it is no valid program, or does not end in a few seconds.
    """
    out, in1, in2, fin, counters, n, m = arguments
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "k.cl"), os.path.join(folder, "k")
        pathlib.Path(source).write_text(_PRELUDE + text)
        _call([str(compiler()), *_FLAGS, level, "-c", source, "-o", program + ".o"])
        _call([str(compiler()), program + ".o", _host(), "-o", program])
        given = [np.int32(n), np.uint32(m), out, in1, in2, fin, counters]
        data = _call([program], b"".join(np.asarray(x).tobytes() for x in given))
    found = np.frombuffer(data, np.int32)
    return found[: out.size], found[out.size :]


def _call(command: list[str], given: bytes = b"") -> bytes:
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Unusable("does not end") from None
    if done.returncode:
        raise Unusable(done.stderr.decode()[:500] or f"exit {done.returncode}")
    return done.stdout
