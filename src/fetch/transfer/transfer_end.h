/* The end of a transfer: what libcurl's last word means.
 *
 * What: class, status, truncation and size of the answer. A body that was cut at fetch.max_body is
 * an answer, and so is a page of which fetch.max_body bytes came before it broke off; any other one
 * that broke off has a partial status.
 * Threads: the fetching thread that has the transfer. */
#pragma once

#include "fetch/transfer/transfer_types.h"

/* Fills in the answer of the transfer's result, after libcurl is done with it. */
void transfer_end(Transfer *transfer, CURLcode code);
/* Tells the network watch how it ended, behind transfer_end. A failure that is our own network's
 * becomes FETCH_LOCAL. */
void transfer_ask_network(Transfer *transfer, NetworkWatch *network);
/* What the host has shown by how it ended, behind transfer_ask_network. */
void transfer_note_standing(const Transfer *transfer);
