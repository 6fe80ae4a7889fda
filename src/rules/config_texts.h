/* Config texts: whether the text of an option can mean what its option is for.
 *
 * What: one function for each kind of text that is easily given wrong: a contact, a product token,
 * name servers. "" is right for all of them, but for the token. Threads: any; pure. Errors:
 * RESULT_INVALID; error gets what is wrong and what was expected, in one sentence. */
#ifndef RULES_CONFIG_TEXTS_H
#define RULES_CONFIG_TEXTS_H

#include "base/core/result.h"
#include "base/memory/buffer.h"

/* "https://example.org/bot", "mailto:bot@example.org", "bot@example.org". */
Result config_texts_contact(const char *text, Buffer *error);
/* "ragno", "my-bot": letters, digits, - and _. */
Result config_texts_agent(const char *text, Buffer *error);
/* "127.0.0.1:5353, [::1]:53, 2001:db8::1": addresses, with ports or without. */
Result config_texts_servers(const char *text, Buffer *error);

#endif
