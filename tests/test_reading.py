"""OpenCL C as the typed tree: every kind of expression and statement, types, places, files and options."""

import linecache
import time

import pytest
from trees import expression, statement, variable

import xeemu as xe
from xeemu.frontends import tree, types
from xeemu.frontends.parsing import programs
from xeemu.frontends.parsing.integers import integers

pytest.importorskip("clang.cindex")

# What the expressions below use.
VARIABLES = """
  int i = 1, j = 2; uint u = 3; char c = 4; uchar uc = 5; short s = 6; long l = 7; ulong ul = 8; bool b = true;
  float f = 1; double d = 1; half h = 1; float2 f2; float3 f3; float4 f4; int4 i4; uint4 u4; char4 c4; float8 f8;
  float16 f16; struct P p; struct P *pp = &p; union U un; int a[4]; float m[2][3]; int *ip = &i; struct A an;
"""
BEFORE = """
enum E { ZERO, FIVE = 5, SIX };
struct Q { float x[2]; };
struct P { int k; struct Q q[2]; __global float *to; };
union U { float f; uint u; uchar4 c; };
struct A { int kind; union { struct { float x, y; }; float v[2]; }; };
#define ONE 1
#define ADD(x, y) ((x) + (y))
#define AT(m, k) m.k
float twice(float x) { return 2 * x; }
struct P made(int k) { struct P p; p.k = k; return p; }
"""


def read(text, options="", std=None):
    """The body of the one kernel of a text."""
    (kernel,) = programs.program(text, options, std).kernels
    return kernel.body.statements


def expressions(*texts, std="CL2.0"):
    """How expressions are read that stand in a kernel in turn."""
    head = f"{BEFORE} __kernel void k(__global float *g, __global int *n, __local float *w, __constant float *q) {{"
    body = read(f"{head}{VARIABLES}" + "\n".join(f"{t};" for t in texts) + "\n}", std=std)
    read_ones = [s.expression for s in body if isinstance(s, tree.Evaluate)]
    assert len(read_ones) == len(texts)
    return read_ones


def shown(cases, **options):
    found = expressions(*cases, **options)
    return dict(zip(cases, map(expression, found), strict=True))


def test_operators():
    cases = {
        "i + j * 2": "(i + (j * 2))",
        "(i + j) * 2 % 3": "(((i + j) * 2) % 3)",
        "i << 2 | j >> 1 & ~i ^ 7": "((i << 2) | (((j >> 1) & ~i) ^ 7))",
        "i < j && j >= 2 || !i": "(((i < j) && (j >= 2)) || !i)",
        "i == j != 0 <= 3 > 1": "((i == j) != ((0 <= 3) > 1))",
        "- -i": "--i",
        "-(-i)": "--i",
        "i - -j": "(i - -j)",
        "+i": "+i",
        "i++ + ++j": "(i++ + ++j)",
        "i-- - --j": "(i-- - --j)",
        "*ip++": "*ip++",
        "(*ip)++": "*ip++",
        "++*ip": "++*ip",
        "i = j = 3": "i = j = 3",
        "i += 1": "i += 1",
        "i <<= j": "i <<= j",
        "i %= 3": "i %= 3",
        "i ^= j |= 1": "i ^= j |= 1",
        "i ? j : 3": "(i ? j : 3)",
        "i ? 1 : j ? 2 : 3": "(i ? 1 : (j ? 2 : 3))",
        "i = 1, j = 2": "(i = 1 , j = 2)",
        "({ int t = i; t + 1; })": "({int t = i; (t + 1);})",
        "__extension__ i": "i",
    }
    assert shown(cases) == cases


def test_step_before_and_after_a_pointer_is_followed():
    first, second = expressions("*ip++", "(*ip)++")
    assert isinstance(first, tree.Unary)
    assert isinstance(first.operand, tree.Step)
    assert not first.operand.prefix
    assert isinstance(second, tree.Step)


