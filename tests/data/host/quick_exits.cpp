// A program that ends at once, from a function that std::exit calls: what is left is not done.
#include <cstdio>
#include <cstdlib>
struct A { ~A() { printf("never"); } };
A a;
void at_end() { printf("at the end\n"); fflush(stdout); std::_Exit(4); }
int main() {
  std::atexit(at_end);
  std::exit(1);
}
