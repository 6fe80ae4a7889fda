#include "command/check/check_commands.h"

#include <stdio.h>

#include "command/check/check_page.h"

int check_links(int argc, char **argv)
{
    CheckPage check = {.file = NULL};
    int status = check_page_open(
        &check, argc, argv,
        "links FILE --base URL [--content-type T] [--embeds] [--front-end skim|libxml2]");
    for (size_t i = 0; status == 0 && i < check.page.n_links; i++) {
        const PageLink *link = &check.page.links[i];
        (void)printf("%s\t%s\n", link_kind_name((LinkKind)link->kind), link->url);
    }
    check_page_close(&check);
    return status;
}