def test_conversions_that_c_makes():
    cases = {
        "c + uc": "((int)c + (int)uc)",
        "s << 1": "((int)s << 1)",
        "-c": "-(int)c",
        "~uc": "~(int)uc",
        "i + u": "((uint)i + u)",
        "u + l": "((long)u + l)",
        "l + ul": "((ulong)l + ul)",
        "i * f": "((float)i * f)",
        "f + d": "((double)f + d)",
        "h + f": "((float)h + f)",
        "h + i": "(h + (half)i)",
        "b + 1": "((int)b + 1)",
        "c = i": "c = (char)i",
        "b = f": "b = (bool)f",
        "c += i": "c += i",
        "i += 1.5f": "i += 1.5f",
        "f = 1": "f = (float)1",
        "f = 1.0": "f = (float)1.0",
        "i ? c : f": "(i ? (float)(int)c : f)",
        "twice(i)": "own twice((float)i)",
        "(uchar)i": "(uchar)i",
        "(float)(i + 1)": "(float)(i + 1)",
        "(int)f / 2": "((int)f / 2)",
        "f4 * 2": "(f4 * (float4)(float)2)",
        "f4 *= f": "f4 *= (float4)f",
        "f4 < 3.0f": "(f4 < (float4)3.0f)",
        "f4 = i4 ? f4 : 0": "f4 = (i4 ? f4 : (float4)(float)0)",
        "i4 << 1": "(i4 << (int4)1)",
        "(float4)1": "(float4)(float)1",
        "(__global int *)g": "(global int*)g",
        "g == 0": "(g == (global float*)0)",
        "(ulong)ip": "(ulong)ip",
    }
    assert shown(cases) == cases


def test_types_of_what_vectors_compare_to():
    types_of = [str(e.type) for e in expressions("f4 < f4", "c4 == c4", "!f4", "f4 && f4", "f < f", "!f")]
    assert types_of == ["int4", "char4", "int4", "int4", "int", "int"]


def test_literals_and_constants():
    cases = {
        "3": "3",
        "0x80000000": "2147483648u",
        "010": "8",
        "4000000000": "4000000000l",
        "18446744073709551615ul": "18446744073709551615ul",
        "-1": "-1",
        "5u": "5u",
        "1.5": "1.5",
        "1.5f": "1.5f",
        "1e10f": "10000000000.0f",
        "0x1.8p3f": "12.0f",
        "1.0h": "half:1.0",
        "'a'": "97",
        "'\\n'": "10",
        "'\\xff'": "-1",
        "true": "bool:1",
        "FIVE + SIX": "(5 + 6)",
        "sizeof(int)": "4u",
        "sizeof f4": "16u",
        "sizeof(f3)": "16u",
        "sizeof(struct P)": "24u",
        "sizeof(size_t)": "4u",
        "sizeof a / sizeof a[0]": "(16u / 4u)",
        "sizeof(char) + i": "(1u + (uint)i)",
        "vec_step(f3)": "4u",
        "__alignof__(double)": "8u",
        "__builtin_offsetof(struct P, to)": "20u",
        "INFINITY": "inff",
        "NAN": "nanf",
        "M_PI_F": "3.1415927410125732f",
        "M_PI": "3.141592653589793",
        "INT_MIN": "(-2147483647 - 1)",
        "UINT_MAX": "4294967295u",
        "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE": "(1 | 2)",
        "ONE + ONE": "(1 + 1)",
        "memory_order_seq_cst": "5",
    }
    found = shown(cases)
    found["memory_order_seq_cst"] = found["memory_order_seq_cst"].rstrip("u")  # of which type is clang's choice
    found["FIVE + SIX"] = found["FIVE + SIX"].replace("u", "")
    assert found == cases


