// The destructors of instances of templates.
#include <cstdio>
#include <vector>
#include <memory>
namespace ns { struct A { int v; ~A() { printf("A "); } };
template <class T> struct Guard { T *p; const char *name; Guard(T *q, const char *n) : p(q), name(n) {}
    ~Guard() { printf("~%s%d ", name, (int)sizeof(T)); ++*p; } }; }
template <class F> struct Defer { F f; Defer(F g) : f(g) {} ~Defer() { f(); } };
template <class T> void inner(T x) { ns::Guard<T> g(&x, "inner"); }
template <class T> struct Box { ns::Guard<T> g; T y = 0; Box() : g(&y, "box") {} ~Box() { printf("~Box ");
    } };
void say() { printf("say "); }
int main() {
  int k = 0; double d = 0;
  { ns::Guard<int> g(&k, "int"); ns::Guard<double> h(&d, "double"); } printf("%d %g\n", k, d);
  { Box<short> b; } printf("\n");
  { auto p = std::make_unique<ns::Guard<int>>(&k, "unique"); } printf("\n");
  { Defer<void (*)()> f(say); } printf("\n");
  inner(5); printf("\n");
}
