// What is done at the end of a program that ends by std::exit: nothing for automatic objects and temporaries.
#include <cstdio>
#include <cstdlib>
struct A { int x; A(int a) : x(a) { printf("A%d ", x); } ~A() { printf("~A%d ", x); } int get() const { return x; } };
A first(1);
int deeper(int x) { static A inner(9); A automatic(x - 1); std::exit(7); return automatic.x; }
void last() { printf("last "); }
void before() { printf("before "); A a(5); }
int main() {
  std::atexit(last);
  A own(2);
  std::atexit(before);
  return deeper(A(4).get());
}
