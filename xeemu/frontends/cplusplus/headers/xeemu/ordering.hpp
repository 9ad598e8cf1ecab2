// Orderings: what operator<=> gives.
#ifndef XEEMU_ORDERING_HPP
#define XEEMU_ORDERING_HPP
namespace std {
#define XEEMU_ORDERING(name)                                                     \
  struct name {                                                                  \
    signed char value;                                                           \
    static const name less, equal, equivalent, greater, unordered;               \
    friend constexpr bool operator==(name a, int) noexcept { return a.value == 0; } \
    friend constexpr bool operator<(name a, int) noexcept { return a.value == -1; } \
    friend constexpr bool operator>(name a, int) noexcept { return a.value == 1; }  \
    friend constexpr bool operator<=(name a, int) noexcept { return a.value == -1 || a.value == 0; } \
    friend constexpr bool operator>=(name a, int) noexcept { return a.value == 1 || a.value == 0; }  \
  };                                                                             \
  inline constexpr name name::less{-1};                                          \
  inline constexpr name name::equal{0};                                          \
  inline constexpr name name::equivalent{0};                                     \
  inline constexpr name name::greater{1};                                        \
  inline constexpr name name::unordered{2};
XEEMU_ORDERING(partial_ordering)
XEEMU_ORDERING(weak_ordering)
XEEMU_ORDERING(strong_ordering)
#undef XEEMU_ORDERING
}  // namespace std
#endif
