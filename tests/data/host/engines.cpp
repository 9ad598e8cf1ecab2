// Random numbers that the standard lays down.
#include <cstdio>
#include <random>
int main() {
  std::mt19937 g; g.discard(9999); printf("%u\n", (unsigned)g());
  std::mt19937_64 g64; g64.discard(9999); printf("%llu\n", (unsigned long long)g64());
  std::minstd_rand mr; mr.discard(9999); printf("%u\n", (unsigned)mr()); std::minstd_rand0 m0;
      m0.discard(9999); printf("%u\n", (unsigned)m0());
  std::mt19937 h(42), h2(42); int same = h() == h2(); printf("%d %d\n", same, (int)(h == h2));
  std::seed_seq q{1, 2, 3}; std::mt19937 s(q); printf("%lu\n", s());
  std::default_random_engine e(7); printf("%lu\n", e());
}
