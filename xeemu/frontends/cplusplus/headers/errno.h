#include <cerrno>
