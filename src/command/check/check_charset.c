#include "command/check/check_commands.h"

#include <stdio.h>

#include "command/check/check_page.h"

/* The whole answer, which includes a <meta> behind the prescan's reach: so the page is parsed. */
int check_charset(int argc, char **argv)
{
    CheckPage check = {.file = NULL, .base = "http://localhost/"};
    int status = check_page_open(&check, argc, argv, "charset FILE [--content-type T]");
    if (status == 0) {
        (void)printf("%s\n", check.page.encoding);
    }
    check_page_close(&check);
    return status;
}
