/* Between the two halves of base/option/options.h; nobody else includes it. */
#ifndef BASE_OPTION_OPTIONS_INI_H
#define BASE_OPTION_OPTIONS_INI_H

#include "base/option/options.h"

/* One line of a [site "pattern"] section. RESULT_INVALID: error says why. */
Result options_add_site(Options *options, const char *pattern, const char *key, const char *text,
                        const char *origin, Buffer *error);

/* A value as a file can hold it: without blanks around it. RESULT_INVALID: it cannot, since it has
 * control characters or what begins a remark; error says so. */
Result options_ini_value(const char *text, Buffer *value, Buffer *error);

#endif
