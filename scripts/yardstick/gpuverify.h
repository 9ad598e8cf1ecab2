/* What GPUVerify's annotations stand for when a kernel is run instead of proved: nothing. */
#ifndef XEEMU_GPUVERIFY_H
#define XEEMU_GPUVERIFY_H

/* Assertions and assumptions: expressions without effect, as they also stand in the parts of a `for`. */
#define __assert(...) ((void)0)
#define __assume(...) ((void)0)
#define __global_assert(...) ((void)0)

/* Conditions of functions and of arrays: statements without effect. */
#define __requires(...)
#define __ensures(...)
#define __global_requires(...)
#define __global_ensures(...)
#define __requires_fresh_array(...)
#define __reads_from(...)
#define __writes_to(...)
#define __read_permission(...)
#define __write_permission(...)
#define __array_snapshot(...)
#define __barrier_snapshot(...)
#define __function_wide_invariant(...)
#define __function_wide_candidate_invariant(...)
#define __axiom(...)
#define __barrier_invariant(...)
#define __barrier_invariant_binary(...)
#define __barrier_invariant_1(...)
#define __barrier_invariant_2(...)
#define __barrier_invariant_3(...)
#define __barrier_invariant_5(...)
#define __barrier_invariant_7(...)
#define __barrier_invariant_9(...)
#define __barrier_invariant_11(...)
#define __barrier_invariant_13(...)
#define __barrier_invariant_15(...)
#define __barrier_invariant_17(...)
#define __barrier_invariant_19(...)
#define __barrier_invariant_binary_1(...)

/* Invariants of loops stand before a comma in the loop's condition: a value without effect. */
#define __invariant(...) 1
#define __candidate_invariant(...) 1
#define __global_invariant(...) 1
#define __candidate_global_invariant(...) 1

/* Expressions that also stand outside annotations. */
#define __implies(a, b) (!(a) || (b))
#define __ite(a, b, c) ((a) ? (b) : (c))
#define __max(a, b) ((a) > (b) ? (a) : (b))
#define __non_temporal(...) __VA_ARGS__
#define __add_noovfl_int(a, b) ((a) + (b))
#define __add_noovfl_unsigned_int(a, b) ((a) + (b))
#define __read_offset_bytes(p) 0
#define __write_offset_bytes(p) 0
#define __return_val_int() 0
#define __bugle_frexp_exp(...) 0

/* Functions that GPUVerify knows by their axioms only; a sum satisfies those of its suite. */
#define DECLARE_UF_UNARY(name, result, a) result name(a x) { return (result)x; }
#define DECLARE_UF_BINARY(name, result, a, b) result name(a x, b y) { return (result)(x + y); }

#ifndef NULL
#define NULL ((void *)0)
#endif

#endif