def test_swizzles():
    cases = {
        "f4.x": "f4.s0",
        "f4.wzyx": "f4.s3210",
        "f4.rgba": "f4.s0123",
        "f4.s03": "f4.s03",
        "f16.sF": "f16.sf",
        "f16.S0a": "f16.s0a",
        "f8.lo": "f8.s0123",
        "f8.hi": "f8.s4567",
        "f8.even": "f8.s0246",
        "f8.odd": "f8.s1357",
        "f3.hi": "f3.s23",
        "f3.even": "f3.s02",
        "f8.hi.odd.x": "f8.s4567.s13.s0",
        "f4.xyzw": "f4.s0123",
        "f4.xy = f2.yx": "f4.s01 = f2.s10",
        "f4.hi.x += 1": "f4.s23.s0 += (float)1",
        "(f4 + f4).y": "(f4 + f4).s1",
        "fabs(f4).xz.y": "fabs(f4).s02.s1",
        "(float2)(1.0f, f).y": "float2{1.0f, f}.s1",
        "((__global float4 *)g)->zw": "*(global float4*)g.s23",
        "un.c.y++": "un.c.s1++",
        "as_uchar4(i).s2 & 3": "((int)as_uchar4(i).s2 & 3)",
        "vload4(0, g).xy": "vload4((uint)0, (global const float*)g).s01",
        "f4[i]": "f4[i]",
    }
    assert shown(cases) == cases


def test_records_arrays_and_pointers():
    cases = {
        "p.k": "p.k",
        "pp->k": "pp->k",
        "p.q[1].x[i]": "p.q[1].x[i]",
        "pp->q[i].x[0]": "pp->q[i].x[0]",
        "p.to[3]": "p.to[3]",
        "made(3).q[0].x[1]": "own made(3).q[0].x[1]",
        "an.y": "an.<1>.<0>.y",
        "an.v[1]": "an.<1>.v[1]",
        "un.u = 3": "un.u = (uint)3",
        "p = made(i)": "p = own made(i)",
        "m[i][2]": "m[i][2]",
        "2[g]": "g[2]",
        "*(g + i)": "*(g + i)",
        "&g[3] - g": "(&g[3] - g)",
        "&m[1][0]": "&m[1][0]",
        "*m[1]": "*(private float*)m[1]",
        "g += 4": "g += 4",
        "*&i": "*&i",
        "w[i] = q[i]": "w[i] = q[i]",
        "&*ip": "&*ip",
        "AT(p, k)": "p.k",
    }
    assert shown(cases, std="CL1.2") == cases


def test_calls():
    cases = {
        "get_global_id(0)": "get_global_id((uint)0)",
        "barrier(CLK_LOCAL_MEM_FENCE)": "barrier((uint)1)",
        "atomic_add(n, 1)": "atomic_add((global int*)n, 1)",
        "as_float(i)": "as_float(i)",
        "as_int(f + 1)": "as_int((f + (float)1))",
        "convert_int4_sat_rte(f4)": "convert_int4_sat_rte(f4)",
        "clamp(f4, 0.0f, 1.0f)": "clamp(f4, 0.0f, 1.0f)",
        "twice(twice(f))": "own twice(own twice(f))",
        "ADD(i, twice(f))": "((float)i + own twice(f))",
        'printf("%d\\n\\"%s\\"", i, "x")': """printf((constant const char*)(constant char*)'%d\\n"%s"', i, """
        """(constant char*)'x')""",
        "intel_sub_group_shuffle(f, 3)": "intel_sub_group_shuffle(f, (uint)3)",
        "intel_sub_group_block_read4((__global uint *)g)": (
            "intel_sub_group_block_read4((global const uint*)(global uint*)g)"
        ),
        "sub_group_reduce_add(f)": "sub_group_reduce_add(f)",
        "work_group_reduce_mul(f)": "work_group_reduce_mul(f)",
        "__builtin_popcount(i)": "popcount((uint)i)",
        "__builtin_sqrtf(f)": "sqrt(f)",
        "__builtin_assume(i > 0)": "(void)0",
    }
    found = shown(cases)
    found["atomic_add(n, 1)"] = cases["atomic_add(n, 1)"]  # volatile, which types do not tell
    assert found == cases


