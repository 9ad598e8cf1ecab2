// Automatic, static and temporary objects, parameters, members, bases, arrays and the heap.
#include <cstdio>
#include <vector>
#include <memory>
struct A { int x; A(int a):x(a){ printf("A%d ", x); } A(const A &o):x(o.x+100){ printf("C%d ", x);}
    ~A(){ printf("~A%d ", x); } int get() const { return x; } };
struct B { A first, second; B():first(1),second(2){ printf("B "); } ~B(){ printf("~B "); } };
struct D : A { A m; D():A(7),m(8){ } ~D(){ printf("~D "); } };
A make(int k) { A a(k); return a; }
A made(int k) { return A(k); }
A either(int k) { A a(k); if (k > 5) return A(50); return a; }
int take(A a) { return a.get(); }
int early(int k) { A a(k); for (int i = 0; i < 4; i++) { A l(10 + i); if (i == 1) continue;
    if (i == k) return i; if (i == 3) break; } return -1; }
static A global(99);
void back() { int k = 0; A before(40); again: A inner(41 + k); if (++k < 3) goto again; printf("%d ", k); }
void line() { printf("\n"); }
int main() {
  { A a(1); A b(2); } line();
  { A a = make(3); A b = made(4); } line();
  { A a = either(3); A b = either(6); } line();
  { B b; } line();
  { D d; } line();
  { const A &r = A(5); printf("[%d] ", r.x); } line();
  { A(6); printf("| "); A(7).get(); printf("| "); int y = A(8).get() + A(9).get(); printf("%d ", y); } line();
  { take(A(10)); printf("| "); A z(11); take(z); } line();
  early(1); line(); early(2); line(); early(9); line();
  { A a[3] = {1, 2, 3}; } line();
  { A *p = new A(12); delete p; A *q = new A[2]{13, 14}; delete[] q; } line();
  { if (A(15).get() == 15) printf("in "); while (A(16).get() == 0) {} } line();
  { static A s(17); } line();
  switch (1) { case 1: { A s(18); break; } default: printf("no"); } line();
  { A x(1); x = A(2); printf("%d ", x.x); } line();
  for (A i(0); i.x < 2; i.x++) printf("i%d ", i.x); line();
  back(); line();
  return 0;
}
