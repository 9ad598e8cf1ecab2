"""Broken sources: what is said of each, its first line and place; nothing else is raised."""

import pytest

import xeemu as xe
from xeemu.frontends.parsing import clang, options, programs

pytest.importorskip("clang.cindex")


def kernel(body, parameters="__global int *g"):
    return f"__kernel void k({parameters}) {{\n  {body}\n}}\n"


# Errors of clang's, as it says them: the text, the line and column, and the message.
CLANG = {
    kernel("g[0] = 1"): (2, 11, "expected ';' after expression"),
    kernel("g[0] = x;"): (2, 10, "use of undeclared identifier 'x'"),
    kernel("int x = ;"): (2, 11, "expected expression"),
    kernel("float4 v; v = 1; v.x.y = 1;"): (2, 23, "member reference base type '__private float' is not a structure"),
    kernel("float4 v = (float4)(1, 2);"): (2, 22, "too few elements in vector initialization"),
    "__kernel int k() { return 1; }": (1, 14, "kernel must have void return type"),
    kernel("", "int *g"): (1, 22, "pointer arguments to kernel functions must reside in '__global'"),
    kernel("const int x = 1; x = 2;"): (2, 22, "cannot assign to variable 'x' with const-qualified type"),
    kernel("for (int i = 0; i < 3; i++ { }"): (2, 30, "expected ')'"),
    kernel("if (1) {"): (3, 2, "expected '}'"),
    '#include "nowhere.h"\n' + kernel(""): (1, 10, "'nowhere.h' file not found"),
    "#error stop here\n" + kernel(""): (1, 2, "stop here"),
    "#define F(x) x\n" + kernel("F(1, 2);"): (3, 8, "too many arguments provided to function-like macro"),
    "#if 1\n" + kernel(""): (1, 2, "unterminated conditional directive"),
    kernel("struct S s;"): (2, 12, "variable has incomplete type"),
    kernel("int x; int x;"): (2, 14, "redefinition of 'x'"),
    kernel("break;"): (2, 3, "'break' statement not in loop or switch statement"),
    kernel("switch (1) { case 1: case 1: ; }"): (2, 29, "duplicate case value '1'"),
    kernel("g[get_globl_id(0)] = 1;"): (2, 5, "undeclared identifier 'get_globl_id' (did you mean 'get_global_id'?)"),
    kernel("int number; numbr = 1;"): (2, 15, "undeclared identifier 'numbr'; did you mean 'number'?"),
    kernel("__syncthreads();"): (2, 3, "a word of CUDA; OpenCL C has barrier(CLK_LOCAL_MEM_FENCE)"),
    kernel("atomic_add((__global float *)g, 1.0f);"): (2, 3, "ambiguous; it takes integers"),
    kernel("goto nowhere;"): (2, 8, "use of undeclared label 'nowhere'"),
    kernel("g->x = 1;"): (2, 4, "member reference base type '__global int' is not a structure or union"),
    kernel("1 = g[0];"): (2, 5, "expression is not assignable"),
    kernel("*g[0] = 1;"): (2, 3, "indirection requires pointer operand"),
    kernel("min(1, 2.0f);"): (2, 3, "call to 'min' is ambiguous"),
    kernel("barrier();"): (2, 11, "too few arguments to function call, expected 1, have 0"),
    kernel("__local float *p = g;"): (2, 18, "changes address space of pointer"),
    kernel("as_float((char)1);"): (2, 3, "invalid reinterpretation: sizes of 'float' and 'char' must match"),
    kernel("float f = 1; f %= 2;"): (2, 18, "invalid operands to binary expression"),
    kernel("{ __local int t[4]; }"): (2, 17, "can only be declared in the outermost scope of a kernel function"),
    kernel("int n = 3; int a[n];"): (2, 20, "variable length arrays are not supported in OpenCL"),
    "int f(int x) { return x; }\n" + kernel("int (*p)(int) = f;"): (3, 8, "pointers to functions are not allowed"),
    "struct S { int b : 3; };\n" + kernel(""): (1, 16, "bit-fields are not supported in OpenCL"),
    "int f(int n, ...) { return n; }\n" + kernel(""): (1, 5, "variadic arguments are not allowed in OpenCL"),
    "class A {};\n" + kernel(""): (1, 1, "unknown type name 'class'"),
    kernel("write_imagef(im, (int2)(0), 1);", "read_only image2d_t im"): (2, 3, "no matching function"),
    kernel("float f = 1.0g;"): (2, 16, "invalid suffix 'g' on floating constant"),
    kernel("int x = (int4)(1) + (int2)(1);"): (2, 21, "implicit conversions between vector types"),
    kernel("if ((int4)(1)) ;"): (2, 3, "statement requires expression of scalar type"),
    kernel("return 1;"): (2, 3, "void function 'k' should not return a value"),
    kernel("g = 1.0f;"): (2, 5, "assigning to '__global int *__private' from incompatible type 'float'"),
}