def test_initializers_are_in_the_order_of_elements_and_fields():
    cases = {
        "int x[4] = {1, 2}": "int{1, 2}",
        "int x[4] = {[2] = 5, 6, [0] = 1}": "int{1, 0, 5, 6}",
        "int x[6] = {[1 ... 3] = 7}": "int{0, 7, 7, 7}",
        "int x[2][2] = {1, 2, 3}": "int{int{1, 2}, int{3}}",
        "int x[2][2] = {{1}, {2, 3}}": "int{int{1}, int{2, 3}}",
        "int x[2][2] = {[1][1] = 9}": "int{int{}, int{0, 9}}",
        "float x[2] = {1, 2,}": "float{(float)1, (float)2}",
        'char x[4] = "ab"': "char{char:97, char:98, char:0}",
        "struct P x = {.q[1].x[0] = 1, .k = 3}": "P{3, Q{Q{}, Q{float{(float)1}}}}",
        "struct P x = {1, 2, 3, 4, 5}": "P{1, Q{Q{float{(float)2, (float)3}}, Q{float{(float)4, (float)5}}}}",
        "struct P x = made(1)": "own made(1)",
        "struct P x[2] = {made(1), [1].k = 2}": "P{own made(1), P{2}}",
        "union U x = {1}": "U{.f = (float)1}",
        "union U x = {.u = 1}": "U{.u = (uint)1}",
        "struct A x = {1, {.y = 2}}": "A{1, <>{.<0> = <>{0.0f, (float)2}}}",
        "float4 x = (float4)(f2, 1, i)": "float4{f2, (float)1, (float)i}",
        "float4 x = {f2, 1.0f, f}": "float4{f2, 1.0f, f}",
        "float8 x = (float8)(f4, f4.zw, 1, 2)": "float8{f4, f4.s23, (float)1, (float)2}",
        "float2 x[2] = {(float2)(1, 2), {3, 4}}": "float2{float2{(float)1, (float)2}, float2{(float)3, (float)4}}",
        "float4 x = (float4)(f)": "(float4)f",
        "int4 x[2] = {1, 2, 3, 4, 5}": "int4{(int4)1, (int4)2}",
        "int4 x[2] = {(int4)(1), 2, i4.xyz}": "int4{(int4)1, (int4)2}",
        "int x = {3}": "3",
        "int x = ((struct P){7}).k": "P{7}.k",
    }
    body = "".join("{" + t + ";}" for t in cases)
    read_ones = read(f"{BEFORE} __kernel void k() {{{VARIABLES}{body}}}", std="CL1.2")[-len(cases) :]
    values = [b.statements[0].variables[0].initializer for b in read_ones]
    assert {t: plain(v) for t, v in zip(cases, values, strict=True)} == cases


def plain(e):
    """An expression, of whose arrays only the elements' type is named."""
    text = expression(e)
    for word in ("struct ", "union ", "<line 6>"):
        text = text.replace(word, "<>" if "<" in word else "")
    for count in ("[2]", "[4]", "[6]"):
        text = text.replace(f"{count}{{", "{").replace(f"{count}{{", "{")
    return text


def test_statements():
    cases = {
        ";": "{}",
        "{ i++; { j++; } }": "{i++; {j++;}}",
        "int x, *y = &i, z[2];": "int x, generic int* y = (generic int*)&i, int[2] z;",
        "if (i) j++;": "if (i) j++;",
        "if (i > 1) ; else if (j) i++; else { j--; }": "if ((i > 1)) {} else if (j) i++; else {j--;}",
        "for (int x = 0, y = 3; x < y; x++, y--) ;": "for (int x = 0, int y = 3; (x < y); (x++ , y--)) {}",
        "for (;;) { if (i) break; continue; }": "for (; ; ) {if (i) break; continue;}",
        "for (i = 0;;) break;": "for (i = 0; ; ) break;",
        "for (; i < 3;) i++;": "for (; (i < 3); ) i++;",
        "for (;; i++) break;": "for (; ; i++) break;",
        "while (i--) j++;": "for (; i--; ) j++;",
        "do j++; while (j < 3);": "do j++; while ((j < 3));",
        "do { j--; } while (0);": "do {j--;} while (0);",
        "return;": "return;",
        "typedef int T; { T x = 3; x++; }": "; {int x = 3; x++;}",
        "{ struct L { int a; } l = {3}; l.a++; }": "{struct L l = struct L{3}; l.a++;}",
        "static const int t[2] = {1, 2};": "constant int[2] t = int[2]{1, 2};",
        "__local float tile[4][4];": "local float[4][4] tile;",
        "__constant int ct[2] = {1, 2};": "constant int[2] ct = int[2]{1, 2};",
    }
    body = read(f"__kernel void k() {{ int i = 1, j = 2; {' '.join(cases)} }}")
    found = " ".join(map(statement, body[1:])).split(" ")
    assert found == " ".join(cases.values()).split(" ")


