#include "store/warc/warc_original.h"

void warc_original_init(WarcOriginal *original)
{
    *original = (WarcOriginal){.date = {0}};
    buffer_init(&original->uri, (size_t)1 << 20);
}

void warc_original_destroy(WarcOriginal *original)
{
    buffer_destroy(&original->uri);
}
