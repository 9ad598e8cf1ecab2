// Stands in for Catch2's comparison of floating-point numbers within rounding.
#pragma once
namespace Catch {
struct Approx {
    explicit Approx(double value) : value(value) {}
    Approx &margin(double size) { return allowed = size, *this; }
    Approx &epsilon(double part) { return relative = part, *this; }
    friend bool operator==(double x, const Approx &a)
    {
        double apart = x < a.value ? a.value - x : x - a.value, size = a.value < 0 ? -a.value : a.value;
        return apart <= a.allowed || apart <= a.relative * size || x == a.value;
    }
    friend bool operator==(const Approx &a, double x) { return x == a; }

private:
    double value, allowed = 0, relative = 1e-5;
};
}  // namespace Catch