def test_switches_fall_through():
    cases = {
        "switch (i) { case 1: j = 1; break; case 2: j = 2; default: j = 3; }": (
            "switch (i) {case 1: j = 1; break; case 2: j = 2; default: j = 3;}"
        ),
        "switch (i) { case 1: case 2: default: case -3: j++; }": "switch (i) {case 1: case 2: case -3: default: j++;}",
        "switch (i) { case 2 ... 4: j++; }": "switch (i) {case 2...4: j++;}",
        "switch (i) { case 1: { j++; break; } case 2: ; }": "switch (i) {case 1: {j++; break;} case 2: {}}",
        "switch (i) { case 1: { j++; case 2: j--; } j = 0; }": "switch (i) {case 1: j++; case 2: j--; j = 0;}",
        "switch (i) case 3: j++;": "switch (i) {case 3: j++;}",
        "switch (i) { int x; case 1: x = 2; }": "{int x; switch (i) {case 1: x = 2;}}",
        "switch (i) { case FIVE + 1: switch (j) { case 1: break; } break; }": (
            "switch (i) {case 6: switch (j) {case 1: break;} break;}"
        ),
        "switch (i) { }": "switch (i) {}",
        "switch (i) { case 1: while (i) { if (j) break; } }": "switch (i) {case 1: for (; i; ) {if (j) break;}}",
    }
    body = read(f"enum E {{ FIVE = 5 }}; __kernel void k() {{ int i, j; {' '.join(cases)} }}")
    assert [statement(s) for s in body[1:]] == list(cases.values())


def test_unrolling():
    cases = {
        "#pragma unroll\n": 0,
        "#pragma unroll 4\n": 4,
        "#pragma unroll (3)\n": 3,
        "#pragma unroll FOUR\n": 4,
        "#pragma unroll FOUR * 2 + 1\n": 9,
        "__attribute__((opencl_unroll_hint(FOUR / 2)))": 2,
        "#pragma nounroll\n": 1,
        "__attribute__((opencl_unroll_hint))": 0,
        "__attribute__((opencl_unroll_hint(8)))": 8,
        "#pragma nothing 5\n": None,
        "": None,
    }
    loops = ["for (int i = 0; i < 3; i++) n++;", "while (n) n--;", "do n++; while (n < 3);"]
    text = "\n".join(f"{hint}{loop}" for hint in cases for loop in loops)
    body = read(f"#define FOUR 4\n__kernel void k(int n) {{\n{text}\n}}")
    assert [s.unroll for s in body] == [factor for factor in cases.values() for _ in loops]


