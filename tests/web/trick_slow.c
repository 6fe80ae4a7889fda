/* Hosts that take connections and memory for long. */
#include "trick.h"

void trick_silent(const TrickCall *call, Reply *reply)
{
    (void)call;
    reply_finish_status(reply, 200, "");
    reply->delay_ms = 1000 * 1000;
}

void trick_dripping(const TrickCall *call, Reply *reply)
{
    reply->status = 200;
    reply->end = REPLY_CLOSE;
    reply_append_string(reply, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
    reply_append_static(reply, call->kit->block, 4096);
    reply->endless = true;
    reply->drip_bytes = 100;
    reply->drip_ms = call->options->slow_ms / 20 + 1;
}

void trick_slow_body(const TrickCall *call, Reply *reply)
{
    reply->status = 200;
    reply->end = REPLY_CLOSE;
    reply_append_string(
        reply, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2000000\r\n\r\n");
    reply_append_static(reply, call->kit->block, KIT_BLOCK_BYTES);
    reply->endless = true;
    reply->drip_bytes = 1700;
    reply->drip_ms = 100;
}
