/* Desk, rules: deny, allow, denials.
 *
 * What: hands on to the rules (crawl/parts/rule_parts.h) and answers at once.
 * Threads: main. */
#ifndef CRAWL_DESK_DESK_RULES_H
#define CRAWL_DESK_DESK_RULES_H

#include "crawl/desk/desk_state.h"

void desk_deny(Desk *desk, const DeskRequest *request);
void desk_allow(Desk *desk, const DeskRequest *request);
void desk_denials(Desk *desk, const DeskRequest *request);

#endif