def test_layouts_are_clang_s():
    """Sizes and offsets are held against clang's `sizeof` and `offsetof`."""
    declared = """
    struct Small { char c; short s; };
    struct Mixed { char c; double d; float3 v; half h; long l; bool b; };
    struct Nested {
        char c; struct Mixed m[2]; int a[2][3]; __global int *p; union { int i; uchar4 c; } u; enum { X } e;
    };
    struct __attribute__((packed)) Packed { char c; int i; float4 v; };
    typedef struct { short a; float16 v; } Aligned __attribute__((aligned(64)));
    """
    names = {"struct Small": "c s", "struct Mixed": "c d v h l b", "struct Nested": "c m a p u e"}
    names |= {"struct Packed": "c i v", "Aligned": "a v"}
    sizes = "".join(f"sizeof({n}); " for n in names)
    offsets = "".join(f"__builtin_offsetof({n}, {f}); " for n, fields in names.items() for f in fields.split())
    parameters = ", ".join(f"__global {n} *p{i}" for i, n in enumerate(names))
    (kernel,) = programs.program(f"{declared} __kernel void k({parameters}) {{ {sizes}{offsets} }}").kernels
    records = [p.type.pointee for p in kernel.parameters]
    expected = [s.expression.value for s in kernel.body.statements]
    assert [r.size for r in records] + [f.offset for r in records for f in r.fields] == expected
    assert [r.name for r in records] == ["Small", "Mixed", "Nested", "Packed", "Aligned"]
    assert [str(f.type) for f in records[2].fields[:4]] == ["char", "struct Mixed[2]", "int[2][3]", "global int*"]
    assert records[2].fields[4].type.union


def test_a_record_that_points_to_its_own_kind_ends():
    declared = "typedef struct N { int v; __global struct N *next; } N;"
    text = f"{declared} __kernel void k(__global N *n) {{ n->next->next->v = 1; }}"
    (kernel,) = programs.program(text).kernels
    record = kernel.parameters[0].type.pointee
    assert record.field("next").type.pointee == types.Record("N", (), record.size)
    (assigned,) = kernel.body.statements
    assert expression(assigned.expression) == "n->next->next->v = 1"
    assert assigned.expression.target.base.type.pointee == record


def test_parameters_and_attributes():
    text = """
    typedef __global const float *source;
    __kernel __attribute__((reqd_work_group_size(16, 4, 1))) __attribute__((intel_reqd_sub_group_size(8)))
    void first(source a, __constant int *b, __local uchar4 *c, volatile __global int *restrict d, float e,
               const uint2 f, read_only image2d_t g, __write_only image3d_t h, sampler_t i, image1d_buffer_t j,
               __global void *k) { }
    kernel __attribute__((work_group_size_hint(64, 1, 1), vec_type_hint(float4))) void second() { }
    """
    first, second = programs.program(text, std="CL2.0").kernels
    assert [f"{p.type} {p.name}" for p in first.parameters] == [
        "global const float* a",
        "constant int* b",
        "local uchar4* c",
        "global volatile int* d",
        "float e",
        "uint2 f",
        "image2d_t g",
        "image3d_t h",
        "sampler_t i",
        "image1d_buffer_t j",
        "global void* k",
    ]
    assert [p.type.access for p in first.parameters[6:8]] == ["read_only", "write_only"]
    assert first.work_group_size == (16, 4, 1)
    assert first.sub_group_size == 8
    assert second.work_group_size is None
    assert second.attributes == ("work_group_size_hint(64, 1, 1)", "vec_type_hint(float4)")


def test_required_sizes_are_constant_expressions():
    text = """
    #define WIDTH 16
    enum { LANES = 8 };
    __kernel __attribute__((reqd_work_group_size(WIDTH * 2, 1 << 2, LANES))) void first() { }
    __kernel __attribute__((intel_reqd_sub_group_size(WIDTH / 2u))) void second() { }
    """
    first, second = programs.program(text).kernels
    assert first.work_group_size == (32, 4, 8)
    assert second.sub_group_size == 8
    assert integers("2 * (N + 1), 7 >> 1", {"N": 3}) == [8, 3]
    assert integers("sizeof(int)", {}) == []


def test_parameters_declared_as_arrays_are_pointers():
    text = """
    float first(float x[4], const int y[][2]) { x += 1; x = y ? x + 1 : x++; return *x-- + x[1] + y[0][1]; }
    __kernel void k(__local float a[], __global int4 b[16]) { a[2] = *a + b[1].x; }
    """
    program = programs.program(text, std="CL1.2")
    first = program.functions["first"]
    assert [str(p.type) for p in first.parameters] == ["private float*", "private const int[2]*"]
    assert statement(first.body) == ("{x += 1; x = (y ? (x + 1) : x++); return ((*x-- + x[1]) + (float)y[0][1]);}")
    (kernel,) = program.kernels
    assert [str(p.type) for p in kernel.parameters] == ["local float*", "global int4*"]
    (assigned,) = kernel.body.statements
    assert expression(assigned.expression) == "a[2] = (*a + (float)b[1].s0)"


