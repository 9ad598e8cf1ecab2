#include <sys/time.h>
