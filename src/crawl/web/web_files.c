#include "crawl/web/web_files.h"

#include <string.h>

/* The assembler puts the files in; the Makefile says that this file depends on them. */
#define EMBED(name, file)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global web_file_" #name "\n.hidden web_file_" #name "\n"                             \
            ".global web_file_" #name "_end\n.hidden web_file_" #name "_end\n"                     \
            "web_file_" #name ":\n"                                                                \
            ".incbin \"src/crawl/web/files/" file "\"\n"                                           \
            "web_file_" #name "_end:\n"                                                            \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char web_file_##name[];                                                           \
    extern const char web_file_##name##_end[]

EMBED(page, "page.html");
EMBED(style, "page.css");
EMBED(script, "page.js");

static const WebFile files[] = {
    {"/", "text/html; charset=utf-8", web_file_page, web_file_page_end},
    {"/page.css", "text/css; charset=utf-8", web_file_style, web_file_style_end},
    {"/page.js", "text/javascript; charset=utf-8", web_file_script, web_file_script_end}};

const WebFile *web_file_find(const char *path)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(files[i].path, path) == 0) {
            return &files[i];
        }
    }
    return NULL;
}
