/* Config cluster: whether the [cluster] section can mean what it is for.
 *
 * What: what an agent of a cluster needs, and what works within one agent alone.
 * Threads: main.
 * Errors: RESULT_INVALID: *name is the option, and error gets one sentence. */
#pragma once

#include "rules/config.h"

/* RESULT_OK without a [cluster] section. */
Result config_cluster_check(const Config *config, const char **name, Buffer *error);

/* Config texts: whether the text of an option can mean what its option is for.
 *
 * What: one function for each kind of text that is easily given wrong: a contact, a product token,
 * name servers. "" is right for all of them, but for the token.
 * Threads: any; pure.
 * Errors: RESULT_INVALID; error gets what is wrong and what was expected, in one sentence. */

/* "https://example.org/bot", "mailto:bot@example.org", "bot@example.org". */
Result config_texts_contact(const char *text, Buffer *error);
/* "ragno", "my-bot": letters, digits, - and _. */
Result config_texts_agent(const char *text, Buffer *error);
/* "127.0.0.1:5353, [::1]:53, 2001:db8::1": addresses, with ports or without. */
Result config_texts_servers(const char *text, Buffer *error);