# What clang takes and kernels here do not: the text, the line and column, and the message's beginning.
REFUSED = {
    kernel("goto out; out: ;"): (2, 3, "goto; write a loop with break and continue, or a flag"),
    kernel("again: g[0]++;"): (2, 3, "a label for goto; write a loop"),
    "int f(int x) { return x ? f(x - 1) : 0; }\n" + kernel("g[0] = f(3);"): (
        1,
        27,
        "recursion: f -> f; OpenCL C has none",
    ),
    "int b(int x);\nint a(int x) { return b(x); }\nint b(int x) { return x ? a(x - 1) : 1; }\n"
    + kernel("g[0] = a(3);"): (
        3,
        27,
        "recursion: a -> b -> a; OpenCL C has none",
    ),
    kernel("k(g);"): (2, 3, "recursion: k -> k;"),
    kernel("int (^b)(int) = ^(int x) { return x; };"): (2, 9, "a block; write a function"),
    kernel('__asm__ volatile ("nop");'): (2, 3, "inline assembly; write it in OpenCL C"),
    kernel("", "pipe int p"): (1, 26, "a pipe; write a buffer with an atomic counter"),
    kernel("queue_t q = get_default_queue();"): (
        2,
        11,
        "enqueueing from a kernel; launch the second kernel from the host",
    ),
    kernel("g[0] = __builtin_bswap32(g[0]);"): (2, 10, "__builtin_bswap32 is a function of one compiler; write OpenCL"),
    kernel("switch (g[0]) { case 0: do { case 1: g[0]--; } while (g[0]); }"): (2, 32, "a case label inside of another"),
    kernel("switch (g[0]) { case 0: if (g[1]) default: g[0]--; }"): (2, 37, "a default label inside of another"),
    kernel("switch (g[0]) { g[0] = 1; case 0: ; }"): (2, 19, "a statement before the first case is never executed"),
    kernel("g[0] = g[1] ?: 3;"): (2, 10, "an expression of one compiler's own; write it in OpenCL C"),
    kernel("void *p = &&out; out: ;"): (2, 13, "the address of a label; write a switch"),
    kernel("g[0] = _Generic(1, int: 2, default: 3);"): (2, 10, "_Generic; write the expression that it chooses"),
    kernel("_Complex float z;"): (2, 18, "the type _Complex float"),
    "typedef int int5 __attribute__((ext_vector_type(5)));\n" + kernel("int5 v;"): (3, 8, "the type int"),
    "extern int table[];\n" + kernel("g[0] = table[1];"): (1, 12, "an array without a size; give it one"),
}


def error(text, **options):
    """The error of a text, of which the kernels are read too."""
    with pytest.raises(xe.KernelError) as raised:
        bodies(text, **options)
    return str(raised.value)


def bodies(text, **options):
    return [k.body for k in programs.program(text, **options).kernels]


def caret(text, line, column):
    """The line of a text and a caret, as messages show them."""
    return f"    {text.splitlines()[line - 1]}\n    {' ' * (column - 1)}^"


def test_clang_s_errors_are_shown_with_the_line_and_a_caret():
    for text, (line, column, message) in CLANG.items():
        first, second, *rest = error(text).split("\n")
        assert " does not compile, " in first
        name = first.partition(" does not")[0]
        assert second.startswith(f"{name}:{line}:{column}: "), (text, second)
        assert message in second, (text, second)
        if line <= len(text.splitlines()):
            assert "\n".join(rest).startswith(caret(text, line, column)), text


def test_what_kernels_do_not_have_is_refused_with_what_to_write():
    for text, (line, column, message) in REFUSED.items():
        first, *rest = error(text).split("\n")
        assert first.startswith(message), (text, first)
        assert rest[0].endswith(f":{line}:{column}"), (text, rest)
        assert "\n".join(rest[1:]) == caret(text, line, column), text


def test_at_most_ten_errors_and_four_notes_are_shown():
    text = kernel("".join(f"x{i} = 1;\n" for i in range(12)))
    message = error(text)
    assert message.count(": error: ") == 10
    assert message.startswith("<opencl ")
    assert "does not compile, 12 errors:" in message
    assert message.endswith("and 2 more errors")
    message = error(kernel("vload4(0, 1);"))
    assert message.count(": note: ") == 4
    assert message.endswith(" more notes")


def test_errors_inside_of_macros_show_both_places():
    text = "#define STORE(p) p[0] = nowhere\n" + kernel("STORE(g);")
    message = error(text)
    assert ":3:3: error: use of undeclared identifier 'nowhere'\n      STORE(g);\n      ^\n" in message
    assert ":1:25: note: expanded from macro 'STORE'\n    #define STORE(p) p[0] = nowhere\n" in message


def test_the_version_with_the_fewest_errors_is_shown():
    """A pointer to a private pointer is of OpenCL C 1.2, in 2.0 it would be an error more."""
    text = "void f(float **p) { }\n" + kernel("__private float *q; f(&q); undeclared;")
    message = error(text)
    assert "1 error:" in message
    assert "undeclared" in message


def test_refusals_in_macros_and_with_tabs_show_the_line():
    text = "#define OUT goto out\n__kernel void k() {\n\tOUT;\n\tout: ;\n}\n"
    assert error(text).endswith(":3:2\n    \tOUT;\n    \t^")


def test_what_is_nested_too_deep_for_python():
    for nested in (" + ".join(["g[0]"] * 2000) + ";", " else ".join(["if (g[0]) g[1] = 1;"] * 1000)):
        assert error(kernel(nested)).startswith("nested in several hundred others; write it in parts")
    assert len(bodies(kernel("g[0] = " + " + ".join(["g[0]"] * 100) + ";"))[0].statements) == 1


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(xe.KernelArgumentError, match=r"nowhere\.cl is not there; a text needs a line break or a brace"):
        programs.program("nowhere.cl")
    with pytest.raises(xe.KernelArgumentError, match="is a folder"):
        programs.program(tmp_path)


def test_without_libclang_it_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    clang.bindings.cache_clear()
    monkeypatch.setattr(clang.importlib, "import_module", missing)
    with pytest.raises(xe.KernelArgumentError, match=r"pip install libclang"):
        clang.bindings()
    monkeypatch.undo()
    assert clang.bindings().conf.lib


def test_texts_that_are_no_programs():
    assert programs.program("\n").kernels == []
    assert programs.program("// {").kernels == []
    assert options.split("-D 'A=\"x y\"' -I b") == ["-D", 'A="x y"', "-I", "b"]
