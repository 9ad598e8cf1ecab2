// What is thrown, caught, thrown again and kept.
#include <cstdio>
#include <stdexcept>
#include <string>
struct A { int x; A(int a):x(a){ printf("A%d ", x); } ~A(){ printf("~A%d ", x); } };
struct E2 : std::runtime_error { int code; E2(const char *t, int c) : std::runtime_error(t), code(c) {} };
struct Own : std::exception { const char *what() const noexcept override { return "own"; } };
struct Val { int v; Val(int a):v(a){ printf("V "); } Val(const Val &o):v(o.v){ printf("VC "); }
    ~Val(){ printf("~V "); } };
void f(int k) {
  A a(1);
  for (int i = 0; i < 3; i++) {
    A b(10 + i);
    if (i == 1) {
      if (k == 0) throw 42;
      if (k == 1) throw E2("e two", 7);
      if (k == 2) throw Own();
      if (k == 3) throw "text";
      if (k == 4) throw std::out_of_range("range");
      if (k == 5) throw 2.5;
      if (k == 6) throw Val(3);
      if (k == 7) throw std::string("str");
    }
  }
}
void g(int k) { A c(2); try { f(k); } catch (const E2 &e) { printf("g:E2 %s %d ", e.what(), e.code); throw;
    } }
struct Half { A first; A second; Half() : first(21), second(22) { throw 1; } ~Half() { printf("~Half "); } };
int guarded(int k) try { f(k); return 0; } catch (...) { return 9; }
int main() {
  for (int k = 0; k < 9; k++) {
    try { g(k); printf("none "); }
    catch (int i) { printf("int %d ", i); }
    catch (const std::out_of_range &e) { printf("range %s ", e.what()); }
    catch (std::exception &e) { printf("std %s ", e.what()); }
    catch (const char *t) { printf("char %s ", t); }
    catch (Val v) { printf("val %d ", v.v); }
    catch (const std::string &s) { printf("string %s ", s.c_str()); }
    catch (...) { printf("other "); }
    printf("\n");
  }
  try { Half h; } catch (int) { printf("half"); } printf("\n");
  try { try { throw 1; } catch (int) { throw std::logic_error("second"); } }
      catch (const std::exception &e) { printf("%s\n", e.what()); }
  try { try { throw E2("x", 1); } catch (const std::exception &e) { throw; } }
      catch (const E2 &e) { printf("%d\n", e.code); }
  int q = guarded(0); printf("%d %d\n", q, guarded(8));
  std::exception_ptr p;
  try { throw E2("kept", 5); } catch (...) { p = std::current_exception(); }
  try { if (p) std::rethrow_exception(p); } catch (const E2 &e) { printf("%s\n", e.what()); }
  auto l = [](int x) { if (x < 0) throw std::invalid_argument("neg"); return x; };
  try { l(1); l(-1); } catch (const std::invalid_argument &e) { printf("%s\n", e.what()); }
  return 3;
}
