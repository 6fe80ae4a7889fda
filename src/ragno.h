/* libragno: the page store of the crawler ragno as a library, all of it.
 *
 * The documented single headers can be included instead, with the same -I (pkg-config --cflags
 * ragno). Link with pkg-config --libs ragno. Every header is the manual of its module. */
#ifndef RAGNO_H
#define RAGNO_H

#include "base/error.h"
#include "store/crawled_page.h"
#include "store/domain_temp.h"
#include "store/link_stream.h"
#include "store/mmap_array.h"
#include "store/page_db.h"
#include "store/page_info.h"
#include "store/page_info_list.h"
#include "store/page_stream.h"
#include "store/txn_manager.h"
#include "store/util.h"

#endif
