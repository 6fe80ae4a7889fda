#include "frontier/host/visit_guest.h"

#include <string.h>

#include "base/core/hash.h"

static MapKey origin_key(const char *origin, size_t length)
{
    Hash128 h = hash_128(origin, length);
    return (MapKey){.high = h.high, .low = h.low};
}

VisitState *visit_guest_find(Distributor *distributor, const char *origin, size_t length)
{
    VisitState *guest = map_get(&distributor->guests, origin_key(origin, length));
    return guest != NULL && guest->identity.origin_length == length &&
                   memcmp(guest->identity.origin, origin, length) == 0
               ? guest
               : NULL;
}

Result visit_guest_add(Distributor *distributor, VisitState *guest)
{
    return map_put(&distributor->guests,
                   origin_key(guest->identity.origin, guest->identity.origin_length), guest);
}

void visit_guest_remove(Distributor *distributor, const VisitState *guest)
{
    (void)map_remove(&distributor->guests,
                     origin_key(guest->identity.origin, guest->identity.origin_length));
}
