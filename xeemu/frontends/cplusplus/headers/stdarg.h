#include <cstdarg>
