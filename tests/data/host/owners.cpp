// Containers and pointers of the standard library that own objects.
#include <cstdio>
#include <vector>
#include <memory>
#include <optional>
#include <string>
struct A { int x; A(int a):x(a){ printf("A%d ", x); } A(const A &o):x(o.x+100){ printf("C%d ", x);}
    A(A &&o):x(o.x){ o.x = -1; printf("M%d ", x);}
  A &operator=(const A &o){ x=o.x; printf("=%d ",x); return *this; } A &operator=(A &&o){ x=o.x; o.x=-2;
      printf("m=%d ",x); return *this; } ~A(){ printf("~A%d ", x); } };
struct Free { void operator()(int *p) const { printf("free%d ", *p); delete p; } };
struct Holder { std::unique_ptr<A> p; std::vector<A> v; Holder() : p(new A(60)) { v.reserve(4);
    v.emplace_back(61); } };
struct Base { virtual ~Base() { printf("~Base "); } virtual int f() { return 1; } };
struct Derived : Base { A a{70}; ~Derived() override { printf("~Derived "); } int f() override { return 2;
    } };
void line() { printf("\n"); }
int main() {
  { std::vector<A> v; v.reserve(4); v.push_back(A(1)); v.emplace_back(2); A l(3); v.push_back(l); line();
      v.pop_back(); line(); v.erase(v.begin()); line(); } line();
  { std::vector<A> v; v.reserve(2); v.emplace_back(1); v.emplace_back(2); v.clear(); line();
      v.emplace_back(3); } line();
  { std::unique_ptr<A> p(new A(4)); auto q = std::make_unique<A>(5); p.reset(new A(6)); line();
      q = std::move(p); line(); q.reset(); } line();
  { std::shared_ptr<A> p = std::make_shared<A>(7); { auto q = p; printf("%ld ", p.use_count());
      std::shared_ptr<A> r(q); printf("%ld ", r.use_count()); } printf("%ld ", p.use_count()); auto s = p;
      p.reset(); printf("%ld ", s.use_count()); } line();
  { std::unique_ptr<int, Free> p(new int(8)); } line();
  { auto d = [](int *p) { printf("lambda%d ", *p); delete p; };
      std::unique_ptr<int, decltype(d)> p(new int(9), d); } line();
  { int n = 5; auto d = [&](int *p) { printf("by%d-%d ", n, *p); delete p; };
      auto e = [n](int *p) { printf("of%d-%d ", n, *p); delete p; };
      std::unique_ptr<int, decltype(d)> p(new int(1), d), q(std::move(p)); n = 6; p.get_deleter()(new int(2)); line();
      std::unique_ptr<int, decltype(e)> r(new int(3), e); r.reset(); } line();
  { std::shared_ptr<int> p(new int(10), [](int *q) { printf("del%d ", *q); delete q; }); } line();
  { std::unique_ptr<int, Free> p(new int(20)); std::shared_ptr<int> q(std::move(p)); printf("%ld %d ", q.use_count(),
      (int)(p == nullptr)); std::unique_ptr<int, Free> none(nullptr); std::shared_ptr<int> r(std::move(none));
      printf("%ld ", r.use_count()); } line();
  { std::shared_ptr<A[]> p(std::unique_ptr<A[]>(new A[2]{21, 22})); } line();
  { std::optional<A> o; printf("%d ", (int)o.has_value()); o.emplace(11); line(); o.reset(); line();
      o = A(12); } line();
  { std::vector<std::unique_ptr<A>> v; v.push_back(std::make_unique<A>(13));
      v.push_back(std::make_unique<A>(14)); v.erase(v.begin()); line(); } line();
  { Holder h; Holder k = std::move(h); } line();
  { std::unique_ptr<Base> b = std::make_unique<Derived>(); printf("%d ", b->f()); } line();
  { Base *b = new Derived; printf("%d ", b->f()); delete b; } line();
  { std::weak_ptr<A> w; { auto p = std::make_shared<A>(15); w = p; printf("%d ", (int)w.expired());
      if (auto q = w.lock()) printf("%d ", q->x); } printf("%d ", (int)w.expired()); } line();
  { std::vector<A> v; v.reserve(3); v.emplace_back(16); line(); v.resize(0, A(17)); } line();
  { alignas(A) unsigned char raw[sizeof(A)]; A *p = new (raw) A(18); p->~A(); } line();
  { std::vector<std::shared_ptr<A>> v(2); v[0] = std::make_shared<A>(19); v[1] = v[0];
      printf("%ld ", v[0].use_count()); v.clear(); line(); } line();
}
