// Iterators of classes, sorting, searching, and other parts of the library.
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <vector>
#include <list>
#include <map>
#include <set>
#include <string>
#include <numeric>
#include <cmath>
#include <functional>
#include <iterator>
#include <cstring>
struct It { int v; It(int a) : v(a) {} int operator*() const { return v * v; } It &operator++() { ++v;
    return *this; } bool operator!=(const It &o) const { return v != o.v; } };
struct Squares { int n; It begin() const { return It(0); } It end() const { return It(n); } };
struct Ring { typedef int T; T d[4]; struct iterator { const T *p; int k;
    const T &operator*() const { return p[k % 4]; } iterator &operator++() { ++k; return *this; }
    bool operator!=(const iterator &o) const { return k != o.k; }
    bool operator==(const iterator &o) const { return k == o.k; } };
    iterator begin() const { return {d, 1}; } iterator end() const { return {d, 5}; } };
int less(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main() {
  for (int x : Squares{5}) printf("%d ", x); printf("\n");
  Ring r{{1, 2, 3, 4}}; for (const auto &x : r) { if (x == 3) continue; printf("%d ", x); } printf("\n");
  for (auto x : Squares{9}) { if (x > 20) break; printf("%d ", x); } printf("\n");
  int a[] = {5, 3, 9, 1}; qsort(a, 4, sizeof(int), less); for (int x : a) printf("%d ", x); int k = 9;
      printf("%d\n", (int)((int *)bsearch(&k, a, 4, sizeof(int), less) - a));
  std::vector<int> v{5, 3, 9, 1, 7}; std::sort(v.begin(), v.end(), std::greater<int>());
      for (int x : v) printf("%d ", x);
  std::sort(v.begin(), v.end(), [](int p, int q) { return p % 5 < q % 5; });
      for (int x : v) printf("%d ", x); printf("\n");
  auto it = v.begin(); std::advance(it, 2); printf("%d %d\n", *it, (int)std::distance(v.begin(), it));
  int e; double m = frexp(48.0, &e); printf("%g %d %g %g\n", m, e, ldexp(0.75, 4), std::ldexp(1.0, -3));
  double ip; double fraction = modf(3.25, &ip); printf("%g %g\n", fraction, ip);
  std::map<std::string, int> ma; ma["b"] = 2; ma["a"] = 1;
      for (auto &[key, val] : ma) printf("%s%d ", key.c_str(), val);
      for (const auto &p : ma) printf("%s ", p.first.c_str()); printf("\n");
  std::list<int> l{3, 1, 2}; l.push_front(0); for (int x : l) printf("%d ", x);
      std::set<int> s{3, 1, 2, 3}; for (int x : s) printf("%d ", x); printf("\n");
  std::vector<int> w(5); std::iota(w.begin(), w.end(), 1);
      printf("%d %d\n", std::accumulate(w.begin(), w.end(), 0), std::inner_product(w.begin(), w.end(), w.begin(), 0));
  std::string t = "hello"; std::string u = std::move(t); std::reverse(u.begin(), u.end());
      printf("%s\n", u.c_str());
  printf("%d %d\n", (int)std::count_if(w.begin(), w.end(), [](int x) { return x % 2;
      }), *std::max_element(w.begin(), w.end()));
}