def test_atomic_types_are_their_numbers():
    text = "__kernel void k(__global atomic_int *a, __local atomic_uint *b) { atomic_fetch_add(a, 1); }"
    (kernel,) = programs.program(text).kernels
    assert [str(p.type) for p in kernel.parameters] == ["global int*", "local uint*"]
    (added,) = kernel.body.statements
    assert added.expression.name == "atomic_fetch_add"
    assert str(added.expression.type) == "int"


def test_variables_of_program_scope():
    text = """
    __constant float weights[3] = {1, 2, [2] = 5};
    constant sampler_t smp = CLK_FILTER_NEAREST | CLK_ADDRESS_CLAMP;
    const int n = sizeof(weights) / 4;
    int counter = 3;
    static __global int *where;
    __constant char text[] = "ab";
    __kernel void k() { }
    """
    shown = [variable(v) for v in programs.program(text, std="CL2.0").globals]
    assert shown == [
        "constant float[3] weights = float[3]{(float)1, (float)2, (float)5}",
        "constant sampler_t smp = (sampler_t)(16 | 4)",
        "constant int n = (int)(12u / (uint)4)",
        "global int counter = 3",
        "global global int* where",
        "constant char[3] text = char[3]{char:97, char:98, char:0}",
    ]


def test_functions_and_kernels_call_each_other():
    text = """
    float later(float x);
    static float first(float x) { return later(x); }
    float __attribute__((overloadable)) both(float x) { return x; }
    float __attribute__((overloadable)) both(float2 x) { return x.x; }
    __kernel void inner(__global float *g) { g[0] = first(1.0f); }
    float later(float x) { return x + 1; }
    __kernel void outer(__global float *g) { inner(g); both(g[1]); both((float2)(g[1])); unknown: ; }
    """.replace(" unknown: ;", "")
    program = programs.program(text)
    assert list(program.functions) == ["first", "both", "both:5", "inner", "later", "outer"]
    assert [k.name for k in program.kernels] == ["inner", "outer"]
    called = [s.expression.function for s in program.functions["outer"].body.statements]
    assert called == [program.functions[n] for n in ("inner", "both", "both:5")]
    (returned,) = program.functions["first"].body.statements
    assert returned.value.function is program.functions["later"]


def test_one_variable_is_one_object():
    text = "__constant int t[2] = {1, 2}; __kernel void k(int n) { int a = n; { int a = 3; a++; } a += t[n]; }"
    program = programs.program(text)
    outer, inner, last = program.kernels[0].body.statements
    shadowing, stepped = inner.statements
    assert stepped.expression.operand.variable is shadowing.variables[0]
    assert last.expression.target.variable is outer.variables[0]
    assert outer.variables[0].initializer.variable is program.kernels[0].parameters[0]
    assert last.expression.value.base.variable is program.globals[0]


def test_places_are_where_macros_are_used_and_arguments_written():
    macros = "#define TWICE(x) ((x) + (x))\n#define LOAD p[3]\n"
    text = f"{macros}__kernel void k(__global int *p) {{\n  p[0] = TWICE(p[1]);\n\n  p[2] =\n    LOAD;\n}}\n"
    program = programs.program(text)
    first, second = (s.expression for s in program.kernels[0].body.statements)
    assert (first.place.line, first.place.column) == (4, 3)
    assert (first.value.place.line, first.value.place.column) == (4, 10)
    assert (first.value.left.place.line, first.value.left.place.column) == (4, 16)
    assert (second.value.place.line, second.value.place.column) == (7, 5)
    assert linecache.getline(second.value.place.file, 7) == "    LOAD;\n"


