/* Where an entry stands among those of its host: level and value of the schedule in one number.
 *
 * What: the less, the better. The value holds the order inside the level and the index of the page.
 * Threads: pure functions. */
#ifndef STORE_FRONT_BF_ORDER_H
#define STORE_FRONT_BF_ORDER_H

#include <stdint.h>

typedef uint64_t BFOrder;

#define BF_VALUE_BITS 48u
#define BF_INDEX_BITS 36u /* of a value; above them the order inside the level */

static inline BFOrder bf_order(unsigned level, uint64_t value)
{
    return (uint64_t)level << BF_VALUE_BITS | value;
}

static inline unsigned bf_order_level(BFOrder order)
{
    return (unsigned)(order >> BF_VALUE_BITS);
}

static inline uint64_t bf_order_value(BFOrder order)
{
    return order & ((UINT64_C(1) << BF_VALUE_BITS) - 1);
}

static inline uint64_t bf_order_index(BFOrder order)
{
    return order & ((UINT64_C(1) << BF_INDEX_BITS) - 1);
}

#endif
