#include "rules/scope/refusal.h"

#include "fetch/transfer/fetch_result.h"

static const struct {
    const char *name;
    int status;
} refusals[REFUSALS] = {
    [REFUSED_ROBOTS] = {"robots", STATUS_ROBOTS},
    [REFUSED_SCOPE] = {"scope", STATUS_SCOPE},
    [REFUSED_DEPTH] = {"depth", STATUS_TOO_DEEP},
    [REFUSED_LENGTH] = {"length", STATUS_BLOCKED},
    [REFUSED_NOFOLLOW] = {"nofollow", STATUS_BLOCKED},
    [REFUSED_KIND] = {"embed", STATUS_BLOCKED},
    [REFUSED_HOST] = {"host-dropped", STATUS_DROPPED},
    [REFUSED_QUOTA] = {"quota", STATUS_QUOTA},
    [REFUSED_REDIRECTS] = {"redirects", STATUS_REDIRECTS},
    [REFUSED_BAD_URL] = {"bad-url", STATUS_BAD_URL},
    [REFUSED_MANY] = {"too-many-links", STATUS_BLOCKED},
    [REFUSED_FILTER] = {"filter", STATUS_BLOCKED},
    [REFUSED_TRAP] = {"trap", STATUS_TRAP},
    [REFUSED_PORT] = {"port", STATUS_BAD_URL},
    [REFUSED_DENIED] = {"denied", STATUS_DENIED},
    [REFUSED_DOMAIN] = {"domain", STATUS_QUOTA},
    [REFUSED_ADDRESS] = {"address", STATUS_QUOTA},
    [REFUSED_FEEDS] = {"feeds", STATUS_BLOCKED},
};

const char *refusal_name(Refusal refusal)
{
    return refusals[refusal].name;
}

int refusal_status(Refusal refusal)
{
    return refusals[refusal].status;
}
