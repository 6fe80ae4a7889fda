#include "cluster/desk/table_keeper.h"

#include <string.h>

#define ANSWER_MS 5000

void table_keeper_init(TableKeeper *keeper, NodeLink *link, int64_t confirm_ms)
{
    *keeper = (TableKeeper){.link = link, .confirm_ms = confirm_ms, .next_look = MONO_NEVER};
    cluster_table_init(&keeper->table);
    cluster_table_init(&keeper->seen);
    buffer_init(&keeper->bytes, BUFFER_NO_LIMIT);
}

void table_keeper_destroy(TableKeeper *keeper)
{
    cluster_table_destroy(&keeper->table);
    cluster_table_destroy(&keeper->seen);
    buffer_destroy(&keeper->bytes);
}

Result table_keeper_set(TableKeeper *keeper, const ClusterTable *table)
{
    return cluster_table_copy(&keeper->table, table);
}

void table_keeper_up(TableKeeper *keeper, MonoTime now)
{
    keeper->look = 0;
    keeper->newest = false;
    keeper->next_look = now;
    keeper->settled = mono_add_ms(now, NODE_SETTLE_MS);
}

void table_keeper_down(TableKeeper *keeper)
{
    keeper->look = 0;
    keeper->put = 0;
    keeper->newest = false;
    keeper->next_look = MONO_NEVER;
}

void table_keeper_changed(TableKeeper *keeper, MonoTime now)
{
    keeper->again = keeper->look != 0;
    if (keeper->look == 0) {
        keeper->next_look = now;
    }
}

MonoTime table_keeper_next(const TableKeeper *keeper)
{
    return keeper->next_look;
}

void table_keeper_work(TableKeeper *keeper, MonoTime now)
{
    if (mono_before(now, keeper->next_look) || !keeper->link->up) {
        return;
    }
    keeper->look = ++keeper->last;
    keeper->asked = now;
    keeper->again = false;
    keeper->next_look = mono_add_ms(now, ANSWER_MS); /* unless there is an answer before */
    if (node_link_get(keeper->link, TABLE_KEY, node_token(NODE_PART_TABLE, keeper->look)) !=
        RESULT_OK) {
        keeper->look = 0;
    }
}

Result table_keeper_propose(TableKeeper *keeper, const ClusterTable *table)
{
    buffer_reset(&keeper->bytes);
    Result rc = cluster_table_write(table, &keeper->bytes);
    keeper->put = ++keeper->last;
    return rc == RESULT_OK
               ? node_link_put(keeper->link, TABLE_KEY, &keeper->bytes, keeper->revision,
                               node_token(NODE_PART_TABLE, keeper->put))
               : rc;
}

void table_keeper_settle(TableKeeper *keeper, uint16_t to)
{
    ClusterTable next;
    if (!keeper->link->up || !keeper->newest || keeper->put != 0) {
        return;
    }
    cluster_table_init(&next);
    if (cluster_table_copy(&next, &keeper->table) == RESULT_OK &&
        cluster_table_settle(&next, keeper->link->head.from, to) == RESULT_OK) {
        (void)table_keeper_propose(keeper, &next);
    }
    cluster_table_destroy(&next);
}

/* The key has forgotten what is known here. */
static TableNews table_keeper_put_back(TableKeeper *keeper, MonoTime now)
{
    const ClusterTable *newest =
        keeper->seen.epoch > keeper->table.epoch ? &keeper->seen : &keeper->table;
    keeper->settled = mono_add_ms(now, NODE_SETTLE_MS);
    if (newest->epoch > 0) {
        (void)table_keeper_propose(keeper, newest);
    }
    return TABLE_NOTHING;
}

static bool same_table(TableKeeper *keeper, const TransportEvent *event)
{
    buffer_reset(&keeper->bytes);
    return cluster_table_write(&keeper->table, &keeper->bytes) == RESULT_OK &&
           keeper->bytes.length == event->length &&
           memcmp(keeper->bytes.data, event->bytes, event->length) == 0;
}

static TableNews table_keeper_compare(TableKeeper *keeper, const TransportEvent *event,
                                      ClusterTable *table, MonoTime now)
{
    uint64_t newest =
        keeper->seen.epoch > keeper->table.epoch ? keeper->seen.epoch : keeper->table.epoch;
    if (table->epoch < newest) {
        return table_keeper_put_back(keeper, now);
    }
    if (table->epoch == keeper->table.epoch) {
        bool settled = !mono_before(keeper->asked, keeper->settled);
        return !same_table(keeper, event) ? TABLE_TWO : settled ? TABLE_CONFIRMED : TABLE_NOTHING;
    }
    if (cluster_table_copy(&keeper->seen, table) != RESULT_OK) {
        return TABLE_NOTHING;
    }
    return TABLE_NEWER;
}

static TableNews table_keeper_take_value(TableKeeper *keeper, const TransportEvent *event,
                                         MonoTime now)
{
    ClusterTable table;
    cluster_table_init(&table);
    keeper->revision = event->revision;
    Result rc = event->revision == 0 ? RESULT_NOT_FOUND
                                     : cluster_table_read(&table, event->bytes, event->length);
    TableNews news = rc == RESULT_OK        ? table_keeper_compare(keeper, event, &table, now)
                     : rc == RESULT_VERSION ? TABLE_TWO
                                            : table_keeper_put_back(keeper, now);
    cluster_table_destroy(&table);
    return news;
}

TableNews table_keeper_take(TableKeeper *keeper, const TransportEvent *event, MonoTime now)
{
    uint64_t number = node_token_number(event->token);
    TableNews news = TABLE_NOTHING;
    if (number == keeper->put) {
        keeper->put = 0;
        keeper->next_look = now; /* see what is there now */
        return news;
    }
    if (number != keeper->look || keeper->look == 0) {
        return news;
    }
    keeper->look = 0;
    int64_t pause_ms = keeper->again ? 0 : keeper->confirm_ms / 3;
    if (mono_before(now, keeper->settled)) { /* soon after it has settled */
        int64_t left = mono_ms_between(now, keeper->settled) + 1;
        pause_ms = left < pause_ms ? left : pause_ms;
    }
    keeper->next_look = mono_add_ms(now, pause_ms);
    if (event->kind == TRANSPORT_VALUE) {
        keeper->put = number > keeper->put ? 0 : keeper->put; /* its answer was lost */
        news = table_keeper_take_value(keeper, event, now);
        keeper->newest = news == TABLE_CONFIRMED;
    }
    return news;
}
