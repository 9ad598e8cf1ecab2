"""The lowering of OpenCL C against the scalar machine: random programs, and what random programs have found."""

import cagreeing
import ccompiled
import cmachine
import cprograms
import numpy as np
import pytest

import xeemu as xe

pytest.importorskip("clang.cindex")
SEEDS = (*range(24), 55, 58, 1001, 1031, 1038, 1039, 1059, 1069, 1076, 2031, 2059)


def long_if_odd(seed):
    return pytest.param(seed, marks=[pytest.mark.long] if seed % 2 else [])


def agree(text, seed=3):
    given = cagreeing.arguments(seed)
    difference = cagreeing.difference(text, given, cmachine.run(text, given))
    assert difference is None, f"{difference}\n{text}"


class TestPrograms:
    @pytest.mark.every(5)
    @pytest.mark.optimized
    @pytest.mark.parametrize("seed", [*map(long_if_odd, range(24)), *SEEDS[24:]])
    def test_give_what_the_machine_gives(self, seed):
        agree(cprograms.program(seed).text, seed)

    @pytest.mark.skipif(ccompiled.compiler() is None, reason="clang is not installed")
    @pytest.mark.parametrize("seed", SEEDS)
    def test_machine_gives_what_clang_gives(self, seed):
        text, given = cprograms.program(seed).text, cagreeing.arguments(seed)
        for a, b in zip(cmachine.run(text, given), ccompiled.run(text, given), strict=True):
            assert (a == b).all()


class TestLoops:
    def test_counter_of_a_loop_that_is_left(self):
        agree(
            cagreeing.kernel("""
            int i, s = 0;
            if (gid & 1) { for (i = 0; i < 4; i++) { if (i == (gid & 7)) break; s += i; } mine[0] = i; }
            for (i = 1; i < 50; i *= 3) if (i > gid) break;
            mine[1] = i;
            for (i = 0; i < (gid & 7); i++) { s += i; if (s > 7) break; }
            mine[2] = i + s;
            for (i = 1; i < 7; i++) if (in2[1] != 31) break;    // one for the group, known only as it runs
            mine[3] = i;
            int t = 0;
            while (t++ < 20) if (in2[2] != 5 && t > 3) break;
            mine[4] = t;
            """)
        )

    def test_steps_see_the_counter_as_c_says(self):
        agree(
            cagreeing.kernel("""
            int j = 0;
            for (int i = 0; i < 70; i++, j += i) mine[0] ^= j;
            for (int i = 0; i < n + 3; j += i, i++) mine[1] += j;
            for (int i = 0; i < 5; i++, j += i) { if (j > 2000 + gid) break; mine[2] ^= j; }
            mine[3] = j;
            for (int i = 0, k = 9; i < k && i < 50; i++, k--) mine[4] += k;
            """)
        )

    def test_work_items_that_are_done_stay_out(self):
        agree(
            cagreeing.kernel("""
            int x = gid;
            for (uint i = (lid & 7) + 2; i > 2; i--) x *= 7;       // wraps for who is done
            for (uchar i = 250 + (gid & 3); i > 200; i++) x += i;
            for (int i = in[lid]; i < in[gid]; i += 3) x ^= i;
            for (char i = 5; i >= lid; i--) x = x * 3 + i;
            mine[0] = x;
            """)
        )

    def test_bound_that_is_known_is_the_bound(self):
        agree(cagreeing.kernel("for (short i = 80; i > (n & 3); i--) { mine[0] += 1; mine[1] += i; }"))

    def test_group_that_does_not_enter_a_branch_ends(self):
        agree(
            cagreeing.kernel("""
            int w = 0;
            switch (in2[0] & 7) { default: while (1) { if (++w > 2) break; } mine[0] += w; break; case 1: ; }
            if (in[grp] > 0) { w = 0; do w++; while (w < 5); mine[1] = w; } else { mine[1] = 77; }
            """)
        )


