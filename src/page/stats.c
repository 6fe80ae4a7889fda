#include "page/stats.h"

unsigned stats_status_class(int status)
{
    return status >= 100 && status < 600 ? (unsigned)status / 100 : 0;
}
