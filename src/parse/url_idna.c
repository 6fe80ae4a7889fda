#include "parse/url_internal.h"

#include <idn2.h>
#include <stdlib.h>
#include <string.h>

#define IDNA_MAX_BYTES 4096

Result url_idna_append(Url *out, const char *domain, size_t length)
{
    if (length > IDNA_MAX_BYTES) {
        return RESULT_LIMIT;
    }
    char text[IDNA_MAX_BYTES + 1];
    memcpy(text, domain, length);
    text[length] = '\0';
    if (strlen(text) != length) {
        return RESULT_INVALID;
    }
    char *ascii = NULL;
    int rc = idn2_to_ascii_8z(text, &ascii, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT);
    Result result = rc == IDN2_OK       ? url_append(out, ascii, strlen(ascii))
                    : rc == IDN2_MALLOC ? RESULT_MEMORY
                                        : RESULT_INVALID;
    idn2_free(ascii);
    return result;
}
