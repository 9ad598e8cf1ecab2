// Stands in for Catch2's conversion to text.
#pragma once
#include <string>

namespace Catch {
template <class T> struct StringMaker {
    static std::string convert(const T &) { return "?"; }
};
}  // namespace Catch