class TestPointers:
    def test_change_their_target_in_a_loop(self):
        agree(
            cagreeing.kernel("""
            int a[4] = {1, 2, 3, 4}, x = 5, y = 6;
            int* p = a;
            for (int k = 0; k < 9; k++) {
                *p += 1;
                if (k % 3 == 0) p = &x; else if ((k + gid) & 1) p = a + (k & 3); else p = &y;
            }
            mine[0] = a[0] + a[1] * 10 + a[2] * 100 + a[3] * 1000;
            mine[1] = x * 100 + y; mine[2] = *p; mine[3] = p == &x;
            local int A[8], B[8];
            local int* u = A; local int* v = B;
            u[lid] = gid;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int d = 0; d < n + 9; d++) {
                v[lid] = u[7 - lid] + d;
                barrier(CLK_LOCAL_MEM_FENCE);
                local int* t = u; u = v; v = t;
            }
            mine[4] = u[lid];
            constant int* c = table;
            int s = 0;
            for (int k = 0; k < 8; k++) { s = s * 3 + *c; if (k & 1) c++; }
            mine[5] = s;
            """)
        )

    def test_null_is_kept(self):
        agree(
            cagreeing.kernel("""
            int a[4] = {1, 2, 3, 4}, x = 3;
            int* p = 0;
            for (int k = 0; k < 6; k++) { if (p) *p += 10; if (k == (gid & 3)) p = a + k; if (k == 4) p = 0; }
            mine[0] = a[0] + a[1] * 10 + a[2] * 100 + a[3] * 1000;
            p = 0;
            if (gid & 1) p = &x;
            if (p) *p = 7;
            mine[1] = x; mine[2] = p == 0;
            global const int* q = in;
            if (gid & 2) q = 0;
            mine[3] = q != 0 && q[1] > 0;
            """)
        )

    def test_in_records_and_arrays(self):
        agree(
            cagreeing.kernel(
                """
            int a[4] = {1, 2, 3, 4}, b[4] = {0}, x = 0;
            one s; s.p = a; s.k = 1;
            one r[2]; r[0] = s; r[1].p = &x; r[1].k = 5;
            int* m2[2] = {a, b};
            for (int k = 0; k < 80; k++) {
                *s.p += s.k; s.k ^= k;
                if ((k + gid) & 1) s.p = &x; else { s.p = a + (k & 2); s.p++; }
                one t = r[0]; r[0] = r[1]; r[1] = t;
                *r[k & 1].p += 3;
                m2[gid & 1][lid & 3] ^= k;
            }
            mine[0] = a[0] + a[1] * 3 + a[2] * 5 + a[3] * 7; mine[1] = x; mine[2] = s.k; mine[3] = b[lid & 3];
            """,
                "typedef struct { int* p; int k; } one;",
            )
        )

    def test_compare_by_what_they_are(self):
        agree(
            cagreeing.kernel(
                """
            int a[8] = {0}, b[8], x = 0;
            int* p = gid & 1 ? a : b + 3;
            int* q = gid & 1 ? a + 5 : b;
            mine[0] = q - p; mine[1] = p < q; mine[2] = p == b + 3; mine[3] = p != q;
            *pick(a, &x, gid & 7) = 5;
            mine[4] = pick(a, a + 6, lid) - a; mine[5] = a[gid & 7] * 10 + x;
            """,
                "int* pick(int* a, int* b, int k) { for (int i = 0; i < 5; i++) if (i == k) return a + i; return b; }",
            )
        )


class TestRecords:
    def test_arrays_in_them_are_values(self):
        agree(
            cagreeing.kernel(
                """
            arrays s = {1, {2, 3, 4, gid}, {5, 6}};
            mine[0] = sum(s);
            bump(&s, gid);
            mine[1] = s.v[0] + s.v[1] * 10 + s.v[2] * 100 + s.v[3] * 1000;
            mine[2] = made(gid).v[gid & 3] + made(lid).v[2];
            mine[3] = ((arrays){gid, {1, gid, 3}, {4, 5}}).v[gid & 3];
            """,
                """
            int sum(arrays s) {
                int t = 0;
                for (int k = 0; k < 4; k++) { t = t * 3 + s.v[k]; s.v[(k + 1) & 3] += t; }
                return t;
            }
            void bump(arrays* s, int k) { s->v[k & 3] += 100; for (int* q = s->v; q < s->v + 4; q++) *q += 1; }
            arrays made(int a) { arrays r; r.c = a; for (int k = 0; k < 4; k++) r.v[k] = a * k; return r; }
            """,
            )
        )


def test_what_is_only_read_does_not_come_back():
    text = cagreeing.kernel(
        "int x = in[gid]; int a[2] = {in2[0], x}; rec s; s.g = in; s.k = 0; s.k += *s.g; mine[0] = a[x & 1] + s.k;",
        "typedef struct { global const int* g; int k; } rec;",
    )
    found = xe.launch(xe.load(text)["k"], cagreeing.RANGE)(*cagreeing.arguments(0))
    assert not isinstance(found, tuple)


@pytest.mark.parametrize(
    "loop", ["while (C);", "while (C) {}", "for (; C;);", "do {} while (C);", "for (;;) if (!(C)) break;"]
)
def test_a_loop_of_which_the_condition_does_all(loop):
    source = "kernel void k(global int* m) { " + loop.replace("C", "atomic_add(m, 1) < 5") + " }"
    np.testing.assert_array_equal(xe.launch(xe.load(source)["k"], xe.NDRange(1, 1))(np.zeros(1, np.int32)), [6])
