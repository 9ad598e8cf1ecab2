#include <csignal>
