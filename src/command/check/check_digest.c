#include "command/check/check_commands.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/core/hash.h"
#include "command/check/check_page.h"

int check_digest(int argc, char **argv)
{
    CheckPage check = {.file = NULL};
    int status = check_page_open(&check, argc, argv, "digest FILE --base URL [--content-type T]");
    if (status == 0) {
        const Page *page = &check.page;
        Hash128 body = hash_128(check.body.data, check.body.length);
        (void)printf("%016" PRIx64 "%016" PRIx64 " %016" PRIx64 "%016" PRIx64 " %016" PRIx64 "\n",
                     page->text_digest[0], page->text_digest[1], body.high, body.low,
                     page->simhash);
    }
    check_page_close(&check);
    return status;
}
