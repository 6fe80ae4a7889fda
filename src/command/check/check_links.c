#include "command/check/check_commands.h"

#include <stdio.h>

#include "command/check/check_page.h"

int check_links(int argc, char **argv)
{
    CheckPage check = {.file = NULL};
    int status = check_page_open(
        &check, argc, argv,
        "links FILE --base URL [--content-type T] [--embeds] [--text] [--front-end skim|libxml2]");
    for (size_t i = 0; status == 0 && i < check.page.n_links; i++) {
        const PageLink *link = &check.page.links[i];
        (void)printf("%s\t%s", link_kind_name((LinkKind)link->kind), link->url);
        if (link->text != NULL) { /* no tab and no line end is in it */
            (void)printf("\t%.*s\t%.*s", (int)link->text->anchor_length, link->text->anchor,
                         (int)link->text->around_length, link->text->around);
        }
        (void)printf("\n");
    }
    check_page_close(&check);
    return status;
}
