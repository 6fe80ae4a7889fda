/* Audit whom: the hosts or the address that an operator asks about, as a webmaster names them.
 *
 * What: a host name ("example.org", with what is below it), a URL of it, HOST:PORT, an address, or
 * a pattern ("*.example.org"). Of a URL scheme and path do not matter; a port that is not the usual
 * one does. Owns: its text.
 * Threads: one. */
#ifndef AUDIT_AUDIT_WHOM_H
#define AUDIT_AUDIT_WHOM_H

#include "audit/audit_hosts.h"

typedef struct AuditWhom {
    char *name;        /* of the host, or the pattern; owned; NULL: all */
    bool is_pattern;   /* of names or origins */
    bool is_address;   /* address is asked about, whatever names it has */
    IpAddress address; /* when is_address */
    uint16_t port;     /* 0: any */
} AuditWhom;

/* RESULT_INVALID: it names no host. RESULT_MEMORY. */
Result audit_whom_parse(AuditWhom *whom, const char *text);
void audit_whom_destroy(AuditWhom *whom);
/* Whether a host ("http://www.example.org:81") and an address are asked about. */
bool audit_whom_is_host(const AuditWhom *whom, const char *origin);
bool audit_whom_is_address(const AuditWhom *whom, const IpAddress *address);
/* The origin that differs by the fewest letters; NULL: none is near. */
const char *audit_whom_nearest(const AuditWhom *whom, const AuditHosts *hosts);

#endif
