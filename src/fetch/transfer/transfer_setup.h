/* Transfer setup: a handle made ready for one request.
 *
 * What: its header lines (conditions, secrets, signature, what the site wants to have sent), the
 * way to the host (directly, or through a proxy), and what else holds for this host.
 * Owns: nothing; the lines become the transfer's.
 * Threads: one fetching thread. */
#pragma once

#include "fetch/transfer/transfer_types.h"

/* Sets the handle up for the URL that result asks for, of the visit state, connecting to its
 * address or through a proxy. RESULT_MEMORY. */
Result transfer_setup(Transfer *transfer, VisitState *visit_state, FetchResult *result,
                      const FetchSite *site);
/* Frees the lines of the last use; the shared ones behind them are not theirs. */
void transfer_setup_forget(Transfer *transfer);
