// Numbers and texts as printf and streams print them.
#include <cstdio>
#include <iostream>
#include <iomanip>
int main() {
  std::cout << std::hex << 255 << ' ' << std::showbase << 255 << std::dec << std::noshowbase << ' '
      << std::setw(6) << 42 << '|' << std::left << std::setw(6) << 42 << '|' << std::setfill('*')
      << std::right << std::setw(5) << 7 << std::setfill(' ') << '\n';
  std::cout << std::fixed << std::setprecision(2) << 3.14159 << ' ' << std::scientific << 31415.9
      << ' ' << std::defaultfloat << 1e10 << ' ' << 0.1f << '\n';
  std::cout << std::showpos << 5 << ' ' << -5 << ' ' << 2.5 << std::noshowpos << ' ' << std::boolalpha
      << true << std::noboolalpha << false << std::uppercase << std::hex << 0xabc << std::nouppercase
      << std::dec << std::endl;
  std::cout << std::setw(8) << "abc" << '|' << std::setw(8) << 'c' << '|' << std::internal
      << std::setw(8) << -3 << '|' << std::right << std::setw(10) << 2.5 << '\n';
  std::cout << std::oct << 8 << std::dec << ' ' << (short)-1 << std::hex << ' ' << (short)-1 << ' '
      << -1 << ' ' << -1L << std::dec << '\n';
  std::cout << 1.0 << ' ' << 1e-5 << ' ' << 123456789.0 << ' ' << 1.0/0 << ' '
      << std::setprecision(10) << 1.0/3 << std::showpoint << ' ' << 2.0 << std::noshowpoint << '\n';
  printf("%hhd %hhu %hd %zu %lld %llu %g %e %x %X %#x %5.2f|%-8d|%*d|%.*f|%+d|%05d|%c|%%|%s|%10s|%-10s|%.2s\n",
      300, 300, 70000, sizeof(int), -5LL, ~0ULL, 0.0001, 12345.678, 255, 255, 255, 3.14159, 7, 6, 42, 3,
      2.0/3, 5, 42, 'z', "str", "right", "left", "trunc");
  printf("%o %i %u %ld %lu %G %E %a %f %5s|%-5c|% d|%p\n", 8, -3, -1, -1L, -1L, 1e-10, 1.5, 1.0,
      1e10, "ab", 'q', 4, (void*)0);
  char b[64]; int n = snprintf(b, 8, "%d-%s", 12345, "long text"); printf("%s %d\n", b, n);
  n = sprintf(b, "[%3d]", 7); printf("%s %d\n", b, n); fprintf(stdout, "out %d\n", 3); puts("puts");
      fputs("fputs\n", stdout); putchar('c'); putchar('\n');
  printf("%5.1f%% %-6.2e %08.3f %.0f %.3g %#.3g\n", 99.55, 1234.5, 3.14159, 2.5, 1234567.0, 1.0);
  return 0;
}
