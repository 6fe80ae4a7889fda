#include "base/thread/rate_gate.h"
#include "unit.h"

static MonoTime at(int64_t ms)
{
    return (MonoTime){(1000 + ms) * INT64_C(1000000)};
}

static void it_tells_what_has_passed_lately(void)
{
    RateGate gate;
    RateMeter meter = {0};
    rate_gate_init(&gate, 100000);
    CU_ASSERT_EQUAL(rate_meter_read(&meter, &gate, at(0)), 100000); /* it may be all */
    rate_gate_take(&gate, 30000, at(100));
    CU_ASSERT_EQUAL(rate_meter_read(&meter, &gate, at(500)), 100000);
    CU_ASSERT_EQUAL(rate_meter_read(&meter, &gate, at(1000)), 30000);
    CU_ASSERT_EQUAL(rate_meter_read(&meter, &gate, at(1900)), 30000);
    CU_ASSERT_EQUAL(rate_meter_read(&meter, &gate, at(2000)), 0);
    rate_gate_take(&gate, 200000 - 1000, at(2000));
    CU_ASSERT_EQUAL(rate_meter_read(&meter, &gate, at(4000)), 100000); /* as good as all */
    rate_gate_set(&gate, 200000);
    CU_ASSERT_EQUAL(rate_meter_read(&meter, &gate, at(6000)), 200000); /* measured anew */
    CU_ASSERT_EQUAL(rate_meter_read(&meter, &gate, at(7000)), 0);
}

UNIT_MAIN("rate_gate", {"it tells what has passed lately", it_tells_what_has_passed_lately})
