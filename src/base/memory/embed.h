/* Embed: a file as bytes of the program.
 *
 * What: EMBED(style, "src/crawl/web/files/page.css") makes style and style_end of it: the bytes
 * between them, and a zero byte behind. The assembler puts the file in; the Makefile says which
 * object depends on it.
 * Threads: any; constants. */
#pragma once

#define EMBED(name, file)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global " #name "\n.hidden " #name "\n"                                               \
            ".global " #name "_end\n.hidden " #name "_end\n" #name ":\n"                           \
            ".incbin \"" file "\"\n" #name "_end:\n"                                               \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char name[];                                                                      \
    extern const char name##_end[]