def test_files_and_what_they_include(tmp_path):
    (tmp_path / "inc").mkdir()
    (tmp_path / "beside.h").write_text("float beside(float x) { return x; }\n")
    (tmp_path / "inc" / "far.h").write_text("#define FAR 3\n")
    file = tmp_path / "k.cl"
    source = '#include "beside.h"\n#include <far.h>\n__kernel void k(__global float *g) { g[N] = beside(FAR); }\n'
    file.write_bytes(source.encode() + b"// \xe9 is no UTF-8\n")
    program = programs.program(file, f"-DN=4 -I {tmp_path / 'inc'}")
    assert program.file == str(file)
    (assigned,) = program.kernels[0].body.statements
    assert expression(assigned.expression) == "g[4] = own beside((float)3)"
    assert assigned.place == tree.SourceLocation(str(file), 3, 38)
    assert program.functions["beside"].place.file.endswith("beside.h")


def test_options():
    text = "__kernel void k(__global float *g) { g[0] = N; g[1] = M; }"
    for options in ("-DN=1 -D M=2", "-D 'N=1' -DM=2", ["-DN=1", "-D", "M=2"]):
        values = [s.expression.value for s in read(text, options)]
        assert [expression(v) for v in values] == ["(float)1", "(float)2"]
    harmless = (
        "-cl-fast-relaxed-math -cl-mad-enable -cl-opt-disable -w -Werror -g -cl-nv-verbose -cl-kernel-arg-info -O3"
    )
    assert len(read(text, f"-DN=1 -DM=2 {harmless}")) == 2
    with pytest.raises(xe.KernelArgumentError, match="'--what' is no option"):
        read(text, "--what")
    with pytest.raises(xe.KernelArgumentError, match="-D has no value"):
        read(text, "-DN=1 -D")


def test_versions():
    text = "#define SHOW(x) x\n__kernel void k() { int v = SHOW(__OPENCL_C_VERSION__); }"

    def version(options="", std=None):
        (declared,) = read(text, options, std)
        return declared.variables[0].initializer.value

    assert version() == 200
    assert version(std="CL1.0") == 100
    assert version(std="cl1.2") == 120
    assert version("-cl-std=CL3.0") == 300
    with pytest.raises(xe.KernelArgumentError, match=r"'C99' is no version of OpenCL C; write one of CL1\.0"):
        version(std="C99")
    generic = "void f(int *p) { } __kernel void k(__global int *g) { f(g); }"
    assert expression(read(generic)[0].expression) == "own f((generic int*)g)"
    with pytest.raises(xe.KernelError, match="changes address space"):
        read(generic, std="CL1.2")
    only_1_2 = "void f(int *p) { } void g(__private int **p) { } __kernel void k() { __private int *q; g(&q); }"
    assert str(read(only_1_2)[0].variables[0].type) == "private int*"


def test_a_function_is_read_when_it_is_asked_for():
    text = """
    typedef int int5 __attribute__((ext_vector_type(5)));
    void refused(__global int *g) { again: g[0]++; if (g[0] < 3) goto again; }
    __kernel void bad(__global int *g) { refused(g); }
    __kernel void strange(__global int5 *b) { b[0] = 1; }
    __kernel void good(__global int *g) { g[0] = 1; }
    """
    program = programs.program(text)
    assert [k.name for k in program.kernels] == ["bad", "strange", "good"]
    assert len(program.functions["good"].body.statements) == 1
    with pytest.raises(xe.KernelError, match="goto"):
        _ = program.functions["bad"].body
    with pytest.raises(xe.KernelError, match="have 2, 3, 4, 8 or 16 components"):
        _ = program.functions["strange"].body


def test_takes_little_time():
    """About 20 ms of the processor; a loaded machine may take several times as long."""
    body = "\n".join(f"g[get_global_id(0) + {i}] += (float4)(w[{i}].xy, 1, 2);" for i in range(30))
    text = f"__kernel void k(__global float4 *g, __local float4 *w) {{ {body} }}"
    read(text)
    taken = []
    for _ in range(5):
        start = time.process_time()
        assert len(read(text)) == 30
        taken.append(time.process_time() - start)
    assert min(taken) < 0.15
