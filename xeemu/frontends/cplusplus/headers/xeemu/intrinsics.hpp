// Intrinsics: what programs do on the device and the host is written over these. They are declared and never defined:
// the front end carries a call out by the function's name. Device functions have OpenCL C's names and meaning; their
// dimension 0 is the contiguous one.
#ifndef XEEMU_INTRINSICS_HPP
#define XEEMU_INTRINSICS_HPP

namespace __xeemu {

typedef decltype(sizeof(0)) size;
typedef _Float16 half;

// ---- work-items ----

// Dimensions count from the contiguous one, which is SYCL's last; what SYCL does not have is below 0.
size get_global_id(int dimension);
size get_local_id(int dimension);
size get_group_id(int dimension);
size get_global_size(int dimension);
size get_local_size(int dimension);
size get_num_groups(int dimension);
size get_global_offset(unsigned dimension);
size get_global_linear_id();
size get_local_linear_id();
unsigned get_sub_group_size();
unsigned get_max_sub_group_size();
unsigned get_num_sub_groups();
unsigned get_sub_group_id();
unsigned get_sub_group_local_id();

// ---- synchronisation: flags 1 local, 2 global; orders 0 relaxed, 2 acquire, 3 release, 4 acq_rel, 5 seq_cst;
// scopes 0 work-item, 1 work-group, 2 device, 3 system, 4 sub-group ----

void barrier(int flags);
void work_group_barrier(int flags, int scope);
void sub_group_barrier(int flags);
void atomic_work_item_fence(int flags, int order, int scope);

template <class T> T atomic_load_explicit(T *p, int order, int scope);
template <class T> void atomic_store_explicit(T *p, T x, int order, int scope);
template <class T> T atomic_exchange_explicit(T *p, T x, int order, int scope);
template <class T>
bool atomic_compare_exchange_strong_explicit(T *p, T *expected, T desired, int success, int failure, int scope);
template <class T> T atomic_fetch_add_explicit(T *p, T x, int order, int scope);
template <class T> T atomic_fetch_sub_explicit(T *p, T x, int order, int scope);
template <class T> T atomic_fetch_min_explicit(T *p, T x, int order, int scope);
template <class T> T atomic_fetch_max_explicit(T *p, T x, int order, int scope);
template <class T> T atomic_fetch_and_explicit(T *p, T x, int order, int scope);
template <class T> T atomic_fetch_or_explicit(T *p, T x, int order, int scope);
template <class T> T atomic_fetch_xor_explicit(T *p, T x, int order, int scope);

// ---- groups ----

#define XEEMU_COMBINED(op)                                     \
  template <class T> T work_group_reduce_##op(T x);            \
  template <class T> T work_group_scan_inclusive_##op(T x);    \
  template <class T> T work_group_scan_exclusive_##op(T x);    \
  template <class T> T sub_group_reduce_##op(T x);             \
  template <class T> T sub_group_scan_inclusive_##op(T x);     \
  template <class T> T sub_group_scan_exclusive_##op(T x);
XEEMU_COMBINED(add)
XEEMU_COMBINED(mul)
XEEMU_COMBINED(min)
XEEMU_COMBINED(max)
XEEMU_COMBINED(and)
XEEMU_COMBINED(or)
XEEMU_COMBINED(xor)
XEEMU_COMBINED(logical_and)
XEEMU_COMBINED(logical_or)
XEEMU_COMBINED(logical_xor)
#undef XEEMU_COMBINED

int work_group_any(int predicate);
int work_group_all(int predicate);
int sub_group_any(int predicate);
int sub_group_all(int predicate);
template <class T> T work_group_broadcast(T x, size item);
template <class T> T work_group_broadcast(T x, size item0, size item1);
template <class T> T work_group_broadcast(T x, size item0, size item1, size item2);
template <class T> T sub_group_broadcast(T x, unsigned lane);
template <class T> T sub_group_shuffle(T x, unsigned lane);
template <class T> T sub_group_shuffle_xor(T x, unsigned mask);
template <class T> T sub_group_shuffle_up(T x, unsigned delta);
template <class T> T sub_group_shuffle_down(T x, unsigned delta);
template <class T> T intel_sub_group_shuffle_up(T previous, T current, unsigned delta);
template <class T> T intel_sub_group_shuffle_down(T current, T next, unsigned delta);
template <class T> T intel_sub_group_block_read(const T *p);
template <class T> void intel_sub_group_block_write(T *p, T x);
typedef unsigned lanes __attribute__((ext_vector_type(4)));
lanes sub_group_ballot(int predicate);

// The access::address_space that a reference is declared with.
void refers_to(const void *p, int space);

// Local memory of a kernel, another one by each call.
template <class T> T *group_memory();

int printf(const char *format, ...);
template <class F> int fprintf(F *file, const char *format, ...);
int sprintf(char *to, const char *format, ...);
int snprintf(char *to, size most, const char *format, ...);

// ---- host: kinds of memory are 0 host, 1 device, 2 shared, 3 local, 4 the host's own; USM is of a context ----

void *allocate(size bytes, int kind);
void *allocate_in(unsigned context, size bytes, int kind);
void deallocate(void *p);
void deallocate_in(unsigned context, void *p);
size size_of(const void *p);  // the bytes from there on
int kind_of(const void *p);  // 3 of what is not USM
void copy_bytes(void *to, const void *from, size bytes);
void copy_apart(void *to, const void *from, size bytes);  // of memories that do not overlap
void set_bytes(void *to, int byte, size bytes);
void print(const char *text);
void print(char letter);
void print(bool truth);
void print(long long number);
void print(unsigned long long number);
void print(double number);
void print(const void *pointer);
void seed(unsigned seed);
unsigned random();
double now();
[[noreturn]] void stop(const char *message);
void failed(const char *assertion);
void unsupported(const char *what);  // the front end refuses what calls it
[[noreturn]] void leave(int status);  // as std::exit does
[[noreturn]] void leave_at_once(int status);  // without the ends of static objects
void at_exit(void (*f)());
unsigned caught();  // the number of the exception that is being handled, 0 for none
[[noreturn]] void rethrow(unsigned number);
template <class C> void ends_by(void (*end)(C *));  // what is done where an object of the class ends
double number_of(const char *text);
size spell(char *to, long long number);  // gives the number of letters
size spell(char *to, unsigned long long number);
size spell(char *to, double number, int digits, int style);  // style 0 shortest, 1 fixed, 2 scientific

// ---- commands: what a queue is given is one command from begin_command to end_command, which gives its event ----

unsigned new_queue(bool in_order);
unsigned new_context();
void begin_command(unsigned queue);
void command_depends(unsigned long event);
void command_uses(const void *memory, size bytes, int mode);
void discard(const void *p, size bytes);  // what is there is of no use to the command, or to the host accessor
unsigned long end_command();
void wait_event(unsigned long event);
void wait_queue(unsigned queue);
void wait_memory(const void *memory);
void hold(const void *memory, size bytes);  // a buffer begins, with the host's memory
void release(const void *memory);
void view(const void *memory, int mode);  // a host accessor begins, which waits for the commands that it conflicts with
void end_view(const void *memory, int mode);
unsigned long profiled(unsigned long event, int what);
unsigned long device_info(int which);
const char *device_text(int which);

}  // namespace __xeemu

#include <xeemu/mathematics.hpp>

#endif
