/* Audit robots: whether the robots.txt of its time allowed a request.
 *
 * What: a line of crawl.log names the version of robots.txt that allowed the request. The content
 * of a version comes from the database (store/tables/host_table.h), or, when the database no longer
 * has it, from the WARC files: the newest capture before the request. The rules are compiled once
 * per host and version.
 * Owns: the database, opened for reading; it may belong to a crawl that is running.
 * Threads: one. */
#ifndef AUDIT_AUDIT_ROBOTS_H
#define AUDIT_AUDIT_ROBOTS_H

#include "audit/audit_hosts.h"
#include "base/memory/buffer.h"
#include "store/pages/page_db.h"
#include "store/tables/host_table.h"

typedef struct AuditRobots {
    PageDB *db;       /* NULL: there is none */
    HostTable *hosts; /* NULL: so */
    char *warc;       /* folder, owned */
    const char *agent;
    AuditHosts *audited; /* whose rules are kept, */
    size_t rules_bytes;  /* together so large */
    uint64_t n_unknown;  /* versions that were looked up in vain */
} AuditRobots;

/* db is taken and may be NULL; the others are borrowed. RESULT_MEMORY, RESULT_IO: the database
 * cannot be read. To be destroyed in any case. */
Result audit_robots_init(AuditRobots *robots, PageDB *db, const char *directory, const char *agent,
                         AuditHosts *audited);
void audit_robots_destroy(AuditRobots *robots);

/* Sets host->rules to the rules of a version, or to NULL when its content is not known. start: when
 * a request under this version began. RESULT_MEMORY. */
Result audit_robots_load(AuditRobots *robots, AuditHost *host, int64_t version, WallTime start);
/* Appends the content of a version to out. RESULT_NOT_FOUND: the content is not known. */
Result audit_robots_content(AuditRobots *robots, const char *origin, int64_t version,
                            WallTime start, Buffer *out);
/* Whether the rules of a host allow one of its URLs. host->rules must not be NULL. */
bool audit_robots_allow(const AuditHost *host, LogText url, RobotsVerdict *verdict);

#endif
