/* Export of links: the rows of the link graph.
 *
 * What: writes each link with the addresses of its ends. Threads: one. */
#ifndef COMMAND_EXPORT_LINK_EXPORT_H
#define COMMAND_EXPORT_LINK_EXPORT_H

#include "command/export/export_view.h"

Result page_export_links(PageDB *db, const PageExportOptions *options);

#endif
