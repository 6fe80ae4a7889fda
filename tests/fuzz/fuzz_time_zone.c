/* Input: a file of tzdata. Whatever it says, a day has an end: the next change lies ahead, and no
 * place is more than 26 hours away from universal time. */
#include <assert.h>
#include <stdint.h>

#include "base/core/hours.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TimeZone *zone = NULL;
    if (time_zone_parse(&zone, (const char *)data, size) != RESULT_OK) {
        return 0;
    }
    Hours hours = {.zone = zone};
    assert(hours_add(&hours, "0200-0230", 9));
    for (int64_t t = INT64_C(1700000000); t < INT64_C(1900000000); t += 10000019) {
        int64_t until = 0;
        int32_t ahead = time_zone_ahead_s(zone, t, &until);
        assert(until > t && ahead >= -93600 && ahead <= 93600);
        int64_t wait_ms = hours_wait_ms(&hours, (WallTime){t * 1000000});
        assert(wait_ms >= 0);
        assert(hours_wait_ms(&hours, (WallTime){t * 1000000 + wait_ms * 1000}) == 0);
    }
    time_zone_delete(zone);
    return 0;
}
